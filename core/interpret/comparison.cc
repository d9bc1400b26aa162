// Comparison, identity and truth. See trace.h.
//
// In: variables. Out: constants, expressions over sources, or inlined special methods, as for operators
// (operators.cc). Invariant: identity of two objects is guarded when it is asked.
#include "interpret/operators.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

const char* const kCompareMethod[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
const char* const kTensorCompare[] = {"lt", "le", "eq", "ne", "gt", "ge"};
const int kSwapped[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};

}  // namespace

Var Trace::IsSame(Var left, Var right) {
  Var a = Look(left), b = Look(right);
  if (a->dict_of != nullptr && b->dict_of != nullptr && Look(a->dict_of) == Look(b->dict_of))
    return Bool(true);
  if (a == b) {
    return Bool(true);
  }
  if (a->kind == VariableKind::kTensor || b->kind == VariableKind::kTensor) {
    if (a->kind == VariableKind::kTensor && b->kind == VariableKind::kTensor && a->source.defined() &&
        b->source.defined()) {
      AddGuard(GuardKind::kDistinct, a->source, nullptr, "", b->source);
    }
    return Bool(false);
  }
  if (a->kind == VariableKind::kObject && b->kind == VariableKind::kObject) {
    if (a->value.get() == b->value.get()) return Bool(true);
    if (a->type == b->type) {
      AddGuard(GuardKind::kDistinct, a->source, nullptr, "", b->source);
    }
    return Bool(false);
  }
  if (IsValue(a) != IsValue(b)) {  // a pattern that a match gave, say, and one that was there
    Var constant = IsValue(a) ? a : b, other = IsValue(a) ? b : a;
    if (constant->kind == VariableKind::kConst && IsLibraryValue(constant->value.get()) &&
        other->kind == VariableKind::kObject && other->type == constant->type) {
      AddIdentityGuard(other->source, other->value.get());
      return Bool(other->value.get() == constant->value.get());
    }
  }
  if (IsValue(a) && IsValue(b)) {
    auto unique = [](Var v) { return v->kind == VariableKind::kConst && IsUnique(v->value.get()); };
    if (unique(a) || unique(b)) return Bool(a->value.get() == b->value.get() && a->kind == b->kind);
    if (a->type != b->type) return Bool(false);
    if (a->type == &PyBool_Type) return Compare(Py_EQ, a, b);
    PyObject* x = ConstValue(a);
    PyObject* y = x != nullptr ? ConstValue(b) : nullptr;
    if (y == nullptr) return nullptr;
    int equal = PyObject_RichCompareBool(x, y, Py_EQ);
    if (equal == 0) return Bool(false);
    if (x == y && (a->source.defined() == b->source.defined()) && !a->source.defined()) return Bool(true);
    bool small = PyLong_CheckExact(x) && PyLong_AsLong(x) >= -5 && PyLong_AsLong(x) <= 256;
    PyErr_Clear();
    if (small) return Bool(true);
    return Break("the identity of two equal numbers or texts is asked", BreakKind::kIdentity);
  }
  if (a->kind == VariableKind::kNew && b->kind == VariableKind::kNew && a->type == &PyTuple_Type &&
      b->type == &PyTuple_Type) {
    if (a->shadow && b->shadow) return Bool(a->shadow.get() == b->shadow.get());
    if (a->items.empty() && b->items.empty()) return Bool(true);
    return Break("the identity of two tuples is asked", BreakKind::kIdentity);
  }
  if (a->kind == VariableKind::kNew && b->kind == VariableKind::kNew && a->type == &PyMethod_Type &&
      b->type == &PyMethod_Type)
    return Bool(false);
  return Bool(false);
}

Var Trace::Compare(int op, Var left, Var right) {
  Var a = Look(left), b = Look(right);
  if (HasArray(a) || HasArray(b)) return ArrayOperation(kTensorCompare[op], {a, b});
  if (PyObject* x = a->value.get(), *y = b->value.get();
      (a->kind == VariableKind::kConst && IsForeignDType(x)) ||
      (b->kind == VariableKind::kConst && IsForeignDType(y))) {
    x = ConstValue(a);
    y = x != nullptr ? ConstValue(b) : nullptr;
    return y == nullptr ? nullptr : ConstSteal(PyObject_RichCompare(x, y, op));
  }
  if (a->kind == VariableKind::kTensor || b->kind == VariableKind::kTensor) {
    bool other_tensor = a->kind == VariableKind::kTensor
                            ? (b->kind == VariableKind::kTensor || (IsValue(b) && IsNumber(b->type)))
                            : (IsValue(a) && IsNumber(a->type));
    if (other_tensor) {
      bool swap = a->kind != VariableKind::kTensor;
      PyObject* function = TensorOperation(kTensorCompare[swap ? kSwapped[op] : op]);
      return function == nullptr
                 ? Break("a comparison of tensors")
                 : TensorCall(function, swap ? std::vector<Var>{b, a} : std::vector<Var>{a, b}, nullptr);
    }
    if (op == Py_EQ || op == Py_NE) {
      if (IsValue(a) || IsValue(b)) return Bool(op == Py_NE);
    }
    return Break("a tensor is compared with another kind of object");
  }
  if (IsValue(a) && IsValue(b)) {
    if (a->kind == VariableKind::kConst && b->kind == VariableKind::kConst)
      return ConstSteal(PyObject_RichCompare(a->value.get(), b->value.get(), op));
    bool numbers = IsNumber(a->type) && IsNumber(b->type);
    bool texts = a->type == &PyUnicode_Type && b->type == &PyUnicode_Type;
    if (!numbers && !texts) {
      if (op == Py_EQ || op == Py_NE) {
        // Text equals nothing else.
        if (a->type != b->type && (a->type == &PyUnicode_Type || b->type == &PyUnicode_Type))
          return Bool(op == Py_NE);
      }
      PyObject* x = ConstValue(a);
      PyObject* y = x != nullptr ? ConstValue(b) : nullptr;
      return y == nullptr ? nullptr : ConstSteal(PyObject_RichCompare(x, y, op));
    }
    PyObject* value =
        a->value && b->value ? PyObject_RichCompare(a->value.get(), b->value.get(), op) : nullptr;
    return Scalar(&PyBool_Type, Expression(SourceKind::kCompare, {SourceOf(a), SourceOf(b)}, -1, "", op),
                  value);
  }
  if ((op == Py_EQ || op == Py_NE) && a->type == &PyMethod_Type && b->type == &PyMethod_Type) {
    auto [function_a, self_a] = MethodParts(a);
    auto [function_b, self_b] = MethodParts(b);
    Var same = IsSame(self_a, self_b);
    int truth = same != nullptr ? Truth(same) : -1;
    if (truth < 0) return nullptr;
    return truth == 0 ? Bool(op == Py_NE) : Compare(op, function_a, function_b);
  }
  // Special methods of user classes.
  auto python_method = [&](Var v, int which) -> Var {
    if (IsValue(v)) return nullptr;
    PyRef key = PyRef::Steal(PyUnicode_InternFromString(kCompareMethod[which]));
    PyObject* found = TypeLookup(v->type, key.get(), true);
    return found != nullptr && PyFunction_Check(found) ? NewMethod(Fixed(found), v) : nullptr;
  };
  Var out = nullptr;
  bool finished = false;
  auto attempt = [&](Var self, int which, Var other) {
    Var method = python_method(self, which);
    if (method == nullptr) return false;
    Var r = Call(method, {other});
    if (r == nullptr || !Look(r)->IsConst(Py_NotImplemented)) {
      out = r;
      finished = true;
    }
    return finished;
  };
  // __ne__ of object inverts __eq__.
  auto attempt_either = [&](Var self, int which, Var other) {
    if (attempt(self, which, other)) return true;
    if (which == Py_NE && python_method(self, Py_NE) == nullptr && python_method(self, Py_EQ) != nullptr &&
        attempt(self, Py_EQ, other)) {
      if (out != nullptr) {
        int truth = Truth(out);
        out = truth < 0 ? nullptr : Bool(truth == 0);
      }
      return true;
    }
    return false;
  };
  bool right_first = a->type != b->type && PyType_IsSubtype(b->type, a->type) != 0;
  if (right_first && attempt_either(b, kSwapped[op], a)) return out;
  if (attempt_either(a, op, b)) return out;
  if (!right_first && a->type != b->type && BuiltinTakes(a->type, b->type, true) &&
      (python_method(b, kSwapped[op]) != nullptr || (op == Py_NE && python_method(b, Py_EQ) != nullptr)))
    return Break({"comparison of '", a->type->tp_name, "' with '", b->type->tp_name, "'"});
  if (!right_first && attempt_either(b, kSwapped[op], a)) return out;
  Var plain_a = PlainValue(a), plain_b = PlainValue(b);
  if (plain_a != nullptr || plain_b != nullptr)
    return Compare(op, plain_a != nullptr ? plain_a : a, plain_b != nullptr ? plain_b : b);
  auto plain_identity = [](Var v) {
    return v->type->tp_richcompare == PyBaseObject_Type.tp_richcompare || v->type == &PyFunction_Type ||
           v->type == &PyModule_Type || v->type == &PyCFunction_Type || v->type == &PyMethod_Type ||
           v->type == &PyGen_Type || PyType_HasFeature(v->type, Py_TPFLAGS_TYPE_SUBCLASS) != 0 ||
           PyType_IsSubtype(v->type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) != 0;
  };
  auto user_compare = [&](Var v) {
    return python_method(v, op) != nullptr || python_method(v, kSwapped[op]) != nullptr ||
           python_method(v, Py_EQ) != nullptr;
  };
  if (op == Py_EQ || op == Py_NE) {
    bool pa = plain_identity(a) || user_compare(a), pb = plain_identity(b) || user_compare(b);
    if ((pa || IsValue(a)) && (pb || IsValue(b))) {
      if (IsValue(a) != IsValue(b)) return Bool(op == Py_NE);
      Var same = IsSame(a, b);
      if (same == nullptr) return nullptr;
      return op == Py_EQ ? same : UnaryOp(kUnaryNot, same);
    }
  }
  auto real_comparable = [&](Var v) {
    return BaseContainer(v->type) != nullptr || PyType_IsSubtype(v->type, &PyTuple_Type) != 0 || IsValue(v) ||
           (v->kind == VariableKind::kNew && v->value);
  };
  if (real_comparable(a) && real_comparable(b)) {
    PyRef x, y;
    for (int side = 0; side < 2; side++) {
      Var v = side == 0 ? a : b;
      PyRef& out_ref = side == 0 ? x : y;
      if (IsContainer(v)) {
        if (!EnsureShadow(v)) return nullptr;
        out_ref = v->shadow;
      } else if (PyType_IsSubtype(v->type, &PyTuple_Type) != 0 && !IsValue(v)) {
        std::vector<Var> items;
        if (!Iterate(v, &items)) return nullptr;
        out_ref = PyRef::Steal(ElementShadow(NewTuple(items)));
      } else {
        if (v->kind == VariableKind::kScalar && !Specialize(v)) return nullptr;
        out_ref = PyRef::Steal(ArgumentShadow(v));
      }
      if (!out_ref) return RaiseFromPython();
    }
    PyRef value = PyRef::Steal(PyObject_RichCompare(x.get(), y.get(), op));
    if (!value || failure_ != Failure::kNone) return value ? nullptr : RaiseFromPython();
    return FromShadow(value.get());
  }
  if (op == Py_EQ || op == Py_NE) {
    if (BaseContainer(a->type) != nullptr || BaseContainer(b->type) != nullptr) {
      if (plain_identity(a) || plain_identity(b) || user_compare(a) || user_compare(b))
        return Bool(op == Py_NE);
    }
  } else if (plain_identity(a) || plain_identity(b) || user_compare(a) || user_compare(b)) {
    return RaiseNew(PyExc_TypeError, {"'", CompareOperatorText(op), "' not supported between instances of '",
                                      a->type->tp_name, "' and '", b->type->tp_name, "'"});
  }
  return Break({"comparison of '", a->type->tp_name, "' with '", b->type->tp_name, "'"});
}

Var Trace::ToBool(Var v) {
  v = Look(v);
  if (v->kind == VariableKind::kScalar) {
    if (v->type == &PyBool_Type) return v;
    if (v->type == &PyLong_Type || v->type == &PyFloat_Type)
      return Compare(Py_NE, v, Const(v->type == &PyLong_Type ? PyLong_FromLong(0) : PyFloat_FromDouble(0)));
    if (v->type == &PyUnicode_Type) return Compare(Py_NE, v, Const(PyUnicode_FromString("")));
  }
  if (v->kind == VariableKind::kTensor) return ReadNumber(v, &PyBool_Type);
  int truth = Truth(v);
  return truth < 0 ? nullptr : Bool(truth != 0);
}

int Trace::Truth(Var v) {
  v = Look(v);
  if (v->kind == VariableKind::kConst) return PyObject_IsTrue(v->value.get());
  if (v->kind == VariableKind::kScalar) {
    if (v->type != &PyBool_Type) {
      Var b = ToBool(v);
      return b == nullptr ? -1 : Truth(b);
    }
    if (!v->value) {
      Specialize(v);  // breaks: data-dependent
      return -1;
    }
    bool truth = v->value.get() == Py_True;
    GuardTruth(v->source, truth, truth ? "true" : "false");
    return truth ? 1 : 0;
  }
  if (v->kind == VariableKind::kTensor) {
    Var b = ReadNumber(v, &PyBool_Type);
    return b == nullptr ? -1 : Truth(b);
  }
  if (v->kind == VariableKind::kNew && v->type == &PyTuple_Type) return v->items.empty() ? 0 : 1;
  if (v->kind == VariableKind::kObject || v->kind == VariableKind::kNew) {
    Var method = LookupSpecial(v, "__bool__");
    if (failure_ != Failure::kNone) return -1;
    if (method != nullptr) {
      Var r = Call(method, {});
      if (r == nullptr) return -1;
      r = Look(r);
      if (r->type != &PyBool_Type) {
        RaiseNew(PyExc_TypeError, {"__bool__ should return bool, returned ", r->type->tp_name});
        return -1;
      }
      return Truth(r);
    }
    static PyObject* len_name = PyUnicode_InternFromString("__len__");
    if (IsContainer(v) || PyType_IsSubtype(v->type, &PyTuple_Type) != 0 ||
        TypeLookup(v->type, len_name, true) != nullptr) {
      Var n = Length(v);
      return n == nullptr ? -1 : Truth(n);
    }
    return 1;
  }
  Break("the truth of an unusual value is asked");
  return -1;
}

}  // namespace thirdbook
