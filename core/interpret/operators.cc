// Operators, comparison, truth, text. See trace.h.
//
// In: variables. Out: constants where everything is known and fixed, expressions over sources where later
// calls may differ, graph nodes for tensors, shadows for containers, inlined special methods for user
// classes. Invariant: an expression is only formed when its type does not depend on values.
#include <algorithm>

#include "interpret/builtins.h"
#include "interpret/operators.h"
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
// The names of array models (ArrayAdapter::operation); in-place forms have an "i" before them.
const char* const kArrayOp[] = {"add", "and", "floordiv", "lshift", "matmul",  "mul", "mod",
                                "or",  "pow", "rshift",   "sub",    "truediv", "xor"};

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

// The type of a ** b: a power of a negative number may be complex, one with a negative exponent may be a
// float. (nullptr: depends on the values.)
bool Trace::PowerResult(Var a, Var b, PyTypeObject** type) {
  if (!IsNumber(a->type) || !IsNumber(b->type)) return true;
  const bool positive_base = a->kind == VariableKind::kConst && PyFloat_AsDouble(a->value.get()) > 0;
  PyErr_Clear();  // an int beyond all floats
  if (a->type == &PyFloat_Type ? b->type != &PyFloat_Type || positive_base
                               : b->type == &PyFloat_Type && positive_base) {
    *type = &PyFloat_Type;
    return true;
  }
  // Else the sign decides: of the exponent of two ints, of the base under a float.
  const bool ints = a->type != &PyFloat_Type && b->type == &PyLong_Type;
  Var deciding = ints ? b : a;
  if ((!ints && b->type != &PyFloat_Type) || !deciding->value) return true;
  const int natural = Truth(Compare(Py_GE, deciding, ConstSteal(PyLong_FromLong(0))));
  if (natural < 0) return false;
  if (natural == 1) *type = ints ? &PyLong_Type : &PyFloat_Type;
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
  Var result = Scalar(type, Expression(SourceKind::kBinary, {SourceOf(a), SourceOf(b)}, -1, "", code),
                      value.release());
  if (MayRaise(code, a, b)) fallible_.push_back(result);
  return result;
}

Var Trace::BinaryOp(int code, Var left, Var right) {
  if (code == 26) return GetItem(left, right);
  int base = code >= 13 ? code - 13 : code;
  Var a = Look(left), b = Look(right);
  if (a->kind == VariableKind::kTensor || b->kind == VariableKind::kTensor) {
    if (Var plain = PlainValue(a)) a = plain;
    if (Var plain = PlainValue(b)) b = plain;
  }
  if (base == 6 && a->kind == VariableKind::kConst && a->type == &PyUnicode_Type) {
    auto later = [&](Var v) {
      v = Look(v);
      return v->kind == VariableKind::kScalar || v->kind == VariableKind::kTensor;
    };
    if (later(b) || std::ranges::any_of(b->items, later)) {
      PyObject* model = PercentModel();
      Var text = model != nullptr ? CallFunction(Fixed(model), {a, b}, nullptr) : nullptr;
      if (text == nullptr || !Look(text)->IsConst(Py_None)) return text;
    }
    for (Var item : b->items) {  // CPython asks a stand-in for other things than a number or text
      item = Look(item);
      if (item->kind == VariableKind::kScalar && !Specialize(item)) return nullptr;
    }
    if (b->kind == VariableKind::kTensor) return Break("a tensor is formatted by %");
  }
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
      if (op == nullptr) return Break({"operator ", BinaryOperatorText(base), " on tensors"});
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
  Var plain_a = PlainValue(a), plain_b = PlainValue(b);
  if (plain_a != nullptr || plain_b != nullptr)
    return BinaryOp(code, plain_a != nullptr ? plain_a : a, plain_b != nullptr ? plain_b : b);
  a = CurrentView(a);
  b = a != nullptr ? CurrentView(b) : nullptr;
  if (b == nullptr) return nullptr;
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
        return Break(
            {"operator ", BinaryOperatorText(base), " makes an object of class ", side->type->tp_name},
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
  return Break(
      {"operator ", BinaryOperatorText(base), " on '", a->type->tp_name, "' and '", b->type->tp_name, "'"});
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
  return RaiseNew(PyExc_TypeError,
                  {"unsupported operand type(s) for ", BinaryOperatorText(base), (code >= 13 ? "=" : ""),
                   ": '", a->type->tp_name, "' and '", b->type->tp_name, "'"});
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
  if (a->kind == VariableKind::kObject && PyType_Check(a->value.get())) {
    PyObject* other = base == 7 ? TryConst(b) : nullptr;
    if (other == nullptr || (other != Py_None && !PyType_Check(other)) || any)
      return Break("an operator on classes");
    return ConstSteal(PyNumber_Or(a->value.get(), other));
  }
  *done = false;
  return nullptr;
}

Var Trace::UnaryOp(int code, Var v) {
  v = Look(v);
  static const char* const kMethods[] = {"__neg__", "__pos__", "__invert__"};
  static const char* const kTensorOps[] = {"neg", "positive", "bitwise_not"};
  if (code == kUnaryNot) {
    if (v->kind == VariableKind::kScalar && v->type == &PyBool_Type) {
      PyObject* value = !v->value ? nullptr : Py_NewRef(v->value.get() == Py_True ? Py_False : Py_True);
      return Scalar(&PyBool_Type, Expression(SourceKind::kUnary, {v->source}, -1, "", kUnaryNot), value);
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
    PyObject* value = v->value ? real(v->value.get()) : nullptr;
    return Scalar(v->type, Expression(SourceKind::kUnary, {v->source}, -1, "", code), value);
  }
  Var method = LookupSpecial(v, kMethods[code]);
  if (method == nullptr) {
    if (failure_ != Failure::kNone) return nullptr;
    static const char* const kText[] = {"unary -", "unary +", "unary ~"};
    return RaiseNew(PyExc_TypeError, {"bad operand type for ", kText[code], ": '", v->type->tp_name, "'"});
  }
  return Call(method, {});
}

}  // namespace thirdbook
