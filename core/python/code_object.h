// CPython code objects to CodeImage plus names and back.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "bytecode/instruction.h"

namespace thirdbook {

// Everything a code object holds beside its instructions; owned references.
struct CodeParts {
  CodeImage image;
  int argcount = 0, posonlyargcount = 0, kwonlyargcount = 0, flags = 0;
  PyObject* consts = nullptr;        // list (so that code generation appends)
  PyObject* names = nullptr;         // list
  std::vector<PyObject*> locals;     // localsplus names, interned str
  std::vector<uint8_t> local_kinds;  // LocalKind bits
  PyObject *filename = nullptr, *name = nullptr, *qualname = nullptr;
};

// False with an exception set.
bool ReadCode(PyCodeObject* code, CodeParts* out);
// New reference or NULL with an exception set (SystemError: the parts do not fit together). Slots must be in
// CPython's order: locals (arguments first; one that is a cell as well stays here), then other cells, then
// free variables.
PyCodeObject* MakeCode(const CodeParts& parts);
void ClearParts(CodeParts* parts);

// A function that continues `code` after a graph break. Its parameters, in this order: one for each slot in
// `bound_locals` (plain locals that are bound, by localsplus index), then one for each stack position whose
// ResumeItem is kValue, kCurrent or kBareHandler and that is not NULL, bottom first. Its free variables: all
// cell and free variables of `code`, in their order. It pushes what was on the stack, then goes on at
// instruction `target`.
//
// What lies on the stack for active handlers is not passed but made again (the code alone says where it is):
//   [..., lasti, previous, current, ...]    in a handler, before an except clause has matched; in finally and
//   with
//   [..., lasti, previous, ...]             in the body of an except clause: previous is then "bare"
enum class ResumeItem : uint8_t {
  kValue,        // passed, or NULL
  kPrevious,     // not passed: made from the `kCurrent` above it
  kCurrent,      // passed: the exception being handled
  kBareHandler,  // passed: the exception being handled (what sys.exception() gives), although the stack has
                 // `previous` here
  kLasti,        // not passed: made by raising the exception into a handler of the prologue's
};

// One item for each stack position before instruction `target`. False with ValueError when the target is not
// reachable or lies where no function can go on (between an exception's arrival and PUSH_EXC_INFO, or in the
// clean-up after a handler).
bool ResumeStackItems(PyCodeObject* code, int32_t target, std::vector<ResumeItem>* out);

struct ResumePoint {
  int32_t target = 0;  // instruction index in the image of `code`
  std::vector<int32_t> bound_locals;
  std::vector<bool> stack_is_null;  // bottom first, one for each stack position
  friend bool operator==(const ResumePoint&, const ResumePoint&) = default;
};

// New reference, cached per (code, point); NULL with an exception set. The resume code of a resume code is
// made from the original, so that a loop with a break in it has one resume code, not one for each turn.
//   ValueError            the point is not one of `code`
//   NotImplementedError   `super()` without arguments could not find its object (see resume_code.cc)
PyCodeObject* MakeResumeCode(PyCodeObject* code, const ResumePoint& point);
// The original code object that a resume code continues (borrowed); nullptr when `code` is not one of ours.
PyCodeObject* ResumeOrigin(PyCodeObject* code);
// The instruction of the original for an instruction of a resume code, -1 for those of its prologue.
int32_t ResumeOriginIndex(PyCodeObject* code, int32_t index);

}  // namespace thirdbook
