// Text of values: str, repr, format, join. See trace.h.
//
// In: variables. Out: constants, or expressions that are evaluated at the replay where a number or text of
// later calls, or a tensor's value, is in them. Invariant: an object's own __str__, __repr__ and __format__
// are traced inline.
#include "interpret/builtins.h"
#include "python/tensor_object.h"

namespace thirdbook {

Var Trace::Str(Var v) {
  v = Look(v);
  if (v->type == &PyUnicode_Type && (v->kind == VariableKind::kConst || v->kind == VariableKind::kScalar))
    return v;
  if (v->kind == VariableKind::kConst) return ConstSteal(PyObject_Str(v->value.get()));
  if (v->kind == VariableKind::kScalar || v->kind == VariableKind::kTensor) {
    return TextExpression(reinterpret_cast<PyObject*>(&PyUnicode_Type), v, nullptr);
  }
  if (PyType_IsSubtype(v->type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) != 0) {
    Var method = LookupSpecial(v, "__str__");
    return method == nullptr ? nullptr : Call(method, {});
  }
  static PyObject* str_name = PyUnicode_InternFromString("__str__");
  PyObject* found = TypeLookup(v->type, str_name, true);
  if (found != nullptr && PyFunction_Check(found)) return Call(NewMethod(Fixed(found), v), {});
  if (found != nullptr && reinterpret_cast<PyDescrObject*>(found)->d_type != &PyBaseObject_Type) {
    if (Var plain = PlainValue(v)) return CallMethodDescriptor(found, {plain}, nullptr);
    return Break({"str() of a '", v->type->tp_name, "'"});
  }
  return Repr(v);
}

// The text of a list, tuple or dict that holds numbers or texts of later calls: joined from its items' texts.
// Null without failure: it holds none, or is of another kind, or large, or holds itself.
Var Trace::ReprOfSymbolic(PyObject* shadow) {
  constexpr Py_ssize_t kMost = 20;
  const bool dict = PyDict_CheckExact(shadow);
  if (!dict && !PyList_CheckExact(shadow) && !PyTuple_CheckExact(shadow)) return nullptr;
  PyRef items = PyRef::Steal(dict ? PyDict_Items(shadow) : PySequence_List(shadow));
  if (!items || PyList_GET_SIZE(items.get()) == 0 || PyList_GET_SIZE(items.get()) > kMost) return nullptr;
  bool symbolic = false;
  std::vector<Var> values;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); i++) {
    PyObject* item = PyList_GET_ITEM(items.get(), i);
    for (Py_ssize_t k = 0; k < (dict ? 2 : 1); k++) {
      Var v = FromShadow(dict ? PyTuple_GET_ITEM(item, k) : item);
      if (v == nullptr) return nullptr;
      values.push_back(Look(v));
      symbolic = symbolic || values.back()->kind == VariableKind::kScalar;
      if (values.back()->kind != VariableKind::kScalar && values.back()->kind != VariableKind::kConst)
        return nullptr;
    }
  }
  if (!symbolic) return nullptr;
  auto literal = [&](const char* text) { return ConstSteal(PyUnicode_FromString(text)); };
  Var text = literal(dict ? "{" : PyList_CheckExact(shadow) ? "[" : "(");
  for (size_t i = 0; i < values.size() && text != nullptr; i++) {
    if (i > 0) text = BinaryOp(0, text, literal(dict && i % 2 == 1 ? ": " : ", "));
    Var item = text != nullptr ? Repr(values[i]) : nullptr;
    text = item != nullptr ? BinaryOp(0, text, item) : nullptr;
  }
  const bool one = PyTuple_CheckExact(shadow) && values.size() == 1;
  return text != nullptr ? BinaryOp(0, text,
                                    literal(dict                        ? "}"
                                            : PyList_CheckExact(shadow) ? "]"
                                            : one                       ? ",)"
                                                                        : ")"))
                         : nullptr;
}

Var Trace::Repr(Var v) {
  v = Look(v);
  static PyObject* repr_function = PyDict_GetItemString(PyEval_GetBuiltins(), "repr");
  if (v->kind == VariableKind::kConst) return ConstSteal(PyObject_Repr(v->value.get()));
  if (v->kind == VariableKind::kScalar || v->kind == VariableKind::kTensor)
    return TextExpression(repr_function, v, nullptr);
  static PyObject* repr_name = PyUnicode_InternFromString("__repr__");
  PyObject* found = TypeLookup(v->type, repr_name, true);
  if (found != nullptr && PyFunction_Check(found)) return Call(NewMethod(Fixed(found), v), {});
  if (PyType_IsSubtype(v->type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) != 0 &&
      v->kind == VariableKind::kNew)
    return ExceptionText(v, true);
  if (strcmp(v->type->tp_name, "thirdbook.Size") == 0) {
    std::vector<Var> items;
    if (!Iterate(v, &items)) return nullptr;
    PyRef list = PyRef::Steal(PyList_New(0));
    for (Var item : items) PyList_Append(list.get(), PyRef::Steal(ElementShadow(item)).get());
    Var text = Repr(NewContainer(&PyList_Type, list.release()));
    if (text != nullptr) text = BinaryOp(0, ConstSteal(PyUnicode_FromString("torch.Size(")), text);
    return text != nullptr ? BinaryOp(0, text, ConstSteal(PyUnicode_FromString(")"))) : nullptr;
  }
  bool container = IsContainer(v) && v->type == BaseContainer(v->type);
  if (container || v->type == &PyTuple_Type) {
    // Text of the contents now: element by element through proxies (their numbers become constants).
    PyRef shadow;
    if (container) {
      if (!EnsureShadow(v)) return nullptr;
      shadow = v->shadow;
    } else {
      std::vector<Var> items;
      if (!Iterate(v, &items)) return nullptr;
      shadow = PyRef::Steal(ElementShadow(NewTuple(items)));
    }
    if (!shadow) return RaiseFromPython();
    Var parts = ReprOfSymbolic(shadow.get());
    if (parts != nullptr || failure_ != Failure::kNone) return parts;
    PyRef text = PyRef::Steal(PyObject_Repr(shadow.get()));
    if (!text || failure_ != Failure::kNone) return text ? nullptr : RaiseFromPython();
    return Const(text.get());
  }
  if (v->kind == VariableKind::kObject &&
      (PyType_Check(v->value.get()) || PyModule_Check(v->value.get()) || PyFunction_Check(v->value.get()) ||
       PyCFunction_Check(v->value.get())) &&
      found != nullptr && !PyFunction_Check(found)) {
    return ConstSteal(PyObject_Repr(v->value.get()));
  }
  if (Var plain = PlainValue(v)) return CallMethodDescriptor(found, {plain}, nullptr);
  return Break({"text of a '", v->type->tp_name, "' object"}, BreakKind::kIdentity);
}

Var Trace::Format(Var v, Var spec) {
  v = Look(v);
  PyObject* spec_text = spec != nullptr ? ConstValue(spec) : nullptr;
  if (spec != nullptr && spec_text == nullptr) return nullptr;
  if (spec_text != nullptr && !PyUnicode_CheckExact(spec_text)) return Break("a format that is no text");
  bool empty = spec_text == nullptr || PyUnicode_GET_LENGTH(spec_text) == 0;
  if (v->kind == VariableKind::kConst && (empty || !IsLibraryValue(v->value.get())))
    return ConstSteal(PyObject_Format(v->value.get(), spec_text));
  if (v->kind == VariableKind::kScalar || v->kind == VariableKind::kTensor) {
    static PyObject* format_function = PyDict_GetItemString(PyEval_GetBuiltins(), "format");
    if (empty && v->kind == VariableKind::kScalar && v->type == &PyUnicode_Type) return v;
    return TextExpression(format_function, v, spec_text);
  }
  static PyObject* format_name = PyUnicode_InternFromString("__format__");
  PyObject* found = TypeLookup(v->type, format_name, true);
  if (found != nullptr && PyFunction_Check(found))
    return Call(NewMethod(Fixed(found), v),
                {spec_text != nullptr ? Const(spec_text) : Const(PyUnicode_FromString(""))});
  if (empty) return Str(v);
  if (found != nullptr && reinterpret_cast<PyDescrObject*>(found)->d_type == &PyBaseObject_Type) {
    return RaiseNew(PyExc_TypeError,
                    {"unsupported format string passed to ", v->type->tp_name, ".__format__"});
  }
  if (Var plain = PlainValue(v)) return CallMethodDescriptor(found, {plain, Const(spec_text)}, nullptr);
  return Break({"format() of a '", v->type->tp_name, "'"});
}

// separator.join(iterable): texts that later calls may change stay expressions.
Var Trace::JoinText(Var separator, Var iterable) {
  constexpr size_t kMostParts = 40;  // longer expressions cost more than compiling again
  std::vector<Var> items;
  Var over = Look(iterable);
  if (!Iterate(over, &items)) {
    if (over->type->tp_iter == nullptr && RaisedMatches(PyExc_TypeError)) {
      TakeRaised();
      return RaiseNew(PyExc_TypeError, "can only join an iterable");
    }
    return nullptr;
  }
  bool symbolic = separator->kind == VariableKind::kScalar;
  for (size_t i = 0; i < items.size(); i++) {
    items[i] = Look(items[i]);
    if (Var plain = PlainValue(items[i])) items[i] = plain;
    if (PyType_IsSubtype(items[i]->type, &PyUnicode_Type) == 0)
      return RaiseNew(PyExc_TypeError, {"sequence item ", std::to_string(i), ": expected str instance, ",
                                        items[i]->type->tp_name, " found"});
    symbolic = symbolic || items[i]->kind == VariableKind::kScalar;
  }
  if (!symbolic || items.size() > kMostParts) {
    PyObject* text = ConstValue(separator);
    PyRef list = PyRef::Steal(PyList_New(0));
    for (Var item : items) {
      PyObject* value = text != nullptr ? ConstValue(item) : nullptr;
      if (value == nullptr || PyList_Append(list.get(), value) != 0) return nullptr;
    }
    return text != nullptr ? ConstSteal(PyUnicode_Join(text, list.get())) : nullptr;
  }
  Var text = items.empty() ? ConstSteal(PyUnicode_FromString("")) : items[0];
  for (size_t i = 1; i < items.size() && text != nullptr; i++) {
    text = BinaryOp(0, text, separator);
    if (text != nullptr) text = BinaryOp(0, text, items[i]);
  }
  return text;
}

// str(v), repr(v) or format(v, spec) of a number, text or tensor: an expression evaluated when replaying.
Var Trace::TextExpression(PyObject* function, Var v, PyObject* spec) {
  Source s{SourceKind::kCall};
  s.object = ObjectOf(function);
  PyRef name = PyRef::Steal(PyObject_GetAttrString(function, "__name__"));
  s.name = name ? PyUnicode_AsUTF8(name.get()) : "str";
  PyObject* value = nullptr;
  if (v->kind == VariableKind::kTensor) {
    s.operands = {TensorSnapshot(v)};
    if (failure_ != Failure::kNone) return nullptr;
  } else {
    s.operands = {v->source};
    if (v->value) {
      value = spec != nullptr ? PyObject_CallFunctionObjArgs(function, v->value.get(), spec, nullptr)
                              : PyObject_CallOneArg(function, v->value.get());
      if (value == nullptr) return RaiseFromPython();
    }
  }
  if (spec != nullptr) s.operands.push_back(ObjectSource(spec));
  Var text = Scalar(&PyUnicode_Type, sources_.Intern(std::move(s)), value);
  if (spec != nullptr || v->type == &PyLong_Type) fallible_.push_back(text);
  return text;
}

}  // namespace thirdbook
