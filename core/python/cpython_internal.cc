// The one file that includes CPython's private headers; see cpython_internal.h.
#include "python/cpython_internal.h"

#define Py_BUILD_CORE 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "internal/pycore_ceval.h"
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interpframe.h"
#include "internal/pycore_runtime.h"
#include "internal/pycore_stackref.h"
#include "opcode_ids.h"
#pragma GCC diagnostic pop

#include <cstddef>

static_assert(PY_VERSION_HEX >> 16 == 0x030E, "Thirdbook knows the frames of CPython 3.14 only");
#ifdef Py_GIL_DISABLED
#error "Thirdbook does not know the frames of the free-threaded build"
#endif

// Exported, but declared `extern` without visibility in the private headers.
extern "C" void _PyEval_FrameClearAndPop(PyThreadState* thread, _PyInterpreterFrame* frame);

namespace thirdbook {

bool CheckInterpreter() {
  if (Py_Version >> 16 != 0x030E) {
    PyErr_Format(PyExc_ImportError, "thirdbook was built for CPython 3.14; this is %s", Py_GetVersion());
    return false;
  }
  // The interpreter describes its own layout for debuggers: compare it with the one compiled in here.
  const auto& theirs = _PyRuntime.debug_offsets.interpreter_frame;
  bool same = _PyRuntime.debug_offsets.free_threaded == 0 && theirs.size == sizeof(_PyInterpreterFrame) &&
              theirs.previous == offsetof(_PyInterpreterFrame, previous) &&
              theirs.executable == offsetof(_PyInterpreterFrame, f_executable) &&
              theirs.instr_ptr == offsetof(_PyInterpreterFrame, instr_ptr) &&
              theirs.localsplus == offsetof(_PyInterpreterFrame, localsplus) &&
              theirs.owner == offsetof(_PyInterpreterFrame, owner) &&
              theirs.stackpointer == offsetof(_PyInterpreterFrame, stackpointer);
  if (!same) {
    PyErr_Format(PyExc_ImportError,
                 "thirdbook was built for %s; frames of this interpreter (%s) are laid out otherwise",
                 PY_VERSION, Py_GetVersion());
  }
  return same;
}

void SetFrameHook(_PyFrameEvalFunction hook) {
  _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(),
                                       hook != nullptr ? hook : _PyEval_EvalFrameDefault);
}

_PyFrameEvalFunction GetFrameHook() { return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()); }

PyObject* EvaluateFrame(PyThreadState* thread, InterpreterFrame* frame, int throw_flag) {
  return _PyEval_EvalFrameDefault(thread, frame, throw_flag);
}

void DropFrame(PyThreadState* thread, InterpreterFrame* frame) { _PyEval_FrameClearAndPop(thread, frame); }

PyCodeObject* FrameCode(InterpreterFrame* frame) {
  PyObject* executable = PyStackRef_AsPyObjectBorrow(frame->f_executable);
  return executable != nullptr && PyCode_Check(executable) ? reinterpret_cast<PyCodeObject*>(executable)
                                                           : nullptr;
}

PyObject* FrameFunction(InterpreterFrame* frame) { return PyStackRef_AsPyObjectBorrow(frame->f_funcobj); }
PyObject* FrameGlobals(InterpreterFrame* frame) { return frame->f_globals; }
PyObject* FrameBuiltins(InterpreterFrame* frame) { return frame->f_builtins; }

void FrameLocals(InterpreterFrame* frame, int count, PyObject** out) {
  for (int i = 0; i < count; ++i) out[i] = PyStackRef_AsPyObjectBorrow(frame->localsplus[i]);
}

void ClearFrameLocals(InterpreterFrame* frame, int count) {
  for (int i = 0; i < count; ++i) PyStackRef_CLEAR(frame->localsplus[i]);
}

namespace {

// Whether code, as CPython keeps it without its specialisations, stores or deletes the local in `slot`.
bool Rebinds(const uint8_t* units, Py_ssize_t size, int slot) {
  for (Py_ssize_t at = 0, extended = 0; at + 1 < size; at += 2) {
    const int op = units[at], arg = static_cast<int>(extended << 8) | units[at + 1];
    extended = op == EXTENDED_ARG ? arg : 0;
    switch (op) {
      case STORE_FAST:
      case DELETE_FAST:
      case LOAD_FAST_AND_CLEAR:
        if (arg == slot) return true;
        break;
      case STORE_FAST_LOAD_FAST:
        if (arg >> 4 == slot) return true;
        break;
      case STORE_FAST_STORE_FAST:
        if (arg >> 4 == slot || (arg & 15) == slot) return true;
        break;
    }
  }
  return false;
}

// The parameter of `code` called `name` if its value is the same until the function ends.
bool HasLastingParameter(PyCodeObject* code, const uint8_t* units, Py_ssize_t size, PyObject* name) {
  for (int slot = 0; slot < code->co_argcount; ++slot) {
    if (PyTuple_GET_ITEM(code->co_localsplusnames, slot) == name) return !Rebinds(units, size, slot);
  }
  return false;
}

}  // namespace

PyObject* SettleHeldFrame(PyThreadState* thread, PyCodeObject* next) {
  _PyInterpreterFrame* frame = thread->current_frame;
  if (frame == nullptr || frame->frame_obj == nullptr) return nullptr;
  PyCodeObject* code = FrameCode(frame);
  PyObject* bytes = PyCode_GetCode(next);
  if (bytes == nullptr) PyErr_Clear();
  for (int slot = 0; slot < code->co_nlocalsplus; ++slot) {
    const auto kind = static_cast<uint8_t>(PyBytes_AS_STRING(code->co_localspluskinds)[slot]);
    PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, slot);
    const bool lasts = (kind & (CO_FAST_CELL | CO_FAST_FREE)) != 0 ||
                       (bytes != nullptr && PyUnicode_READ_CHAR(name, 0) != '.' &&
                        HasLastingParameter(next, reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes)),
                                            PyBytes_GET_SIZE(bytes), name));
    if (!lasts) PyStackRef_CLEAR(frame->localsplus[slot]);
  }
  Py_XDECREF(bytes);
  return Py_NewRef(reinterpret_cast<PyObject*>(frame->frame_obj));
}

PyObject* MakeFrameObject(PyThreadState* thread, InterpreterFrame* frame) {
  PyCodeObject* code = FrameCode(frame);
  if ((code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0) return nullptr;
  _PyInterpreterFrame *top = thread->current_frame, *previous = frame->previous;
  _Py_CODEUNIT* at = frame->instr_ptr;
  frame->previous = top;
  frame->instr_ptr = _PyFrame_GetBytecode(frame) + code->_co_firsttraceable;
  thread->current_frame = frame;
  PyFrameObject* object = PyThreadState_GetFrame(thread);
  thread->current_frame = top;
  frame->instr_ptr = at;
  frame->previous = previous;
  return reinterpret_cast<PyObject*>(object);
}

void SettleEndedFrame(PyObject* object, PyCodeObject* rest, bool returned) {
  _PyInterpreterFrame* frame = reinterpret_cast<PyFrameObject*>(object)->f_frame;
  PyCodeObject* code = FrameCode(frame);
  PyObject* bytes = PyCode_GetCode(rest);
  if (bytes == nullptr) return PyErr_Clear();
  const auto* units = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes));
  for (int slot = 0; slot < code->co_nlocalsplus; ++slot) {
    const auto kind = static_cast<uint8_t>(PyBytes_AS_STRING(code->co_localspluskinds)[slot]);
    PyObject* value = PyStackRef_AsPyObjectBorrow(frame->localsplus[slot]);
    if ((kind & (CO_FAST_CELL | CO_FAST_FREE)) != 0 || value == nullptr || !PyExceptionInstance_Check(value))
      continue;
    PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, slot);
    const bool dropped = returned && code != rest && slot < code->co_argcount &&
                         !HasLastingParameter(rest, units, PyBytes_GET_SIZE(bytes), name);
    if (dropped || PyUnicode_READ_CHAR(name, 0) == '.') PyStackRef_CLEAR(frame->localsplus[slot]);
  }
  Py_DECREF(bytes);
}

void KeepWithFrame(PyObject* held, PyObject* rest) {
  PyObject*& kept = reinterpret_cast<PyFrameObject*>(held)->f_overwritten_fast_locals;
  PyObject* both = kept != nullptr ? PyTuple_Pack(2, kept, rest) : PyTuple_Pack(1, rest);
  if (both == nullptr) return PyErr_Clear();
  Py_XSETREF(kept, both);
}

void ClearCallArguments(PyThreadState* thread, const void* caller, PyObject* function, PyObject* wrapper) {
  _PyInterpreterFrame* frame = thread->current_frame;
  while (frame != nullptr && frame != caller) frame = frame->previous;
  PyCodeObject* code = frame != nullptr ? FrameCode(frame) : nullptr;
  if (code == nullptr || frame->stackpointer == nullptr) return;
  PyObject* bytes = PyCode_GetCode(code);
  if (bytes == nullptr) {
    PyErr_Clear();
    return;
  }
  const auto* units = reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes));
  const int at = _PyInterpreterFrame_LASTI(frame);
  const int op = units[2 * at], count = units[2 * at + 1];
  Py_DECREF(bytes);
  _PyStackRef* end = frame->stackpointer - (op == CALL_KW ? 1 : 0);
  _PyStackRef* first = end - count - 2;
  if ((op != CALL && op != CALL_KW) || first < frame->localsplus + code->co_nlocalsplus) return;
  PyObject* called = PyStackRef_IsNull(*first) ? nullptr : PyStackRef_AsPyObjectBorrow(*first);
  if (called != function && (wrapper == nullptr || called != wrapper)) return;
  // CALL keeps the callable and self in variables of its own; the arguments it finds on the stack.
  for (_PyStackRef* ref = first + 2; ref < end; ++ref) {
    if (PyStackRef_IsNull(*ref)) continue;
    _PyStackRef old = *ref;
    *ref = PyStackRef_None;
    PyStackRef_CLOSE(old);
  }
}

std::vector<FrameSlot> FrameSlots(PyFrameObject* object, int* slots) {
  _PyInterpreterFrame* frame = object->f_frame;
  PyCodeObject* code = FrameCode(frame);
  std::vector<FrameSlot> out;
  *slots = code != nullptr ? code->co_nlocalsplus : 0;
  if (code == nullptr || frame->stackpointer == nullptr) return out;
  for (_PyStackRef* ref = frame->localsplus; ref < frame->stackpointer; ++ref) {
    bool is_int = PyStackRef_IsTaggedInt(*ref);
    out.push_back({is_int || PyStackRef_IsNull(*ref) ? nullptr : PyStackRef_AsPyObjectBorrow(*ref), is_int});
  }
  return out;
}

namespace {

// Asks sys.monitoring whether a tool has global events on. Errors count as "yes": then frames run as they
// are.
bool GlobalEventsOn() {
  PyObject* monitoring = PySys_GetObject("monitoring");  // borrowed
  if (monitoring == nullptr) return false;
  bool on = false;
  for (int tool = 0; tool < 6 && !on; ++tool) {
    PyObject* name = PyObject_CallMethod(monitoring, "get_tool", "i", tool);
    if (name == nullptr) {
      on = true;
    } else if (name != Py_None) {
      PyObject* events = PyObject_CallMethod(monitoring, "get_events", "i", tool);
      on = events == nullptr || PyLong_AsLong(events) != 0;
      Py_XDECREF(events);
    }
    Py_XDECREF(name);
  }
  if (PyErr_Occurred()) PyErr_Clear();
  return on;
}

bool LocalEventsOn(PyCodeObject* code) {
  if (code->_co_monitoring == nullptr) return false;
  for (uint8_t tools : code->_co_monitoring->local_monitors.tools) {
    if (tools != 0) return true;
  }
  return false;
}

}  // namespace

bool IsObserved(PyThreadState* thread, PyCodeObject* code) {
  if (thread->c_tracefunc != nullptr || thread->c_profilefunc != nullptr) return true;
  // The upper bits of eval_breaker are a version that moves with each change of global events.
  static uintptr_t known_version = 0;
  static bool global_events = false;
  uintptr_t version = thread->eval_breaker & ~static_cast<uintptr_t>(_PY_EVAL_EVENTS_MASK);
  if (version != known_version) {
    known_version = version;
    global_events = GlobalEventsOn();
  }
  return global_events || LocalEventsOn(code);
}

}  // namespace thirdbook
