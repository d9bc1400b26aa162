// Output that becomes an effect of the ledger: writes to text streams, warnings. print() is in builtins.cc.
//
// In: calls of io.TextIOWrapper's and io.StringIO's write, writelines and flush; warnings.warn. Out: an
// effect each, done in its place at the replay with the text of its moment. Invariant: what reads a stream
// (getvalue, tell...) has no model, so it comes after the replay; a warning that a filter turns into an
// exception is never an effect.
#include "interpret/trace.h"

namespace thirdbook {

namespace {

PyObject* EffectFunction(const char* name) {  // new reference
  PyRef module = PyRef::Steal(PyImport_ImportModule("thirdbook._effects"));
  return module ? PyObject_GetAttrString(module.get(), name) : nullptr;
}

}  // namespace

bool Trace::IsTextStream(Var v) {
  return v->kind == VariableKind::kObject && (strcmp(v->type->tp_name, "_io.TextIOWrapper") == 0 ||
                                              strcmp(v->type->tp_name, "_io.StringIO") == 0);
}

// Null without a failure: no model.
Var Trace::StreamMethod(PyObject* descriptor, const char* name, const std::vector<Var>& args) {
  Var stream = Look(args[0]);
  if (!IsTextStream(stream)) return nullptr;
  if (strcmp(name, "flush") == 0 && args.size() == 1) {
    AddEffect(Fixed(descriptor), {stream}, {}, "flush");
    return None();
  }
  if (strcmp(name, "write") != 0 || args.size() != 2) return nullptr;
  Var text = Look(args[1]);
  bool known = (text->kind == VariableKind::kConst || text->kind == VariableKind::kScalar) &&
               text->type == &PyUnicode_Type;
  if (!known) return nullptr;
  Var length = Length(text);
  if (length == nullptr) return nullptr;
  AddEffect(Fixed(descriptor), {stream, text}, {}, "write");
  return length;
}

// A lock that was there is taken and given back at the replay, around what the replay does meanwhile. Null
// without a failure: no model.
Var Trace::LockMethod(PyTypeObject* owner, const char* name, const std::vector<Var>& args) {
  Var lock = Look(args[0]);
  if (lock->kind != VariableKind::kObject || strncmp(owner->tp_name, "_thread.", 8) != 0) return nullptr;
  const bool takes = strcmp(name, "__enter__") == 0 || (strcmp(name, "acquire") == 0 && args.size() == 1);
  if (!takes && strcmp(name, "__exit__") != 0 && strcmp(name, "release") != 0) return nullptr;
  if (!takes && lock->moves == 0) return nullptr;  // not taken here: CPython may refuse
  const char* operation = takes ? "acquire" : "release";
  PyRef method = PyRef::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(owner), operation));
  if (!method || Py_TYPE(method.get()) != &PyMethodDescr_Type) {
    PyErr_Clear();
    return nullptr;
  }
  lock->moves += takes ? 1 : -1;
  AddEffect(Fixed(method.get()), {lock}, {}, operation);
  return takes ? Bool(true) : None();
}

// warnings.warn(message, category=None, stacklevel=1). Null without a failure: no model.
Var Trace::WarnCall(const std::vector<Var>& args, PyObject* kwnames) {
  Var given[3] = {nullptr, nullptr, nullptr};
  static const char* const kNames[] = {"message", "category", "stacklevel"};
  const size_t named = kwnames != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0,
               n = args.size() - named;
  if (n > 3) return nullptr;
  for (size_t i = 0; i < n; i++) given[i] = Look(args[i]);
  for (size_t i = 0; i < named; i++) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i)));
    size_t at = 0;
    while (at < 3 && strcmp(kNames[at], name) != 0) at++;
    if (at == 3 || given[at] != nullptr) return nullptr;
    given[at] = Look(args[n + i]);
  }
  if (given[0] == nullptr || given[0]->type != &PyUnicode_Type) return nullptr;
  if (given[0]->kind != VariableKind::kConst && given[0]->kind != VariableKind::kScalar) return nullptr;
  PyObject* category = PyExc_UserWarning;
  if (given[1] != nullptr && !given[1]->IsConst(Py_None)) {
    if (!given[1]->value || !PyType_Check(given[1]->value.get())) return nullptr;
    category = given[1]->value.get();
  }
  long level = 1;
  if (given[2] != nullptr) {
    PyObject* value = TryConst(given[2]);
    if (value == nullptr || !PyLong_CheckExact(value)) return nullptr;
    level = PyLong_AsLong(value);
    PyErr_Clear();
  }
  if (level < 1) level = 1;
  if (level > static_cast<long>(frame_stack_.size())) return nullptr;
  SymbolicFrame* frame = frame_stack_[frame_stack_.size() - static_cast<size_t>(level)];
  if (frame->globals != root_.globals) return nullptr;  // the registry is that of the rewritten code's module
  for (SymbolicFrame* f : frame_stack_) {
    for (const ExceptionRegion& r : f->parts->image.regions) {
      if (f->pc >= r.begin && f->pc < r.end)
        return nullptr;  // a filter may turn it into an exception that is caught here
    }
  }
  PyRef raises = PyRef::Steal(EffectFunction("warning_raises"));
  PyRef answer = PyRef::Steal(raises ? PyObject_CallOneArg(raises.get(), category) : nullptr);
  PyRef warn = PyRef::Steal(EffectFunction("warn"));
  PyErr_Clear();
  if (!answer || answer.get() == Py_True || !warn) return nullptr;
  PyRef line = PyRef::Steal(
      PyLong_FromLong(frame->parts->image.instructions[static_cast<size_t>(frame->pc)].position.line));
  Var category_var =
      given[1] != nullptr && given[1]->kind != VariableKind::kConst ? given[1] : Fixed(category);
  AddEffect(Fixed(warn.get()), {given[0], category_var, Const(frame->code->co_filename), Const(line.get())},
            {}, "warnings.warn");
  return None();
}

}  // namespace thirdbook
