// The frame hook: see frame_hook.h for the life of a call.
//
//   frame ──▶ not a candidate / no region / observed ──────────────────────────▶ evaluated as it is
//     └─▶ entry whose guards hold ─▶ replacement ─▶ value ──▶ frame dropped ──▶ returned
//     └─▶ none: tracer ─▶ entry, skip or error      ├▶ kFallback ─────────────▶ evaluated as it is
//                                                   └▶ ResumeRequest ─▶ frame dropped ─▶ trampoline
//
// Invariant: a frame is either evaluated or dropped, exactly once. No entry is touched after its replacement
// was called: the call may reset everything.
#include "python/frame_hook.h"

#include <algorithm>
#include <cstdint>

#include "python/bytecode_module.h"
#include "python/code_state.h"
#include "python/compiled_function.h"
#include "python/cpython_internal.h"
#include "python/frame_cache.h"
#include "python/nesting.h"
#include "python/py_ref.h"
#include "python/region.h"
#include "python/skip_rules.h"
#include "python/test_tracer.h"
#include "python/trampoline.h"

namespace thirdbook {
namespace {

// localsplus of one frame as raw values; on the C stack where it is small.
class LocalsBuffer {
 public:
  explicit LocalsBuffer(int count) {
    if (count > kInline) large_.resize(static_cast<size_t>(count), nullptr);
    std::fill(small_, small_ + std::min(count, kInline), nullptr);
  }
  PyObject** data() { return large_.empty() ? small_ : large_.data(); }

 private:
  static constexpr int kInline = 24;
  PyObject* small_[kInline];
  std::vector<PyObject*> large_;
};

PyObject* Evaluate(PyThreadState* thread, InterpreterFrame* frame, int throw_flag,
                   PyRef* frame_object = nullptr) {
  if (frame_object != nullptr) *frame_object = PyRef::Steal(MakeFrameObject(thread, frame));
  _PyFrameEvalFunction outer = OuterHook();
  return outer != nullptr ? outer(thread, frame, throw_flag) : EvaluateFrame(thread, frame, throw_flag);
}

PyObject* RunReplacement(PyThreadState* thread, InterpreterFrame* frame, const FrameView& view,
                         PyRef replacement, bool from_trampoline, PyRef* frame_object) {
  PyObject* result;
  {
    if (frame_object != nullptr)
      LeaveClaim(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(replacement.get())), Claim::kNone,
                 frame_object);
    ReplacedFrame replaced(frame, view.argument_slots, view.function);
    result = PyObject_Vectorcall(replacement.get(), view.locals, static_cast<size_t>(view.argument_slots),
                                 nullptr);
  }
  if (result == kFallback) {
    Py_DECREF(result);
    ++Counters().fallbacks;
    return Evaluate(thread, frame, 0, frame_object);
  }
  DropFrame(thread, frame);
  return from_trampoline ? result : RunTrampoline(result);
}

PyObject* EnterCandidate(PyThreadState* thread, InterpreterFrame* frame, CodeState* state, PyObject* config,
                         bool from_trampoline, PyRef* frame_object) {
  PyCodeObject* code = FrameCode(frame);
  LocalsBuffer locals(code->co_nlocalsplus);
  int arguments = ArgumentSlots(code);
  FrameLocals(frame, arguments, locals.data());
  PyObject* function = FrameFunction(frame);
  FrameView view{code,
                 function,
                 FrameGlobals(frame),
                 FrameBuiltins(frame),
                 locals.data(),
                 PyFunction_GET_CLOSURE(function),
                 arguments};
  ++Counters().frames;
  PyRef replacement;
  switch (FindReplacement(thread, view, state, config, &replacement)) {
    case CacheAnswer::kReplacement:
      return RunReplacement(thread, frame, view, std::move(replacement), from_trampoline, frame_object);
    case CacheAnswer::kEager: return Evaluate(thread, frame, 0, frame_object);
    case CacheAnswer::kError: break;
  }
  DropFrame(thread, frame);
  return nullptr;
}

PyObject* Hook(PyThreadState* thread, InterpreterFrame* frame, int throw_flag) {
  NestingScope nesting;
  if (NestingScope::AtSoftLimit()) {
    LeaveClaim(nullptr, Claim::kNone);
    DisabledRegion off(thread);
    return Evaluate(thread, frame, throw_flag);
  }
  PyCodeObject* code = FrameCode(frame);
  if (code == nullptr || throw_flag != 0) return Evaluate(thread, frame, throw_flag);
  PyRef* frame_object = nullptr;
  Claim claim = TakeClaim(code, &frame_object);
  CodeState* state = FindState(code);
  if (claim == Claim::kRunEagerly || !MayTrace(state)) return Evaluate(thread, frame, 0, frame_object);
  PyObject* config = ActiveConfig(thread);
  if (config == nullptr) return Evaluate(thread, frame, 0, frame_object);
  state = ClassifiedState(code);
  if (state == nullptr || state->kind != CodeState::Kind::kCandidate || IsObserved(thread, code)) {
    return Evaluate(thread, frame, 0, frame_object);
  }
  if (Py_EnterRecursiveCall(" in a compiled function") != 0) {
    DropFrame(thread, frame);
    return nullptr;
  }
  PyRef kept_config = PyRef::Borrow(config);
  PyObject* result =
      EnterCandidate(thread, frame, state, config, claim == Claim::kFromTrampoline, frame_object);
  Py_LeaveRecursiveCall();
  return result;
}

}  // namespace

bool InitFrameHook(PyObject* module) {
  if (!CheckInterpreter()) return false;
  SetRegionHook(Hook);
  return InitTrampoline(module) && InitSkipRules(module) && InitFrameCache(module) &&
         InitCompiledFunction(module) && InitBytecodeModule(module) && InitTestTracer(module);
}

}  // namespace thirdbook
