// How a trace stops being simple: breaks, exceptions of the traced program, errors of C code. See trace.h.
//
// In: a reason, an exception, or CPython's error indicator. Out: failure(), and what a handler of the traced
// program gets. Invariant: the first failure wins; no Python exception stays set when a call returns.
#include "interpret/trace.h"

namespace thirdbook {

static std::string Joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view part : parts) text += part;
  return text;
}

std::nullptr_t Trace::Break(std::initializer_list<std::string_view> reason, BreakKind kind) {
  if (failure_ == Failure::kBreak || failure_ == Failure::kFatal) return nullptr;
  failure_ = Failure::kBreak;
  break_ = BreakReason{};
  break_.reason = Joined(reason);
  break_.kind = kind;
  for (SymbolicFrame* f : frame_stack_) {
    const Instruction& i = f->parts->image.instructions[static_cast<size_t>(f->pc)];
    Site site;
    site.file = PyUnicode_AsUTF8(f->code->co_filename);
    site.line = i.position.line;
    site.column = i.position.column;
    site.end_line = i.position.end_line;
    site.end_column = i.position.end_column;
    break_.stack.push_back(std::move(site));
    break_.functions.push_back(PyUnicode_AsUTF8(f->code->co_qualname));
  }
  return nullptr;
}

std::nullptr_t Trace::Raise(Var exception) {
  failure_ = Failure::kRaise;
  raised_ = exception;
  // A real exception can be raised by the instruction at hand; one made in this trace only by the one that
  // raised it first.
  if (!exception->raised || exception->kind == VariableKind::kObject) exception->raise_step = root_step_;
  exception->raised = true;
  for (auto it = frame_stack_.rbegin(); it != frame_stack_.rend(); ++it) {
    if ((*it)->handled.empty()) continue;
    Var handled = (*it)->handled.back();
    if (handled != exception && exception->context == nullptr) exception->context = handled;
    break;
  }
  return nullptr;
}

std::nullptr_t Trace::RaiseNew(PyObject* type, std::initializer_list<std::string_view> message) {
  const std::string text = Joined(message);
  return Raise(MakeException(
      type, {Const(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())))}));
}

std::nullptr_t Trace::RaiseFromPython() {
  if (failure_ == Failure::kFatal) return nullptr;  // its exception goes on
  if (failure_ == Failure::kBreak) {
    PyErr_Clear();
    return nullptr;
  }
  PyRef error = PyRef::Steal(PyErr_GetRaisedException());
  if (!error) {
    return Break("a built-in function failed without an exception", BreakKind::kPythonRaises);
  }
  if (Py_IS_TYPE(error.get(), reinterpret_cast<PyTypeObject*>(UntraceableError))) {
    return Break("a built-in function could not be traced");
  }
  if (PyErr_GivenExceptionMatches(error.get(), PyExc_MemoryError))
    return Break("there is not enough memory to trace this", BreakKind::kPythonRaises);
  // One that no traced code raised asks the interpreter itself to stop.
  if (PyErr_GivenExceptionMatches(error.get(), PyExc_KeyboardInterrupt) && !shadows_.contains(error.get())) {
    PyErr_SetRaisedException(error.release());
    failure_ = Failure::kFatal;
    return nullptr;
  }
  // C code that looks at a proxy in a way of its own refuses the proxy, not the value.
  bool known =
      shadows_.count(error.get()) != 0 || PyType_HasFeature(Py_TYPE(error.get()), Py_TPFLAGS_HEAPTYPE);
  PyRef text = known ? PyRef() : PyRef::Steal(PyObject_Str(error.get()));
  const char* chars = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  PyErr_Clear();
  if (chars != nullptr && strstr(chars, "thirdbook._core.Proxy") != nullptr)
    return Break("a built-in function looks at a value in a way that the tracer has no model of");
  keep_alive_.push_back(error);
  Var v = FromShadow(error.get());
  if (v == nullptr) return nullptr;
  return Raise(v);
}

Var Trace::TakeRaised() {
  Var v = raised_;
  ClearFailure();
  return v;
}

bool Trace::RaisedMatches(PyObject* type) {
  return failure_ == Failure::kRaise &&
         PyType_IsSubtype(raised_->type, reinterpret_cast<PyTypeObject*>(type)) != 0;
}

void Trace::FailureToPython() {
  if (PyErr_Occurred() != nullptr) return;
  if (failure_ != Failure::kRaise) {
    PyErr_SetString(UntraceableError, break_.reason.c_str());
    return;
  }
  Var v = TakeRaised();
  if (!v->value) {
    PyRef args = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(v->items.size())));
    for (size_t i = 0; i < v->items.size(); i++) {
      PyObject* item = ElementShadow(v->items[i]);
      if (item == nullptr) item = Py_NewRef(Py_None);
      PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), item);
    }
    PyTypeObject* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
    PyObject* real = PyType_IsSubtype(v->type, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)) != 0
                         ? PyObject_Call(PyExc_StopIteration, args.get(), nullptr)
                         : base->tp_new(v->type, args.get(), nullptr);
    if (real == nullptr) return;
    v->value = PyRef::Steal(real);
    shadows_[real] = v;
  }
  PyErr_SetRaisedException(Py_NewRef(v->value.get()));
}

}  // namespace thirdbook
