// Making objects: user classes, exceptions, containers, enum members. See trace.h.
//
// In: a class and arguments. Out: a New variable; it exists after the call only if it escapes. Invariant:
// `__new__` and `__init__` written in Python are traced once; replay makes the object with the base type's
// __new__ and never runs them again.
#include "interpret/attributes.h"
#include "interpret/builtins.h"
#include "interpret/trace.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

PyObject* Name(const char* text) { return PyUnicode_InternFromString(text); }

bool IsEnum(PyTypeObject* type) { return strcmp(Py_TYPE(type)->tp_name, "EnumType") == 0; }

// The built-in class that keeps this __new__.
PyTypeObject* BaseOfMaker(PyObject* maker) {
  PyObject* self = maker != nullptr && PyCFunction_Check(maker) ? PyCFunction_GET_SELF(maker) : nullptr;
  return self != nullptr && PyType_Check(self) ? reinterpret_cast<PyTypeObject*>(self) : nullptr;
}

bool HasFinalizer(Trace& t, PyTypeObject* type) {
  static PyObject* name = Name("__del__");
  return t.TypeLookup(type, name, true) != nullptr;
}

// Exceptions that keep more than their arguments.
bool HasOwnFields(PyTypeObject* type) {
  for (PyObject* base :
       {PyExc_OSError, PyExc_UnicodeError, PyExc_SyntaxError, PyExc_ImportError, PyExc_BaseExceptionGroup}) {
    if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(base)) != 0) return true;
  }
  return false;
}

// Classes whose keywords are fields that are stored and no more: name=, obj=.
bool HasNameAndObject(PyTypeObject* type) {
  return reinterpret_cast<PyObject*>(type) == PyExc_AttributeError ||
         PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_NameError)) != 0;
}

// Whether an exception class may be called with these names: by an __init__ of its own, or as some built-in
// ones may.
bool TakesKeywords(Trace& t, PyTypeObject* type, PyObject* kwnames) {
  if (kwnames == nullptr || IsImmutableType(type)) return true;
  static PyObject* init_name = Name("__init__");
  PyObject* init = t.TypeLookup(type, init_name, true);
  return init != nullptr && PyFunction_Check(init);
}

}  // namespace

// A built-in exception of constants, made by CPython itself; null without failure: it holds others.
Var Trace::ExceptionWithFields(Var type, const std::vector<Var>& args, PyObject* kwnames) {
  std::vector<PyObject*> values;
  for (Var a : args) {
    if (!IsValue(Look(a)) && TryConst(a) == nullptr) return nullptr;
    values.push_back(ConstValue(a));
    if (values.back() == nullptr) return nullptr;
  }
  return ConstSteal(
      PyObject_Vectorcall(type->value.get(), values.data(), PositionalCount(args, kwnames), kwnames));
}

Var Trace::MakeException(PyObject* type, std::vector<Var> args) {
  Var v = New(reinterpret_cast<PyTypeObject*>(type));
  v->items = std::move(args);
  return v;
}

Var Trace::Construct(Var type_var, const std::vector<Var>& args, PyObject* kwnames, bool skip_metaclass) {
  type_var = Look(type_var);
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(type_var->value.get());
  PyTypeObject* meta = Py_TYPE(type);
  static PyObject* call_name = Name("__call__");
  static PyObject* new_name = Name("__new__");
  static PyObject* init_name = Name("__init__");
  static PyObject* object_new =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__new__");
  static PyObject* object_init =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__init__");
  if (IsEnum(type) && args.size() == 1 && kwnames == nullptr) {
    // Looking a member up by value: the table of the class, by a constant.
    static PyObject* missing_name = Name("_missing_");
    PyRef owner = PyRef::Borrow(OwnerOf(type, missing_name));
    PyRef module = owner ? PyRef::Steal(PyObject_GetAttrString(owner.get(), "__module__")) : PyRef();
    PyObject* value = ConstValue(args[0]);
    if (value == nullptr) return nullptr;
    if (module && PyUnicode_Check(module.get()) && strcmp(PyUnicode_AsUTF8(module.get()), "enum") == 0) {
      PyRef member = PyRef::Steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(type), value));
      if (!member) return RaiseFromPython();
      return Fixed(member.get());
    }
    return Break("an enum with its own _missing_ is looked up");
  }
  PyObject* meta_call = TypeLookup(meta, call_name, true);
  if (!skip_metaclass && meta_call != nullptr && !PyFunction_Check(meta_call) &&
      Py_TYPE(meta_call) != &PyWrapperDescr_Type) {
    return Break({"class ", type->tp_name, " is called through an unusual metaclass"});
  }
  if (!skip_metaclass && meta_call != nullptr && PyFunction_Check(meta_call)) {
    std::vector<Var> all = {type_var};
    all.insert(all.end(), args.begin(), args.end());
    return CallFunction(Fixed(meta_call), all, kwnames);
  }
  PyObject* maker = TypeLookup(type, new_name, true);
  if (maker != nullptr && Py_TYPE(maker) == &PyStaticMethod_Type) {
    PyRef inner = PyRef::Steal(PyObject_GetAttrString(maker, "__func__"));
    maker = inner.get();
    keep_alive_.push_back(inner);
  }
  Var made = nullptr;
  PyTypeObject* exception_base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  PyTypeObject* container = BaseContainer(type);
  if (maker != nullptr && PyFunction_Check(maker)) {
    std::vector<Var> all = {type_var};
    all.insert(all.end(), args.begin(), args.end());
    made = Call(Fixed(maker), all, kwnames);
    if (made == nullptr) return nullptr;
    if (PyType_IsSubtype(TypeOf(made), type) == 0) return made;
  } else if (maker == object_new) {
    PyObject* init = TypeLookup(type, init_name, true);
    made = NewInstance(type, init == object_init ? args.size() : 0);
  } else if (PyType_HasFeature(type, Py_TPFLAGS_IS_ABSTRACT)) {
    return Break({"abstract class ", type->tp_name, " is instantiated"}, BreakKind::kPythonRaises);
  } else if (PyType_IsSubtype(type, exception_base) != 0 && TakesKeywords(*this, type, kwnames)) {
    if (kwnames != nullptr && IsImmutableType(type) && HasNameAndObject(type)) {
      const std::vector<PyObject*> nones(args.size(), Py_None);
      const size_t positional = PositionalCount(args, kwnames);
      PyRef accepted =
          PyRef::Steal(PyObject_Vectorcall(type_var->value.get(), nones.data(), positional, kwnames));
      if (!accepted) return RaiseFromPython();
      made =
          MakeException(type_var->value.get(), {args.begin(), args.begin() + static_cast<long>(positional)});
      for (size_t i = positional; i < args.size(); i++)
        NoteAttribute(made, PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i - positional)), args[i]);
      return made;
    }
    if (HasOwnFields(type) || (kwnames != nullptr && IsImmutableType(type))) {
      if (IsImmutableType(type)) made = ExceptionWithFields(type_var, args, kwnames);
      if (made != nullptr || failure_ != Failure::kNone) return made;
      return Break({"an exception of class ", type->tp_name, " is made"}, BreakKind::kKeptByPython);
    }
    if (HasFinalizer(*this, type))
      return Break({"an object with __del__ (", type->tp_name, ") is made"}, BreakKind::kFinalizer);
    made = MakeException(reinterpret_cast<PyObject*>(type),
                         {args.begin(), args.begin() + static_cast<long>(PositionalCount(args, kwnames))});
  } else if (container != nullptr && type != container) {
    if (HasFinalizer(*this, type))
      return Break({"an object with __del__ (", type->tp_name, ") is made"}, BreakKind::kFinalizer);
    PyRef shadow = PyRef::Steal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(container)));
    if (!shadow) return RaiseFromPython();
    made = New(type);
    made->shadow = shadow;
    if (container == &PyFrozenSet_Type || container == &PyTuple_Type)
      return Break({"an instance of ", type->tp_name, " is made"});
  } else if (type == &PyMethod_Type && args.size() == 2 && kwnames == nullptr) {
    return NewMethod(args[0], args[1]);
  } else if (type == &PyCell_Type && args.size() <= 1 && kwnames == nullptr) {
    Var v = New(&PyCell_Type);
    v->items = {args.empty() ? nullptr : args[0]};
    return v;
  } else if (IsLibraryValueType(type)) {
    return CallPure(type_var->value.get(), args, kwnames, false);
  } else if (PyTypeObject* base = BaseOfMaker(maker); base != nullptr && base != type) {
    std::vector<Var> all = {type_var};
    all.insert(all.end(), args.begin(), args.end());
    bool handled = false;
    made = CallStaticNew(maker, all, kwnames, &handled);
  } else {
    Var callable = MakeCallable(type_var, args, kwnames);
    if (callable != nullptr || failure_ != Failure::kNone) return callable;
    return Break({"an object of type ", type->tp_name, " is made"});
  }
  if (made == nullptr) return nullptr;
  type = TypeOf(made);  // a subclass, where __new__ made one
  PyObject* init = TypeLookup(type, init_name, true);
  if (init == object_init || init == nullptr) return made;
  Var method = BindDescriptor(init, made, type, init_name);
  if (method == nullptr) return nullptr;
  Var result = Call(method, args, kwnames);
  if (result == nullptr) return nullptr;
  if (!Look(result)->IsConst(Py_None)) {
    return RaiseNew(PyExc_TypeError, {"__init__() should return None, not '", TypeOf(result)->tp_name, "'"});
  }
  return made;
}

// object.__new__(cls).
Var Trace::NewInstance(PyTypeObject* type, size_t refused) {
  if (PyType_HasFeature(type, Py_TPFLAGS_IS_ABSTRACT) || refused > 0) {
    // CPython refuses before it makes anything, and words it.
    PyRef args = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(refused)));
    for (size_t i = 0; i < refused; i++)
      PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), Py_NewRef(Py_None));
    PyRef made = PyRef::Steal(PyBaseObject_Type.tp_new(type, args.get(), nullptr));
    if (!made) return RaiseFromPython();
    return Break({"an instance of ", type->tp_name, " is made in an unusual way"}, BreakKind::kPythonRaises);
  }
  if (HasFinalizer(*this, type)) {
    return Break({"an object with __del__ (", type->tp_name, ") is made"}, BreakKind::kFinalizer);
  }
  // C bases other than object have state of their own.
  PyTypeObject* base = type;
  while (PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) && base->tp_base != nullptr &&
         !PyType_HasFeature(base, Py_TPFLAGS_IMMUTABLETYPE))
    base = base->tp_base;
  if (base != &PyBaseObject_Type)
    return Break(
        {"an instance of ", type->tp_name, " is made: its base ", base->tp_name, " is a built-in type"});
  return New(type);
}

Var Trace::CallStaticNew(PyObject* function, const std::vector<Var>& args, PyObject* kwnames, bool* handled) {
  // `X.__new__` of a built-in type X, called with the class first.
  *handled = false;
  if (!PyCFunction_Check(function) ||
      strcmp(reinterpret_cast<PyCFunctionObject*>(function)->m_ml->ml_name, "__new__") != 0)
    return nullptr;
  PyObject* self = PyCFunction_GET_SELF(function);
  if (self == nullptr || !PyType_Check(self) || args.empty()) return nullptr;
  *handled = true;
  PyTypeObject* base = reinterpret_cast<PyTypeObject*>(self);
  Var cls = Look(args[0]);
  if (cls->kind != VariableKind::kObject || !PyType_Check(cls->value.get()))
    return Break("__new__ of something that is not a class", BreakKind::kPythonRaises);
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls->value.get());
  if (PyType_IsSubtype(type, base) == 0)
    return Break("__new__ of a class that is no subclass", BreakKind::kPythonRaises);
  if (base == &PyBaseObject_Type) {
    static PyObject* object_init =
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__init__");
    static PyObject* new_name = Name("__new__");
    static PyObject* init_name = Name("__init__");
    if (args.size() > 1 || kwnames != nullptr) {
      PyObject* maker = TypeLookup(type, new_name, true);
      PyObject* init = TypeLookup(type, init_name, true);
      if (!PyCFunction_Check(maker) || init == object_init)
        return Break("object.__new__() with arguments", BreakKind::kPythonRaises);
    }
    return NewInstance(type);
  }
  if (base == &PyTuple_Type && kwnames == nullptr && args.size() <= 2) {
    std::vector<Var> items;
    if (args.size() == 2 && !Iterate(args[1], &items)) return nullptr;
    Var v = NewTuple(std::move(items));
    v->type = type;
    return v;
  }
  if (type != base) {
    if (HasFinalizer(*this, type))
      return Break({"an object with __del__ (", type->tp_name, ") is made"}, BreakKind::kFinalizer);
    Var value = NewValue(cls, base, std::vector<Var>(args.begin() + 1, args.end()), kwnames);
    if (value != nullptr || failure_ != Failure::kNone) return value;
  }
  PyTypeObject* container = BaseContainer(type);
  if (container != nullptr && container == base && container != &PyFrozenSet_Type) {
    if (HasFinalizer(*this, type))
      return Break({"an object with __del__ (", type->tp_name, ") is made"}, BreakKind::kFinalizer);
    PyRef shadow = PyRef::Steal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(container)));
    if (!shadow) return RaiseFromPython();
    if (type == container) return NewContainer(type, shadow.release());
    Var v = New(type);
    v->shadow = shadow;
    return v;
  }
  if (base == reinterpret_cast<PyTypeObject*>(PyExc_BaseException) ||
      base == reinterpret_cast<PyTypeObject*>(PyExc_Exception)) {
    return MakeException(reinterpret_cast<PyObject*>(type), std::vector<Var>(args.begin() + 1, args.end()));
  }
  return Break({base->tp_name, ".__new__(", type->tp_name, ")"});
}

Var Trace::ExceptionText(Var e, bool repr) {
  if (e->kind == VariableKind::kObject) {  // known by its arguments, unless its class keeps more
    Var args = HasOwnFields(e->type) ? nullptr : GetAttr(e, TB_NAME("args"));
    if (failure_ != Failure::kNone) return nullptr;
    std::vector<Var> items;
    if (args == nullptr)
      return Break("text of an exception object that was there before the call", BreakKind::kKeptByPython);
    if (!Iterate(args, &items)) return nullptr;
    e = MakeException(reinterpret_cast<PyObject*>(e->type), std::move(items));
  }
  if (e->value && repr) return ConstSteal(PyObject_Repr(e->value.get()));
  if (e->value && !repr) return ConstSteal(PyObject_Str(e->value.get()));
  if (repr) {
    Var args = NewTuple(e->items);
    Var text = Repr(args);
    if (text == nullptr) return nullptr;
    PyRef name = PyRef::Steal(PyType_GetName(e->type));
    PyObject* value = ConstValue(text);
    if (value == nullptr) return nullptr;
    if (e->items.size() == 1) {
      Var one = Repr(e->items[0]);
      value = one != nullptr ? ConstValue(one) : nullptr;
      return value != nullptr ? ConstSteal(PyUnicode_FromFormat("%U(%U)", name.get(), value)) : nullptr;
    }
    return ConstSteal(PyUnicode_FromFormat("%U%U", name.get(), value));
  }
  if (e->items.empty()) return Const(PyUnicode_FromString(""));
  if (e->items.size() == 1) {
    if (PyType_IsSubtype(e->type, reinterpret_cast<PyTypeObject*>(PyExc_KeyError)) != 0)
      return Repr(e->items[0]);
    return Str(e->items[0]);
  }
  return Repr(NewTuple(e->items));
}

}  // namespace thirdbook
