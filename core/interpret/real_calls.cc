// Calls of C functions during the trace. See trace.h.
//
// In: a function that builtins.def names, on constants (CallPure) or on shadows and proxies (CallReal). Out:
// its result as a variable. Invariant: it changes nothing but shadows; its exception is the program's.
#include "interpret/builtins.h"
#include "python/tensor_object.h"

namespace thirdbook {

// A real list, dict or set with the contents of a container, all of them constants; null when they are not
// (with a failure only where looking at them failed). Borrowed.
PyObject* Trace::ConcreteContainer(Var v) {
  if (!EnsureShadow(v)) return nullptr;
  PyObject* shadow = v->shadow.get();
  const bool dict = PyDict_CheckExact(shadow);
  if (!dict && !PyList_CheckExact(shadow) && !PyAnySet_CheckExact(shadow)) return nullptr;
  PyRef items = PyRef::Steal(dict ? PyDict_Items(shadow) : PySequence_List(shadow));
  for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); i++) {
    Var item = FromShadow(PyList_GET_ITEM(items.get(), i));
    if (item == nullptr) return nullptr;
    std::vector<Var> parts = dict ? item->items : std::vector<Var>{item};
    for (Var part : parts) {
      if (Look(part)->kind == VariableKind::kScalar && !Specialize(part)) return nullptr;
      if (TryConst(part) == nullptr) return nullptr;
    }
    PyList_SetItem(items.get(), i, Py_NewRef(ConstValue(dict ? NewTuple(parts) : item)));
  }
  PyRef made =
      items ? PyRef::Steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(v->type), items.get())) : PyRef();
  if (!made) {
    PyErr_Clear();
    return nullptr;
  }
  keep_alive_.push_back(made);
  return made.get();
}

// The real function on constants; with `symbolic`, numbers and text that later calls may change stay
// expressions.
Var Trace::CallPure(PyObject* function, const std::vector<Var>& args_in, PyObject* kwnames, bool symbolic) {
  std::vector<PyObject*> values;
  std::vector<Var> args = args_in;
  bool has_scalar = false, unknown = false;
  for (Var& a : args) {
    a = Look(a);
    if (Var plain = PlainValue(a, true)) a = plain;
    if (a->kind == VariableKind::kScalar) {
      has_scalar = true;
      if (!a->value) unknown = true;
    }
  }
  symbolic = symbolic && has_scalar && kwnames == nullptr && !unknown;
  std::vector<SourceId> operands;
  for (Var a : args) {
    a = Look(a);
    PyObject* value = symbolic && a->kind == VariableKind::kScalar ? a->value.get() : TryConst(a);
    if (value == nullptr && IsContainer(a) && a->type == BaseContainer(a->type)) value = ConcreteContainer(a);
    if (value == nullptr && failure_ == Failure::kNone) value = ConstValue(a);
    if (value == nullptr) return nullptr;
    values.push_back(value);
    operands.push_back(SourceOf(a));
    if (!operands.back().defined()) operands.back() = ObjectSource(value);
  }
  size_t positional = PositionalCount(args, kwnames);
  PyRef result = PyRef::Steal(PyObject_Vectorcall(function, values.data(), positional, kwnames));
  bool stays = symbolic && result &&
               (PyLong_CheckExact(result.get()) || PyFloat_CheckExact(result.get()) ||
                PyUnicode_CheckExact(result.get()) || PyBool_Check(result.get()));
  if (stays) {
    Source s{SourceKind::kCall};
    s.object = ObjectOf(function);
    s.operands = std::move(operands);
    PyRef name = PyRef::Steal(PyObject_GetAttrString(function, "__name__"));
    s.name = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : "call";
    PyErr_Clear();
    PyTypeObject* type = Py_TYPE(result.get());
    SourceId source = sources_.Intern(std::move(s));
    if (!ResultTypeIsFixed(function, type)) {
      AddGuard(GuardKind::kType, source, reinterpret_cast<PyObject*>(type), type->tp_name);
    }
    Var scalar = Scalar(type, source, result.release());
    fallible_.push_back(scalar);
    return scalar;
  }
  if (symbolic) {
    // It failed or gave something else: the values themselves matter.
    for (Var a : args) {
      if (!Specialize(a)) return nullptr;
    }
  }
  if (!result) return RaiseFromPython();
  if (PyIter_Check(result.get()) && PyRef::Borrow(result.get()).get() == values[0]) return args[0];
  return FromShadow(result.get());
}

// The real function on shadows: it may call back into the tracer through proxies.
Var Trace::CallReal(PyObject* function, const std::vector<Var>& args, PyObject* kwnames) {
  std::vector<PyRef> shadows;
  std::vector<PyObject*> values;
  for (Var a : args) {
    PyObject* shadow = ArgumentShadow(a);
    if (shadow == nullptr) return RaiseFromPython();
    shadows.push_back(PyRef::Steal(shadow));
    values.push_back(shadow);
  }
  PyRef result =
      PyRef::Steal(PyObject_Vectorcall(function, values.data(), PositionalCount(args, kwnames), kwnames));
  // zip, map, itertools... keep what they were given for later, but for those that read it at once.
  bool keeps = result && PyType_Check(function) && PyIter_Check(result.get()) &&
               strncmp(reinterpret_cast<PyTypeObject*>(function)->tp_name, "itertools.combin", 16) != 0 &&
               strncmp(reinterpret_cast<PyTypeObject*>(function)->tp_name, "itertools.p", 11) != 0;
  for (size_t i = 0; i < args.size() && !keeps; i++) MarkMoved(args[i]);
  if (!result || failure_ == Failure::kBreak) {
    if (result) return nullptr;
    return RaiseFromPython();
  }
  return FromShadow(result.get());
}

}  // namespace thirdbook
