// Operators, comparison, truth, text. See trace.h.
//
// In: variables. Out: constants where everything is known and fixed, expressions over sources where later
// calls may differ, graph nodes for tensors, shadows for containers, inlined special methods for user
// classes. Invariant: an expression is only formed when its type does not depend on values.
#include "interpret/builtins.h"
#include "interpret/trace.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

const char* const kBinaryMethod[] = {"__add__", "__and__",     "__floordiv__", "__lshift__", "__matmul__",
                                     "__mul__", "__mod__",     "__or__",       "__pow__",    "__rshift__",
                                     "__sub__", "__truediv__", "__xor__"};
const char* const kReflectedMethod[] = {
    "__radd__", "__rand__", "__rfloordiv__", "__rlshift__", "__rmatmul__",  "__rmul__", "__rmod__",
    "__ror__",  "__rpow__", "__rrshift__",   "__rsub__",    "__rtruediv__", "__rxor__"};
const char* const kInPlaceMethod[] = {
    "__iadd__", "__iand__", "__ifloordiv__", "__ilshift__", "__imatmul__",  "__imul__", "__imod__",
    "__ior__",  "__ipow__", "__irshift__",   "__isub__",    "__itruediv__", "__ixor__"};
const char* const kTensorOp[] = {
    "add",        "bitwise_and", "floor_divide", "bitwise_left_shift",  "matmul", "mul",
    "remainder",  "bitwise_or",  "pow",          "bitwise_right_shift", "sub",    "div",
    "bitwise_xor"};
const char* const kCompareMethod[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
// The names of array models (ArrayAdapter::operation); in-place forms have an "i" before them.
const char* const kArrayOp[] = {"add", "and", "floordiv", "lshift", "matmul",  "mul", "mod",
                                "or",  "pow", "rshift",   "sub",    "truediv", "xor"};
const char* const kTensorCompare[] = {"lt", "le", "eq", "ne", "gt", "ge"};
const int kSwapped[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};

PyObject* RealBinary(int code, PyObject* a, PyObject* b) {
  switch (code) {
    case 0: return PyNumber_Add(a, b);
    case 1: return PyNumber_And(a, b);
    case 2: return PyNumber_FloorDivide(a, b);
    case 3: return PyNumber_Lshift(a, b);
    case 4: return PyNumber_MatrixMultiply(a, b);
    case 5: return PyNumber_Multiply(a, b);
    case 6: return PyNumber_Remainder(a, b);
    case 7: return PyNumber_Or(a, b);
    case 8: return PyNumber_Power(a, b, Py_None);
    case 9: return PyNumber_Rshift(a, b);
    case 10: return PyNumber_Subtract(a, b);
    case 11: return PyNumber_TrueDivide(a, b);
    case 12: return PyNumber_Xor(a, b);
    case 13: return PyNumber_InPlaceAdd(a, b);
    case 14: return PyNumber_InPlaceAnd(a, b);
    case 15: return PyNumber_InPlaceFloorDivide(a, b);
    case 16: return PyNumber_InPlaceLshift(a, b);
    case 17: return PyNumber_InPlaceMatrixMultiply(a, b);
    case 18: return PyNumber_InPlaceMultiply(a, b);
    case 19: return PyNumber_InPlaceRemainder(a, b);
    case 20: return PyNumber_InPlaceOr(a, b);
    case 21: return PyNumber_InPlacePower(a, b, Py_None);
    case 22: return PyNumber_InPlaceRshift(a, b);
    case 23: return PyNumber_InPlaceSubtract(a, b);
    case 24: return PyNumber_InPlaceTrueDivide(a, b);
    case 25: return PyNumber_InPlaceXor(a, b);
    default: return nullptr;
  }
}

bool IsValue(Var v) { return v->kind == VariableKind::kConst || v->kind == VariableKind::kScalar; }

bool IsNumber(PyTypeObject* t) { return t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type; }

// Whether the built-in operators of class `a` may take an object of class `b` by what both are built on:
// CPython asks them before the methods of `b`, unless `b` is a subclass of `a`.
bool BuiltinTakes(PyTypeObject* a, PyTypeObject* b, bool comparing) {
  auto both = [&](auto*... bases) {
    auto is = [&](PyTypeObject* type) { return (PyType_IsSubtype(type, bases) || ...); };
    return is(a) && is(b);
  };
  if (both(&PyLong_Type, &PyFloat_Type, &PyComplex_Type) || both(&PySet_Type, &PyFrozenSet_Type) ||
      both(&PyDict_Type))
    return true;
  if (!comparing) return false;  // concatenation comes after the methods of `b`
  return both(&PyTuple_Type) || both(&PyUnicode_Type) || both(&PyBytes_Type, &PyByteArray_Type) ||
         (BaseContainer(a) != nullptr && BaseContainer(a) == BaseContainer(b));
}

// The result type of a number operation, whatever the values (nullptr: depends on them).
PyTypeObject* NumberResult(int code, PyTypeObject* a, PyTypeObject* b) {
  if (!IsNumber(a) || !IsNumber(b)) return nullptr;
  bool floating = a == &PyFloat_Type || b == &PyFloat_Type;
  switch (code) {
    case 0:
    case 5:
    case 10:
    case 2:
    case 6: return floating ? &PyFloat_Type : &PyLong_Type;
    case 11: return &PyFloat_Type;
    case 8: return nullptr;
    case 1:
    case 7:
    case 12: return floating ? nullptr : a == &PyBool_Type && b == &PyBool_Type ? &PyBool_Type : &PyLong_Type;
    case 9: return floating ? nullptr : &PyLong_Type;
    default: return nullptr;
  }
}

// Whether an operation on numbers or text that worked may raise for other values: ZeroDivisionError, or
// OverflowError of an int beyond all floats.
bool MayRaise(int code, Var a, Var b) {
  const bool mixed = a->type != b->type && (a->type == &PyFloat_Type || b->type == &PyFloat_Type);
  switch (code) {
    case 1:
    case 7:
    case 12: return false;  // and, or, xor
    case 0:
    case 5:
    case 10: return mixed || (code == 5 && a->type == &PyUnicode_Type);
    case 2:
    case 6: return mixed || b->kind != VariableKind::kConst;
    default: return true;
  }
}

}  // namespace

// The type of a ** b: a power of a negative number may be complex, one with a negative exponent may be a
// float. (nullptr: depends on the values.)
bool Trace::PowerResult(Var a, Var b, PyTypeObject** type) {
  if (!IsNumber(a->type) || !IsNumber(b->type)) return true;
  const bool positive_base = a->kind == VariableKind::kConst && PyFloat_AsDouble(a->value.get()) > 0;
  PyErr_Clear();  // an int beyond all floats
  if (a->type == &PyFloat_Type ? b->type != &PyFloat_Type || positive_base
                               : b->type == &PyFloat_Type && positive_base) {
    *type = &PyFloat_Type;
  } else if (a->type != &PyFloat_Type && b->type == &PyLong_Type && b->value) {
    const int natural = Truth(Compare(Py_GE, b, ConstSteal(PyLong_FromLong(0))));
    if (natural < 0) return false;
    if (natural == 1) *type = &PyLong_Type;
  }
  return true;
}

Var Trace::ScalarBinary(int code, Var a, Var b) {
  if (a->kind == VariableKind::kConst && b->kind == VariableKind::kConst) {
    return ConstSteal(RealBinary(code, a->value.get(), b->value.get()));
  }
  PyTypeObject* type = NumberResult(code, a->type, b->type);
  if (type == nullptr && a->type == &PyUnicode_Type &&
      ((code == 0 && b->type == &PyUnicode_Type) || (code == 5 && b->type == &PyLong_Type))) {
    type = &PyUnicode_Type;
  }
  if (code == 8 && !PowerResult(a, b, &type)) return nullptr;
  if (type == nullptr) {
    PyObject* x = ConstValue(a);
    PyObject* y = x != nullptr ? ConstValue(b) : nullptr;
    return y == nullptr ? nullptr : ConstSteal(RealBinary(code, x, y));
  }
  PyRef value;
  if (a->value && b->value) {
    value = PyRef::Steal(RealBinary(code, a->value.get(), b->value.get()));
    if (!value) {
      PyErr_Clear();
      PyObject* x = ConstValue(a);
      PyObject* y = x != nullptr ? ConstValue(b) : nullptr;
      return y == nullptr ? nullptr : ConstSteal(RealBinary(code, x, y));
    }
  }
  Source s{SourceKind::kBinary, code};
  s.operands = {SourceOf(a), SourceOf(b)};
  Var result = Scalar(type, sources_.Intern(std::move(s)), value.release());
  if (MayRaise(code, a, b)) fallible_.push_back(result);
  return result;
}

Var Trace::BinaryOp(int code, Var left, Var right) {
  if (code == 26) return GetItem(left, right);
  int base = code >= 13 ? code - 13 : code;
  Var a = Look(left), b = Look(right);
  if (HasArray(a) || HasArray(b)) {
    const bool written = code >= 13 && IsForeign(a) && !a->tensor->form.scalar;
    return ArrayOperation((std::string(written ? "i" : "") + kArrayOp[base]).c_str(), {a, b});
  }
  if (a->kind == VariableKind::kTensor || b->kind == VariableKind::kTensor) {
    bool in_place = code >= 13 && a->kind == VariableKind::kTensor;
    bool user = (!IsValue(a) && a->kind != VariableKind::kTensor && a->type != nullptr) ||
                (!IsValue(b) && b->kind != VariableKind::kTensor);
    if (!user) {
      if (in_place && base == 4) in_place = false;
      PyObject* op = TensorOperation((std::string(kTensorOp[base]) + (in_place ? "_" : "")).c_str());
      if (op == nullptr) return Break(std::string("operator ") + BinaryOperatorText(base) + " on tensors");
      return TensorCall(op, {a, b}, nullptr);
    }
  }
  if (IsValue(a) && IsValue(b)) {
    if (base == 6 && (a->type == &PyUnicode_Type || a->type == &PyBytes_Type)) {
      PyObject* format = ConstValue(a);
      PyObject* argument = format != nullptr ? ConstValue(b) : nullptr;
      return argument == nullptr ? nullptr : ConstSteal(PyNumber_Remainder(format, argument));
    }
    return ScalarBinary(base, a, b);
  }
  if (base == 6 && IsValue(a) && a->type == &PyUnicode_Type) {
    if (ConstValue(a) == nullptr) return nullptr;
    PyRef argument = PyRef::Steal(ArgumentShadow(b));
    if (!argument) return RaiseFromPython();
    return ConstSteal(PyNumber_Remainder(a->value.get(), argument.get()));
  }
  bool done = false;
  Var result = DispatchBinary(code, a, b, &done);
  if (done) return result;
  PyTypeObject* ca = BaseContainer(a->type);
  PyTypeObject* cb = BaseContainer(b->type);
  bool builtin_a = ca == a->type || PyType_IsSubtype(a->type, &PyTuple_Type) != 0 || IsValue(a) ||
                   (a->kind == VariableKind::kNew && a->value);
  bool builtin_b = cb == b->type || PyType_IsSubtype(b->type, &PyTuple_Type) != 0 || IsValue(b) ||
                   (b->kind == VariableKind::kNew && b->value);
  if ((ca != nullptr && builtin_b) || (builtin_a && builtin_b)) {
    bool in_place = code >= 13 && ca != nullptr;
    for (Var side : {a, b}) {
      PyTypeObject* container = BaseContainer(side->type);
      if (container != nullptr && container != side->type && !in_place && CopiesAsSubclass(container))
        return Break(std::string("operator ") + BinaryOperatorText(base) + " makes an object of class " +
                         side->type->tp_name,
                     BreakKind::kNoModel);
    }
    // `list += iterable` on an existing list is an extend: it need not be read.
    if (in_place && base == 0 && ca == &PyList_Type) {
      static PyObject* extend = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyList_Type), "extend");
      Var r = CallMethodDescriptor(extend, {a, b}, nullptr);
      return r == nullptr ? nullptr : a;
    }
    if (in_place && ca == &PySet_Type && cb != nullptr && PyType_IsSubtype(cb, &PyDict_Type) == 0) {
      PyRef method = PyRef::Steal(
          PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PySet_Type), kInPlaceMethod[base]));
      if (method) {
        keep_alive_.push_back(method);
        Var r = CallMethodDescriptor(method.get(), {a, b}, nullptr);
        if (r == nullptr || !Look(r)->IsConst(Py_NotImplemented)) return r;
      }
      PyErr_Clear();
    }
    if (in_place && (!EnsureShadow(a) || !LosesElementsQuietly(a))) return nullptr;
    // A subclass of tuple computes as the tuple that it is.
    auto operand = [&](Var v) {
      bool subclass = v->kind == VariableKind::kNew && v->type != &PyTuple_Type && !v->value &&
                      PyType_IsSubtype(v->type, &PyTuple_Type) != 0;
      return PyRef::Steal(ArgumentShadow(subclass ? NewTuple(v->items) : v));
    };
    PyRef x, y;
    if (ca != nullptr) {
      if (!EnsureShadow(a)) return nullptr;
      x = a->shadow;
    } else {
      if (a->kind == VariableKind::kScalar && !Specialize(a)) return nullptr;
      x = operand(a);
    }
    if (!x) return RaiseFromPython();
    if (cb != nullptr) {
      if (!EnsureShadow(b)) return nullptr;
      y = b->shadow;
    } else {
      if (b->kind == VariableKind::kScalar && !Specialize(b)) return nullptr;
      y = operand(b);
    }
    if (!y) return RaiseFromPython();
    if (in_place) NoteContents(a, std::string(BinaryOperatorText(base)) + "=", Describe(b));
    PyRef value = PyRef::Steal(RealBinary(code, x.get(), y.get()));
    if (!value || failure_ != Failure::kNone) return value ? nullptr : RaiseFromPython();
    if (value.get() == x.get() && ca != nullptr) return a;
    return FromShadow(value.get());
  }
  return NoOperator(code, a, b);
}

std::nullptr_t Trace::BreakAtOperator(int base, Var a, Var b) {
  return Break(std::string("operator ") + BinaryOperatorText(base) + " on '" + a->type->tp_name + "' and '" +
               b->type->tp_name + "'");
}

// Neither side's Python code knows the operator: a TypeError, unless a built-in base may know it.
Var Trace::NoOperator(int code, Var a, Var b) {
  int base = code >= 13 ? code - 13 : code;
  for (Var v : {a, b}) {
    const char* const names[] = {kBinaryMethod[base], kReflectedMethod[base], kInPlaceMethod[base]};
    const PySequenceMethods* sequence = v->type->tp_as_sequence;
    if (IsValue(v) &&
        ((sequence != nullptr && (base == 0 || base == 5)) || BuiltinTakes(a->type, b->type, false)))
      return BreakAtOperator(base, a, b);
    for (const char* name : names) {
      if (IsValue(v)) break;
      PyRef key = PyRef::Steal(PyUnicode_InternFromString(name));
      PyObject* found = TypeLookup(v->type, key.get(), true);
      if (found != nullptr && !PyFunction_Check(found)) return BreakAtOperator(base, a, b);
    }
  }
  return RaiseNew(PyExc_TypeError, std::string("unsupported operand type(s) for ") +
                                       BinaryOperatorText(base) + (code >= 13 ? "=" : "") + ": '" +
                                       a->type->tp_name + "' and '" + b->type->tp_name + "'");
}

// Special methods of user classes, in CPython's order. *done is false when neither side has one.
Var Trace::DispatchBinary(int code, Var a, Var b, bool* done) {
  int base = code >= 13 ? code - 13 : code;
  *done = true;
  auto python_method = [&](Var v, const char* name) -> Var {
    if (IsValue(v)) return nullptr;
    PyRef key = PyRef::Steal(PyUnicode_InternFromString(name));
    PyObject* found = TypeLookup(v->type, key.get(), true);
    if (found == nullptr) return nullptr;
    if (PyFunction_Check(found) || IsOpFunction(found)) return NewMethod(Fixed(found), v);
    if (Py_TYPE(found) == &PyWrapperDescr_Type || Py_TYPE(found) == &PyMethodDescr_Type) {
      // A built-in base's method: containers and classes are handled elsewhere.
      return nullptr;
    }
    return BindDescriptor(found, v, v->type, key.get());
  };
  bool any = false;
  auto attempt = [&](Var self, const char* name, Var other, Var* out) {
    Var method = python_method(self, name);
    if (method == nullptr) return failure_ != Failure::kNone;
    any = true;
    Var result = Call(method, {other});
    if (result == nullptr || !Look(result)->IsConst(Py_NotImplemented)) {
      *out = result;
      return true;
    }
    return false;
  };
  Var out = nullptr;
  if (code >= 13 && attempt(a, kInPlaceMethod[base], b, &out)) return out;
  if (code == 20 && PyType_HasFeature(a->type, Py_TPFLAGS_DICT_SUBCLASS) != 0 && !any) {
    *done = false;  // dict |= anything is an update
    return nullptr;
  }
  bool right_first = a->type != b->type && PyType_IsSubtype(b->type, a->type) != 0;
  if (right_first) {
    PyRef key = PyRef::Steal(PyUnicode_InternFromString(kReflectedMethod[base]));
    right_first = TypeLookup(b->type, key.get(), false) != TypeLookup(a->type, key.get(), false);
  }
  if (right_first && attempt(b, kReflectedMethod[base], a, &out)) return out;
  if (attempt(a, kBinaryMethod[base], b, &out)) return out;
  if (!right_first && a->type != b->type) {
    const bool late = BuiltinTakes(a->type, b->type, false);
    if (late && (any || python_method(b, kReflectedMethod[base]) != nullptr))
      return BreakAtOperator(base, a, b);
    if (attempt(b, kReflectedMethod[base], a, &out)) return out;
  }
  if (any && BaseContainer(a->type) == nullptr) return NoOperator(code, a, b);
  // int | None, and other operators of classes
  if (a->kind == VariableKind::kObject && PyType_Check(a->value.get()))
    return Break("an operator on classes");
  *done = false;
  return nullptr;
}

Var Trace::UnaryOp(int code, Var v) {
  v = Look(v);
  static const char* const kMethods[] = {"__neg__", "__pos__", "__invert__"};
  static const char* const kTensorOps[] = {"neg", "positive", "bitwise_not"};
  if (code == kUnaryNot) {
    if (v->kind == VariableKind::kScalar && v->type == &PyBool_Type) {
      Source s{SourceKind::kUnary, kUnaryNot};
      s.operands = {v->source};
      PyObject* value = !v->value ? nullptr : Py_NewRef(v->value.get() == Py_True ? Py_False : Py_True);
      return Scalar(&PyBool_Type, sources_.Intern(std::move(s)), value);
    }
    int truth = Truth(v);
    return truth < 0 ? nullptr : Bool(truth == 0);
  }
  if (HasArray(v)) return ArrayOperation(kMethods[code], {v});
  if (v->kind == VariableKind::kTensor) {
    PyObject* op = TensorOperation(kTensorOps[code]);
    if (code == kUnaryPositive && v->tensor->meta.dtype != DType::kBool) return v;
    return op == nullptr ? Break("a unary operator on a tensor") : TensorCall(op, {v}, nullptr);
  }
  if (code == kUnaryInvert && v->type == &PyBool_Type)
    return Break("~ of a bool, of which CPython warns each time");
  auto real = [&](PyObject* o) {
    return code == kUnaryNegative   ? PyNumber_Negative(o)
           : code == kUnaryPositive ? PyNumber_Positive(o)
                                    : PyNumber_Invert(o);
  };
  if (v->kind == VariableKind::kConst) return ConstSteal(real(v->value.get()));
  if (v->kind == VariableKind::kScalar) {
    bool number = v->type == &PyLong_Type || (v->type == &PyFloat_Type && code != kUnaryInvert);
    if (!number) {
      PyObject* value = ConstValue(v);
      return value == nullptr ? nullptr : ConstSteal(real(value));
    }
    Source s{SourceKind::kUnary, code};
    s.operands = {v->source};
    PyObject* value = v->value ? real(v->value.get()) : nullptr;
    return Scalar(v->type, sources_.Intern(std::move(s)), value);
  }
  Var method = LookupSpecial(v, kMethods[code]);
  if (method == nullptr) {
    if (failure_ != Failure::kNone) return nullptr;
    static const char* const kText[] = {"unary -", "unary +", "unary ~"};
    return RaiseNew(PyExc_TypeError,
                    std::string("bad operand type for ") + kText[code] + ": '" + v->type->tp_name + "'");
  }
  return Call(method, {});
}

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
      Guard g{GuardKind::kDistinct, a->source, b->source};
      g.line = CurrentLine();
      guards_.Add(std::move(g));
    }
    return Bool(false);
  }
  if (a->kind == VariableKind::kObject && b->kind == VariableKind::kObject) {
    if (a->value.get() == b->value.get()) return Bool(true);
    if (a->type == b->type) {
      Guard g{GuardKind::kDistinct, a->source, b->source};
      g.line = CurrentLine();
      guards_.Add(std::move(g));
    }
    return Bool(false);
  }
  if (IsValue(a) && IsValue(b)) {
    auto singleton = [](Var v) {
      return v->kind == VariableKind::kConst && (v->value.get() == Py_None || v->value.get() == Py_Ellipsis ||
                                                 v->value.get() == Py_NotImplemented);
    };
    if (singleton(a) || singleton(b)) return Bool(a->value.get() == b->value.get() && a->kind == b->kind);
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
    Source s{SourceKind::kCompare, op};
    s.operands = {SourceOf(a), SourceOf(b)};
    PyObject* value =
        a->value && b->value ? PyObject_RichCompare(a->value.get(), b->value.get(), op) : nullptr;
    return Scalar(&PyBool_Type, sources_.Intern(std::move(s)), value);
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
    return Break(std::string("comparison of '") + a->type->tp_name + "' with '" + b->type->tp_name + "'");
  if (!right_first && attempt_either(b, kSwapped[op], a)) return out;
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
    return RaiseNew(PyExc_TypeError, std::string("'") + CompareOperatorText(op) +
                                         "' not supported between instances of '" + a->type->tp_name +
                                         "' and '" + b->type->tp_name + "'");
  }
  return Break(std::string("comparison of '") + a->type->tp_name + "' with '" + b->type->tp_name + "'");
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
    Guard g{GuardKind::kTruth, v->source, {}};
    g.detail = truth ? 1 : 0;
    g.line = CurrentLine();
    g.text = truth ? "true" : "false";
    guards_.Add(std::move(g));
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
        RaiseNew(PyExc_TypeError, std::string("__bool__ should return bool, returned ") + r->type->tp_name);
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

// ---- text
// -----------------------------------------------------------------------------------------------------------------

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
    return Break(std::string("str() of a '") + v->type->tp_name + "'");
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
  return Break(std::string("text of a '") + v->type->tp_name + "' object", BreakKind::kIdentity);
}

Var Trace::Format(Var v, Var spec) {
  v = Look(v);
  PyObject* spec_text = spec != nullptr ? ConstValue(spec) : nullptr;
  if (spec != nullptr && spec_text == nullptr) return nullptr;
  if (spec_text != nullptr && !PyUnicode_CheckExact(spec_text)) return Break("a format that is no text");
  bool empty = spec_text == nullptr || PyUnicode_GET_LENGTH(spec_text) == 0;
  if (v->kind == VariableKind::kConst) return ConstSteal(PyObject_Format(v->value.get(), spec_text));
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
                    std::string("unsupported format string passed to ") + v->type->tp_name + ".__format__");
  }
  return Break(std::string("format() of a '") + v->type->tp_name + "'");
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
    if (PyType_IsSubtype(items[i]->type, &PyUnicode_Type) == 0)
      return RaiseNew(PyExc_TypeError, "sequence item " + std::to_string(i) + ": expected str instance, " +
                                           items[i]->type->tp_name + " found");
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
