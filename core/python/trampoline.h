// How replacements run: their result is a value, kFallback, or a ResumeRequest that the trampoline works off.
//
// In: a replacement function and its arguments. Out: the value of the whole call.
// Invariant: a chain of graph breaks, however long, runs in a loop here; the C stack does not grow with it.
// The resume function's frame meets the hook like any other; the hook knows by the claim that it was called
// from the loop, and hands a further request back to it instead of running it.
#pragma once

#include <Python.h>

#include "python/cpython_internal.h"
#include "python/py_ref.h"

namespace thirdbook {

// Works off `result` (stolen) until it is no ResumeRequest. NULL with an exception set.
PyObject* RunTrampoline(PyObject* result);

// A note for the hook about the frame of `code` that is going to be made next. Whoever leaves it takes it
// back.
enum class Claim { kNone, kFromTrampoline, kRunEagerly };
// `frame_object`: where the hook puts the frame's object (KeepWithFrame); null: it need not have one.
void LeaveClaim(PyCodeObject* code, Claim claim, PyRef* frame_object = nullptr);
// The claim on this frame, if it is the one; the claim is gone afterwards. From a trampoline: the request's
// references to the arguments are dropped, since the frame has its own (so that objects die when the frame
// drops them).
Claim TakeClaim(PyCodeObject* code, PyRef** frame_object);

// While a replacement runs: what else holds the arguments of the call that it makes.
class ReplacedFrame {
 public:
  // `frame`: the one that it replaces, with `count` arguments (null: none was made). `function` was called,
  // perhaps through `wrapper`, by the frame that runs now.
  ReplacedFrame(InterpreterFrame* frame, int count, PyObject* function, PyObject* wrapper = nullptr);
  ReplacedFrame(const ReplacedFrame&) = delete;
  ReplacedFrame& operator=(const ReplacedFrame&) = delete;
  ~ReplacedFrame();
  static void Release();  // the innermost one lets go of its arguments

 private:
  InterpreterFrame* frame_;
  int count_;
  PyObject *function_, *wrapper_;
  const void* caller_;
  ReplacedFrame* outer_;
};

bool InitTrampoline(PyObject* module);  // ResumeRequest, _resume, _fallback

}  // namespace thirdbook
