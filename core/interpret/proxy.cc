// Proxies: Python objects that stand for variables, so that CPython's own C functions (list methods, sorted,
// zip, itertools...) do their work on variables: each slot of a proxy is the tracer's operation of that name.
//
// In: a C function calls a slot. Out: what the operation gives, as a constant or another proxy. Invariant: a
// proxy never leaves the trace; an operation that breaks sets UntraceableError, which unwinds the C function.
#include "interpret/trace.h"

namespace thirdbook {

PyObject* UntraceableError = nullptr;

namespace {

struct ProxyObject {
  PyObject_HEAD Var variable;
};

extern PyType_Spec proxy_spec;
PyTypeObject* proxy_type = nullptr;

// The variable of a proxy, or of any operand that C code mixes in.
Var Of(PyObject* o) { return current_trace->FromShadow(o); }

PyObject* Give(Var v) {
  if (v == nullptr) {
    current_trace->FailureToPython();
    return nullptr;
  }
  return current_trace->ElementShadow(v);
}

bool Ready() {
  if (current_trace != nullptr) return true;
  PyErr_SetString(PyExc_RuntimeError, "a Thirdbook proxy was used after its trace had ended");
  return false;
}

template <int code>
PyObject* Binary(PyObject* a, PyObject* b) {
  if (!Ready()) return nullptr;
  Nesting nesting;  // C code and proxies may call each other
  if (Nesting::Deep())
    return Give(
        current_trace->Break("operators of built-in types call each other without end", BreakKind::kLimit));
  Var x = Of(a), y = Of(b);
  if (x == nullptr || y == nullptr) return Give(nullptr);
  return Give(current_trace->BinaryOp(code, x, y));
}

PyObject* Power(PyObject* a, PyObject* b, PyObject* m) {
  if (!Ready()) return nullptr;
  if (m != Py_None) return Give(current_trace->Break("pow() with a modulus on values that are not constant"));
  return Binary<8>(a, b);
}

// A special method that C code looks up on the type of its argument.
PyObject* Special(PyObject* o, const char* name, const std::vector<PyObject*>& args) {
  if (!Ready()) return nullptr;
  Nesting nesting;
  if (nesting.Deep())
    return Give(current_trace->Break("special methods of built-in types call each other without end"));
  Trace& t = *current_trace;
  Var v = t.Look(Of(o));
  std::vector<Var> values;
  for (PyObject* arg : args) {
    values.push_back(Of(arg));
    if (values.back() == nullptr) return Give(nullptr);
  }
  if (v->kind != VariableKind::kScalar && v->kind != VariableKind::kConst)
    return Give(t.CallMethod(v, name, values));
  PyRef method = PyRef::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(v->type), name));
  if (!method) return nullptr;
  values.insert(values.begin(), v);
  return Give(t.CallPure(method.get(), values, nullptr, true));
}

PyObject* Absolute(PyObject* o) { return Special(o, "__abs__", {}); }
PyObject* DivMod(PyObject* a, PyObject* b) {
  return IsProxy(a) ? Special(a, "__divmod__", {b}) : Special(b, "__rdivmod__", {a});
}
template <const char* const& name>
PyObject* Method(PyObject* o, PyObject* const* args, Py_ssize_t nargs) {
  return Special(o, name, {args, args + nargs});
}
const char* const kRound = "__round__";
const char* const kFloor = "__floor__";
const char* const kCeil = "__ceil__";
const char* const kTrunc = "__trunc__";
const char* const kReversed = "__reversed__";
const char* const kComplex = "__complex__";
const char* const kBytes = "__bytes__";

PyObject* FormatProxy(PyObject* o, PyObject* spec) {
  if (!Ready()) return nullptr;
  Trace& t = *current_trace;
  Var text = t.Format(Of(o), t.Const(spec));
  PyObject* value = text != nullptr ? t.ConstValue(text) : nullptr;
  return value != nullptr ? Py_NewRef(value) : Give(nullptr);
}

template <int code>
PyObject* Unary(PyObject* a) {
  if (!Ready()) return nullptr;
  return Give(current_trace->UnaryOp(code, Of(a)));
}

PyObject* RichCompare(PyObject* a, PyObject* b, int op) {
  if (!Ready()) return nullptr;
  Nesting nesting;
  if (Nesting::Deep())
    return Give(
        current_trace->Break("comparisons of built-in types call each other without end", BreakKind::kLimit));
  Var x = Of(a), y = Of(b);
  if (x == nullptr || y == nullptr) return Give(nullptr);
  return Give(current_trace->Compare(op, x, y));
}

Py_hash_t Hash(PyObject* o) {
  if (!Ready()) return -1;
  Trace& t = *current_trace;
  Var v = t.Look(Of(o));
  if (v->kind == VariableKind::kScalar) {
    PyObject* value = t.ConstValue(v);
    if (value == nullptr) {
      t.FailureToPython();
      return -1;
    }
    return PyObject_Hash(value);
  }
  if (v->kind == VariableKind::kConst) return PyObject_Hash(v->value.get());
  if (Trace::IsForeign(v)) {
    t.Break("hash() of an array or of one of its library's scalars");
    t.FailureToPython();
    return -1;
  }
  if (v->kind == VariableKind::kTensor) return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(v) >> 4);
  static PyObject* name = PyUnicode_InternFromString("__hash__");
  static PyObject* object_hash = PyObject_GetAttr(reinterpret_cast<PyObject*>(&PyBaseObject_Type), name);
  PyObject* method = t.TypeLookup(v->type, name, true);
  if (method == object_hash) {
    if (v->kind == VariableKind::kObject) return PyObject_Hash(v->value.get());
    return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(v) >> 4);
  }
  if (method == Py_None || method == nullptr) {
    PyErr_Format(PyExc_TypeError, "unhashable type: '%.200s'", v->type->tp_name);
    return -1;
  }
  if (v->kind == VariableKind::kObject && (PyType_Check(v->value.get()) || PyFunction_Check(v->value.get()) ||
                                           PyCFunction_Check(v->value.get()))) {
    return PyObject_Hash(v->value.get());
  }
  if (v->kind == VariableKind::kObject && strcmp(Py_TYPE(v->type)->tp_name, "EnumType") == 0)
    return PyObject_Hash(v->value.get());
  Var plain = PyFunction_Check(method) ? nullptr : t.PlainValue(v);
  if (plain != nullptr) return PyObject_Hash(plain->value.get());
  t.Break({"a '", v->type->tp_name, "' is hashed by a container"}, BreakKind::kUserHash);
  t.FailureToPython();
  return -1;
}

PyObject* Iter(PyObject* o) {
  if (!Ready()) return nullptr;
  Var it = current_trace->GetIter(Of(o));
  return Give(it);
}

PyObject* IterNext(PyObject* o) {
  if (!Ready()) return nullptr;
  Var v = current_trace->Next(Of(o));
  if (v == nullptr && current_trace->failure() == Failure::kNone) return nullptr;
  return Give(v);
}

PyObject* Subscript(PyObject* o, PyObject* key) {
  if (!Ready()) return nullptr;
  Var k = Of(key);
  return Give(k != nullptr ? current_trace->GetItem(Of(o), k) : nullptr);
}

PyObject* SequenceItem(PyObject* o, Py_ssize_t i) {
  PyRef index = PyRef::Steal(PyLong_FromSsize_t(i));
  return Subscript(o, index.get());
}

int AssignSubscript(PyObject* o, PyObject* key, PyObject* value) {
  if (!Ready()) return -1;
  Var k = Of(key), v = value != nullptr ? Of(value) : nullptr;
  if (k == nullptr || (value != nullptr && v == nullptr) || !current_trace->SetItem(Of(o), k, v)) {
    current_trace->FailureToPython();
    return -1;
  }
  return 0;
}

Py_ssize_t MappingLength(PyObject* o) {
  if (!Ready()) return -1;
  Var n = current_trace->Length(Of(o));
  PyObject* value = n != nullptr ? current_trace->ConstValue(n) : nullptr;
  if (value == nullptr) {
    current_trace->FailureToPython();
    return -1;
  }
  return PyLong_AsSsize_t(value);
}

int ContainsItem(PyObject* o, PyObject* item) {
  if (!Ready()) return -1;
  Var x = Of(item);
  Var found = x != nullptr ? current_trace->Contains(Of(o), x) : nullptr;
  int truth = found != nullptr ? current_trace->Truth(found) : -1;
  if (truth < 0) current_trace->FailureToPython();
  return truth;
}

int AsBool(PyObject* o) {
  if (!Ready()) return -1;
  int truth = current_trace->Truth(Of(o));
  if (truth < 0) current_trace->FailureToPython();
  return truth;
}

// int(), float(), operator.index(): the concrete number.
template <bool floating>
PyObject* AsNumber(PyObject* o) {
  if (!Ready()) return nullptr;
  Trace& t = *current_trace;
  Var v = t.Look(Of(o));
  if (v->kind == VariableKind::kScalar || v->kind == VariableKind::kConst) {
    PyObject* value = t.ConstValue(v);
    if (value == nullptr) return Give(nullptr);
    return floating ? PyNumber_Float(value) : PyNumber_Long(value);
  }
  Var result = t.CallMethod(v, floating ? "__float__" : "__int__", {});
  PyObject* value = result != nullptr ? t.ConstValue(result) : nullptr;
  return value != nullptr ? Py_NewRef(value) : Give(nullptr);
}

PyObject* AsIndex(PyObject* o) {
  if (!Ready()) return nullptr;
  Trace& t = *current_trace;
  Var v = t.Look(Of(o));
  int64_t size;
  if (t.BoundSize(v, &size)) return PyLong_FromLongLong(size);
  if (t.IsBinding() && v->kind == VariableKind::kTensor) {  // the binder asks whether it is an int
    PyErr_SetString(PyExc_TypeError, "a tensor that is not known yet");
    return nullptr;
  }
  Var result = t.IndexOf(v);
  PyObject* value = result != nullptr ? t.ConstValue(result) : nullptr;
  return value != nullptr ? PyNumber_Index(value) : Give(nullptr);
}

PyObject* CallProxy(PyObject* o, PyObject* args, PyObject* kwargs) {
  if (!Ready()) return nullptr;
  std::vector<Var> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
    values.push_back(Of(PyTuple_GET_ITEM(args, i)));
    if (values.back() == nullptr) return Give(nullptr);
  }
  PyRef names;
  if (kwargs != nullptr && PyDict_GET_SIZE(kwargs) > 0) {
    names = PyRef::Steal(PySequence_Tuple(kwargs));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); i++) {
      values.push_back(Of(PyDict_GetItem(kwargs, PyTuple_GET_ITEM(names.get(), i))));
      if (values.back() == nullptr) return Give(nullptr);
    }
  }
  return Give(current_trace->Call(Of(o), values, names.get()));
}

PyObject* GetAttrProxy(PyObject* o, PyObject* name) {
  if (!Ready()) return nullptr;
  return Give(current_trace->GetAttr(Of(o), name));
}

int SetAttrProxy(PyObject* o, PyObject* name, PyObject* value) {
  if (!Ready()) return -1;
  Var v = value != nullptr ? Of(value) : nullptr;
  if ((value != nullptr && v == nullptr) || !current_trace->SetAttr(Of(o), name, v)) {
    current_trace->FailureToPython();
    return -1;
  }
  return 0;
}

PyObject* Text(PyObject* o, bool repr) {
  if (!Ready()) return nullptr;
  Trace& t = *current_trace;
  Var v = repr ? t.Repr(Of(o)) : t.Str(Of(o));
  PyObject* value = v != nullptr ? t.ConstValue(v) : nullptr;
  return value != nullptr ? Py_NewRef(value) : Give(nullptr);
}
PyObject* ReprProxy(PyObject* o) { return Text(o, true); }
PyObject* StrProxy(PyObject* o) { return Text(o, false); }

PyObject* LengthHint(PyObject* o, PyObject*) {
  if (!Ready()) return nullptr;
  Trace& t = *current_trace;
  if (Trace::IsHandedInIterator(Of(o))) return Py_NewRef(Py_NotImplemented);  // it runs no user code
  Var method = t.LookupSpecial(Of(o), "__length_hint__");
  if (method == nullptr) return t.failure() == Failure::kNone ? Py_NewRef(Py_NotImplemented) : Give(nullptr);
  return Give(t.Call(method, {}));
}

void Dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

template <typename F>
void* Slot(F* f) {
  return reinterpret_cast<void*>(f);
}

template <const char* const& name>
PyMethodDef SpecialMethod() {
  return {name, reinterpret_cast<PyCFunction>(Slot(Method<name>)), METH_FASTCALL, nullptr};
}
PyMethodDef proxy_methods[] = {SpecialMethod<kRound>(),
                               SpecialMethod<kFloor>(),
                               SpecialMethod<kCeil>(),
                               SpecialMethod<kTrunc>(),
                               SpecialMethod<kReversed>(),
                               SpecialMethod<kComplex>(),
                               SpecialMethod<kBytes>(),
                               {"__format__", FormatProxy, METH_O, nullptr},
                               {"__length_hint__", LengthHint, METH_NOARGS, nullptr},
                               {}};

PyType_Slot proxy_slots[] = {
    {Py_tp_dealloc, Slot(Dealloc)},
    {Py_tp_methods, proxy_methods},
    {Py_tp_richcompare, Slot(RichCompare)},
    {Py_tp_hash, Slot(Hash)},
    {Py_tp_iter, Slot(Iter)},
    {Py_tp_iternext, Slot(IterNext)},
    {Py_tp_call, Slot(CallProxy)},
    {Py_tp_getattro, Slot(GetAttrProxy)},
    {Py_tp_setattro, Slot(SetAttrProxy)},
    {Py_tp_repr, Slot(ReprProxy)},
    {Py_tp_str, Slot(StrProxy)},
    {Py_mp_subscript, Slot(Subscript)},
    {Py_sq_item, Slot(SequenceItem)},
    {Py_mp_ass_subscript, Slot(AssignSubscript)},
    {Py_mp_length, Slot(MappingLength)},
    {Py_sq_contains, Slot(ContainsItem)},
    {Py_nb_bool, Slot(AsBool)},
    {Py_nb_index, Slot(AsIndex)},
    {Py_nb_int, Slot(AsNumber<false>)},
    {Py_nb_float, Slot(AsNumber<true>)},
    {Py_nb_add, Slot(Binary<0>)},
    {Py_nb_and, Slot(Binary<1>)},
    {Py_nb_floor_divide, Slot(Binary<2>)},
    {Py_nb_lshift, Slot(Binary<3>)},
    {Py_nb_matrix_multiply, Slot(Binary<4>)},
    {Py_nb_multiply, Slot(Binary<5>)},
    {Py_nb_remainder, Slot(Binary<6>)},
    {Py_nb_or, Slot(Binary<7>)},
    {Py_nb_power, Slot(Power)},
    {Py_nb_rshift, Slot(Binary<9>)},
    {Py_nb_subtract, Slot(Binary<10>)},
    {Py_nb_true_divide, Slot(Binary<11>)},
    {Py_nb_xor, Slot(Binary<12>)},
    {Py_nb_inplace_add, Slot(Binary<13>)},
    {Py_nb_inplace_and, Slot(Binary<14>)},
    {Py_nb_inplace_floor_divide, Slot(Binary<15>)},
    {Py_nb_inplace_lshift, Slot(Binary<16>)},
    {Py_nb_inplace_matrix_multiply, Slot(Binary<17>)},
    {Py_nb_inplace_multiply, Slot(Binary<18>)},
    {Py_nb_inplace_remainder, Slot(Binary<19>)},
    {Py_nb_inplace_or, Slot(Binary<20>)},
    {Py_nb_inplace_rshift, Slot(Binary<22>)},
    {Py_nb_inplace_subtract, Slot(Binary<23>)},
    {Py_nb_inplace_true_divide, Slot(Binary<24>)},
    {Py_nb_inplace_xor, Slot(Binary<25>)},
    {Py_nb_absolute, Slot(Absolute)},
    {Py_nb_divmod, Slot(DivMod)},
    {Py_nb_negative, Slot(Unary<kUnaryNegative>)},
    {Py_nb_positive, Slot(Unary<kUnaryPositive>)},
    {Py_nb_invert, Slot(Unary<kUnaryInvert>)},
    {0, nullptr},
};

PyType_Spec proxy_spec = {"thirdbook._core.Proxy", sizeof(ProxyObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, proxy_slots};

}  // namespace

bool InitProxy(PyObject* module) {
  proxy_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&proxy_spec));
  if (proxy_type == nullptr) return false;
  UntraceableError = PyErr_NewException("thirdbook._core.UntraceableError", PyExc_BaseException, nullptr);
  return UntraceableError != nullptr &&
         PyModule_AddObjectRef(module, "UntraceableError", UntraceableError) == 0 &&
         InitArrayIntrinsics(module);
}

bool IsProxy(PyObject* o) { return Py_TYPE(o) == proxy_type; }

Var ProxyVariable(PyObject* o) { return reinterpret_cast<ProxyObject*>(o)->variable; }

void DetachProxy(PyObject* proxy) { reinterpret_cast<ProxyObject*>(proxy)->variable = nullptr; }

PyObject* MakeProxy(Var v) {
  if (v->handle == nullptr) {
    ProxyObject* p = PyObject_New(ProxyObject, proxy_type);
    if (p == nullptr) return nullptr;
    p->variable = v;
    v->handle = reinterpret_cast<PyObject*>(p);
  }
  return Py_NewRef(v->handle);
}

}  // namespace thirdbook
