// See test_tracer.h.
//
// In: `_set_test_tracer(f)`. f(code, locals, config, earlier) returns None (skip), a replacement code object,
// or (replacement, guard): guard(locals) → bool, or a str that fails with that reason. An exception is
// CompileOutcome::kError. Out: cache entries as a real tracer's. Invariant: `_set_test_tracer(None)` brings
// the tracer before it back.
#include "python/test_tracer.h"

#include <memory>

#include "python/frame_hook.h"
#include "python/py_ref.h"
#include "python/region.h"

namespace thirdbook {
namespace {

PyObject* test_tracer = nullptr;
Tracer real_tracer = nullptr;

PyObject* LocalsTuple(const FrameView& frame) {
  PyRef tuple = PyRef::Steal(PyTuple_New(frame.argument_slots));
  for (int i = 0; tuple && i < frame.argument_slots; ++i)
    PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(frame.locals[i]));
  return tuple.release();
}

class TestEntry : public CacheEntry {
 public:
  TestEntry(PyRef code, PyRef guard) : code_(std::move(code)), guard_(std::move(guard)) {}

  bool Check(const FrameView& frame) override {
    if (!guard_) return true;
    PyRef answer = Ask(frame);
    return answer && answer.get() == Py_True;
  }

  GuardMiss FirstMiss(const FrameView& frame) override {
    PyRef answer = Ask(frame);
    const char* text = answer && PyUnicode_Check(answer.get()) ? PyUnicode_AsUTF8(answer.get()) : nullptr;
    return {.guard = text != nullptr ? text : ""};
  }

  PyCodeObject* replacement() const override { return reinterpret_cast<PyCodeObject*>(code_.get()); }
  PyObject* Report() const override { return PyDict_New(); }

 private:
  PyRef Ask(const FrameView& frame) {
    DisabledRegion off(PyThreadState_Get());  // a real guard runs no Python
    PyRef locals = PyRef::Steal(LocalsTuple(frame));
    PyRef answer = locals ? PyRef::Steal(PyObject_CallOneArg(guard_.get(), locals.get())) : PyRef();
    if (!answer) PyErr_WriteUnraisable(guard_.get());
    return answer;
  }

  PyRef code_, guard_;
};

CompileOutcome TraceWithPython(const FrameView& frame, const CompileOptions& options,
                               const EntryList& earlier, std::unique_ptr<CacheEntry>* out) {
  PyRef locals = PyRef::Steal(LocalsTuple(frame));
  PyRef tracer = PyRef::Borrow(test_tracer);
  if (!locals) return CompileOutcome::kError;
  PyRef answer = PyRef::Steal(PyObject_CallFunction(tracer.get(), "OOOn", frame.code, locals.get(),
                                                    options.config, static_cast<Py_ssize_t>(earlier.size())));
  if (!answer) return CompileOutcome::kError;
  if (answer.get() == Py_None) return CompileOutcome::kSkip;
  PyRef guard;
  if (PyTuple_Check(answer.get()) && PyTuple_GET_SIZE(answer.get()) == 2) {
    guard = PyRef::Borrow(PyTuple_GET_ITEM(answer.get(), 1));
    answer = PyRef::Borrow(PyTuple_GET_ITEM(answer.get(), 0));
  }
  if (!PyCode_Check(answer.get())) {
    PyErr_SetString(PyExc_TypeError, "test tracer: expected None, a code object or (code object, guard)");
    return CompileOutcome::kError;
  }
  *out = std::make_unique<TestEntry>(std::move(answer), std::move(guard));
  return CompileOutcome::kCompiled;
}

PyObject* SetTestTracer(PyObject*, PyObject* callable) {
  if (test_tracer == nullptr && callable != Py_None) real_tracer = CurrentTracer();
  bool on = callable != Py_None;
  if (on || test_tracer != nullptr) SetTracer(on ? TraceWithPython : real_tracer);
  PyRef old = PyRef::Steal(test_tracer);
  test_tracer = on ? Py_NewRef(callable) : nullptr;
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"_set_test_tracer", SetTestTracer, METH_O,
     "_set_test_tracer(f): for tests. f(code, argument values, config, entries so far) gives None (skip), a "
     "replacement "
     "code object or (code object, guard). None brings the real tracer back."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool InitTestTracer(PyObject* module) { return PyModule_AddFunctions(module, kMethods) == 0; }

}  // namespace thirdbook
