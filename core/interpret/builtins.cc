// Calls of built-in functions and types that the tracer knows. See builtins.h.
//
// In: the callable object and its arguments. Out: a variable; *handled says whether this file knows the
// callable. Invariant: only callables of builtin_table.cc ever run during tracing, and those change nothing
// outside of shadows.
#include "interpret/builtins.h"

#include "python/tensor_object.h"

namespace thirdbook {

// Whether variables stand in a tuple or frozenset, at any depth.
static bool HoldsProxy(PyObject* o) {
  Nesting nesting;
  if (IsProxy(o) || Nesting::Deep()) return true;
  PyRef items = PyTuple_Check(o) || PyFrozenSet_Check(o) ? PyRef::Steal(PySequence_Tuple(o)) : PyRef();
  for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items.get()); i++) {
    if (HoldsProxy(PyTuple_GET_ITEM(items.get(), i))) return true;
  }
  return false;
}

// Whether it is a new tuple of numbers and texts, at any depth.
static bool HoldsValues(Var v) {
  if (v->kind != VariableKind::kNew || v->type != &PyTuple_Type) return false;
  for (Var item : v->items) {
    item = current_trace->Look(item);
    if (!IsValue(item) && !HoldsValues(item)) return false;
  }
  return true;
}

Var Trace::CallBuiltin(Var callable, PyObject* o, std::vector<Var> args, PyObject* kwnames, bool* handled) {
  *handled = true;
  size_t n = PositionalCount(args, kwnames);
  Known known = KnownOf(o);
  bool plain = kwnames == nullptr;
  switch (known) {
    case Known::kIsInstance:
      if (plain && n == 2) return IsInstance(args[0], args[1]);
      break;
    case Known::kIsSubclass:
      if (plain && n == 2) return IsSubclass(args[0], args[1]);
      break;
    case Known::kLen:
      if (plain && n == 1) return Length(args[0]);
      break;
    case Known::kGetAttr: {
      if (!plain || n < 2 || n > 3) break;
      PyObject* name = ConstValue(args[1]);
      if (name == nullptr) return nullptr;
      if (!PyUnicode_Check(name)) break;
      PyObject* interned = Py_NewRef(name);
      PyUnicode_InternInPlace(&interned);
      keep_alive_.push_back(PyRef::Steal(interned));
      Var v = GetAttr(args[0], interned);
      if (v == nullptr && n == 3 && RaisedMatches(PyExc_AttributeError)) {
        ClearFailure();
        return args[2];
      }
      return v;
    }
    case Known::kHasAttr: {
      if (!plain || n != 2) break;
      PyObject* name = ConstValue(args[1]);
      if (name == nullptr) return nullptr;
      if (!PyUnicode_Check(name)) break;
      PyObject* interned = Py_NewRef(name);
      PyUnicode_InternInPlace(&interned);
      keep_alive_.push_back(PyRef::Steal(interned));
      Var v = GetAttr(args[0], interned);
      if (v == nullptr && RaisedMatches(PyExc_AttributeError)) {
        ClearFailure();
        return Bool(false);
      }
      return v == nullptr ? nullptr : Bool(true);
    }
    case Known::kSetAttr:
    case Known::kDelAttr: {
      if (!plain || n != (known == Known::kSetAttr ? 3U : 2U)) break;
      PyObject* name = ConstValue(args[1]);
      if (name == nullptr) return nullptr;
      if (!PyUnicode_Check(name)) break;
      PyObject* interned = Py_NewRef(name);
      PyUnicode_InternInPlace(&interned);
      keep_alive_.push_back(PyRef::Steal(interned));
      return SetAttr(args[0], interned, known == Known::kSetAttr ? args[2] : nullptr) ? None() : nullptr;
    }
    case Known::kIter:
      if (plain && n == 1) return GetIter(args[0]);
      if (plain && n == 2) return CallReal(o, args, nullptr);
      break;
    case Known::kNext: {
      if (!plain || n < 1 || n > 2) break;
      Var it_var = Look(args[0]);
      Var v = Next(it_var);
      if (v != nullptr || failure_ != Failure::kNone) {
        if (v == nullptr && n == 2 && RaisedMatches(PyExc_StopIteration)) {
          ClearFailure();
          return args[1];
        }
        return v;
      }
      if (n == 2) return args[1];
      std::vector<Var> stop_args;
      if (it_var->generator != nullptr && generator_result_ != nullptr &&
          !Look(generator_result_)->IsConst(Py_None))
        stop_args.push_back(generator_result_);
      return Raise(MakeException(PyExc_StopIteration, stop_args));
    }
    case Known::kRepr:
      if (plain && n == 1) return Repr(args[0]);
      break;
    case Known::kFormat:
      if (plain && (n == 1 || n == 2)) return Format(args[0], n == 2 ? args[1] : nullptr);
      break;
    case Known::kWarn: {
      Var warned = WarnCall(args, kwnames);
      if (warned != nullptr || failure_ != Failure::kNone) return warned;
      break;
    }
    case Known::kPrint: {
      // Where it prints to must be what it will be at replay.
      PyRef sys = PyRef::Steal(PyImport_ImportModule("sys"));
      auto sys_dict = sys ? known_.find(PyModule_GetDict(sys.get())) : known_.end();
      if (sys_dict != known_.end() && (sys_dict->second->shadow || !sys_dict->second->delta.empty())) {
        return Break("print() after sys was changed in this call", BreakKind::kStreams);
      }
      // A stream of the user's may raise, and the replay is outside of the traced code's try.
      PyObject* stream = PySys_GetObject("stdout");
      if (stream != nullptr && PyType_HasFeature(Py_TYPE(stream), Py_TPFLAGS_HEAPTYPE) &&
          !PyType_HasFeature(Py_TYPE(stream), Py_TPFLAGS_IMMUTABLETYPE) && HandlesExceptions())
        return Break("print() to a stream of the program's own inside of a try or with", BreakKind::kStreams);
      std::vector<Var> texts;
      for (size_t i = 0; i < n; i++) {
        Var a = Look(args[i]);
        Var text = a->kind == VariableKind::kConst && PyUnicode_CheckExact(a->value.get()) ? a : Str(a);
        if (text == nullptr) return nullptr;
        texts.push_back(text);
      }
      std::vector<std::pair<PyRef, Var>> kwargs;
      for (size_t i = n; i < args.size(); i++) {
        PyObject* key = PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i - n));
        const char* option = PyUnicode_AsUTF8(key);
        Var value = Look(args[i]);
        if (strcmp(option, "file") == 0 && !value->IsConst(Py_None) && !IsTextStream(value)) {
          return Break("print() to a file object", BreakKind::kStreams);
        }
        bool text = strcmp(option, "sep") == 0 || strcmp(option, "end") == 0;
        if (text ? !value->IsConst(Py_None) && value->type != &PyUnicode_Type
                 : strcmp(option, "file") != 0 &&
                       (strcmp(option, "flush") != 0 || value->type != &PyBool_Type))
          return Break("print() with an option that it may refuse", BreakKind::kPythonRaises);
        kwargs.emplace_back(PyRef::Borrow(key), value);
      }
      AddEffect(callable, std::move(texts), std::move(kwargs), "print");
      return None();
    }
    case Known::kCallable: {
      if (!plain || n != 1) break;
      Var v = Look(args[0]);
      static PyObject* call_name = PyUnicode_InternFromString("__call__");
      if (v->type == &PyFunction_Type || v->type == &PyMethod_Type) return Bool(true);
      return Bool(TypeLookup(v->type, call_name, true) != nullptr);
    }
    case Known::kHash: {
      if (!plain || n != 1) break;
      Var v = Look(args[0]);
      if (v->kind == VariableKind::kConst || v->kind == VariableKind::kScalar)
        return CallPure(o, args, nullptr, true);
      static PyObject* hash_name = PyUnicode_InternFromString("__hash__");
      PyObject* hash_method = TypeLookup(v->type, hash_name, true);
      if (hash_method != nullptr && PyFunction_Check(hash_method)) {
        Var number = Call(NewMethod(Fixed(hash_method), v), {});
        PyObject* value = number != nullptr ? ConstValue(number) : nullptr;
        if (value == nullptr) return nullptr;
        if (!PyLong_Check(value))
          return RaiseNew(PyExc_TypeError, "__hash__ method should return an integer");
        Py_ssize_t hash = PyLong_AsSsize_t(value);  // taken as it is where it fits, but for -1
        if (hash == -1) {
          hash = PyErr_Occurred() != nullptr ? PyObject_Hash(value) : -2;
          PyErr_Clear();
        }
        return ConstSteal(PyLong_FromSsize_t(hash));
      }
      if (v->kind == VariableKind::kNew && v->type->tp_hash == PyBaseObject_Type.tp_hash)
        return Break("hash() of a new object", BreakKind::kIdentity);
      if (v->kind == VariableKind::kObject && v->type->tp_hash == PyBaseObject_Type.tp_hash) {
        return Scalar(&PyLong_Type, Expression(SourceKind::kCall, {v->source}, ObjectOf(o), "hash"),
                      PyLong_FromSsize_t(PyObject_Hash(v->value.get())));
      }
      if (Var plain = PlainValue(v)) return CallPure(o, {plain}, nullptr, true);
      if (HoldsValues(v) && ConstValue(v) == nullptr) return nullptr;
      PyRef shadow = PyRef::Steal(HoldsValues(v) ? Py_NewRef(ConstValue(v)) : ArgumentShadow(v));
      if (!shadow) return RaiseFromPython();
      if (HoldsProxy(shadow.get()))
        return Break("hash() of something that holds objects", BreakKind::kIdentity);
      Py_hash_t hash = PyObject_Hash(shadow.get());
      if (hash == -1 && PyErr_Occurred() != nullptr) return RaiseFromPython();
      return ConstSteal(PyLong_FromSsize_t(hash));
    }
    case Known::kVars: {
      if (!plain || n != 1) break;
      static PyObject* dict_name = PyUnicode_InternFromString("__dict__");
      return GetAttr(args[0], dict_name);
    }
    case Known::kGlobals:
      if (plain && n == 0) return current_frame()->globals;
      break;
    case Known::kGraphBreak: return Break("graph_break() is called", BreakKind::kAskedFor);
    case Known::kIsCompiling: return Bool(true);
    case Known::kIsGradEnabled: uses_global_state_ = true; return Bool(grad_);
    case Known::kGetDefaultDType: uses_global_state_ = true; return Fixed(DTypeObject(DefaultDType()));
    case Known::kSetGradEnabled: {
      if (!plain || n != 1) break;
      PyObject* flag = ConstValue(args[0]);
      if (flag == nullptr) return nullptr;
      uses_global_state_ = true;
      grad_ = flag == Py_True;
      AddEffect(callable, {Const(flag)}, {}, "set_grad_enabled");
      return None();
    }
    case Known::kTensor: {
      // A tensor of constants: a constant of the graph.
      if (n != 1) break;
      if (Look(args[0])->kind == VariableKind::kTensor) break;
      Var varying = TensorOfFreeNumbers(args, kwnames);
      if (varying != nullptr || failure_ != Failure::kNone) return varying;
      std::vector<PyRef> shadows;
      std::vector<PyObject*> values;
      for (Var a : args) {
        Var v = Look(a);
        if (v->kind == VariableKind::kScalar && !Specialize(v)) return nullptr;
        PyObject* shadow = ArgumentShadow(v);
        if (shadow == nullptr) return RaiseFromPython();
        shadows.push_back(PyRef::Steal(shadow));
        values.push_back(shadow);
      }
      PyRef made = PyRef::Steal(PyObject_Vectorcall(o, values.data(), n, kwnames));
      if (failure_ != Failure::kNone) {
        PyErr_Clear();
        return nullptr;
      }
      if (!made) return BreakOnError("the data do not make a tensor");
      if (!IsTensor(made.get()) || reinterpret_cast<TensorObject*>(made.get())->requires_grad) {
        return Break("a tensor that requires gradients is made", BreakKind::kGradients);
      }
      if (AsTensor(made.get()).meta().device != Device::kCpu)
        return Break("a tensor is made on another device than the CPU", BreakKind::kOtherDevice);
      return NewTensor(graph_.AddConstant(AsTensor(made.get()), false));
    }
    case Known::kException: {
      if (!plain || n != 0) break;
      for (auto it = frame_stack_.rbegin(); it != frame_stack_.rend(); ++it) {
        if (!(*it)->handled.empty()) return (*it)->handled.back();
      }
      PyRef outside = PyRef::Steal(PyErr_GetHandledException());
      if (outside) return Break("the exception that is handled outside of the call is asked for");
      AddGuard(GuardKind::kIdentity, Expression(SourceKind::kCall, {}, ObjectOf(o), "exception"), Py_None,
               "None");
      return None();
    }
    case Known::kType: {
      if (!plain || n != 1)
        return Break("a class is made with type(name, bases, dict)", BreakKind::kClassChanged);
      Var v = Look(args[0]);
      return Fixed(reinterpret_cast<PyObject*>(v->type));
    }
    case Known::kStr:
      if (plain && n == 0) return Const(PyUnicode_FromString(""));
      if (plain && n == 1) return Str(args[0]);
      return CallPure(o, args, kwnames, false);
    case Known::kBool:
      if (plain && n == 0) return Bool(false);
      if (plain && n == 1) return ToBool(args[0]);
      break;
    case Known::kInt:
    case Known::kFloat:
    case Known::kAbs:
    case Known::kBytes: {
      if (plain && n == 1) {
        Var v = Look(args[0]);
        if (v->kind == VariableKind::kTensor) {
          if (known == Known::kInt) return ReadNumber(v, &PyLong_Type);
          if (known == Known::kFloat) return ReadNumber(v, &PyFloat_Type);
          if (known == Known::kAbs) return CallMethod(v, "__abs__", {});
        }
        if (known == Known::kAbs && !IsValue(v)) return CallMethod(v, "__abs__", {});
        if (known == Known::kBytes && !IsValue(v)) return CallReal(o, args, nullptr);
        if (!IsValue(v)) return CallReal(o, {v}, nullptr);
        if (v->kind == VariableKind::kScalar && !v->value) {
          PyTypeObject* want = known == Known::kInt ? &PyLong_Type : &PyFloat_Type;
          if (known != Known::kAbs && v->type == want) return v;
          if (known == Known::kFloat && (v->type == &PyLong_Type || v->type == &PyBool_Type)) {
            Var number = Scalar(&PyFloat_Type,
                                Expression(SourceKind::kCall, {v->source}, ObjectOf(o), "float"), nullptr);
            fallible_.push_back(number);
            return number;
          }
        }
      }
      return CallPure(o, args, kwnames, true);
    }
    case Known::kRange: {
      for (Var& a : args) {
        a = IndexOf(a);
        if (a == nullptr || ConstValue(a) == nullptr) return nullptr;
      }
      return CallPure(o, args, kwnames, false);
    }
    case Known::kSlice: {
      if (!plain || n < 1 || n > 3) break;
      Var v = New(&PySlice_Type);
      v->items = {n == 1 ? None() : args[0], n == 1 ? args[0] : args[1], n == 3 ? args[2] : None()};
      return v;
    }
    case Known::kSuper: {
      if (!plain || n != 2)
        return Break("super() without arguments is called in an unusual place", BreakKind::kPythonRaises);
      Var cls = Look(args[0]), object = Look(args[1]);
      bool fits = cls->kind == VariableKind::kObject && PyType_Check(cls->value.get());
      if (fits) {
        PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls->value.get());
        bool is_class = object->kind == VariableKind::kObject && PyType_Check(object->value.get());
        fits =
            PyType_IsSubtype(object->type, type) != 0 ||
            (is_class && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(object->value.get()), type) != 0);
      }
      if (!fits)
        return Break("super() is called on something that is no instance of the class",
                     BreakKind::kPythonRaises);
      Var v = New(&PySuper_Type);
      v->items = {args[0], args[1]};
      return v;
    }
    case Known::kObject:
      if (args.empty()) return New(&PyBaseObject_Type);
      break;
    case Known::kId: {
      if (!plain || n != 1) break;
      Var v = Look(args[0]);
      if ((v->kind != VariableKind::kObject && v->kind != VariableKind::kTensor) || !v->value ||
          !v->source.defined())
        return Break("id() is called", BreakKind::kIdentity);
      return Scalar(&PyLong_Type, Expression(SourceKind::kCall, {v->source}, ObjectOf(o), "id"),
                    PyLong_FromVoidPtr(v->value.get()));
    }
    default: break;
  }
  switch (ClassOf(o)) {
    case BuiltinClass::kPure: {
      bool constants = true;
      for (Var& a : args) {
        Var v = Look(a);
        if (Var plain = PyType_Check(o) ? nullptr : PlainValue(v, true)) a = v = plain;
        if (!IsValue(v) && TryConst(v) == nullptr) constants = false;
      }
      if (constants) return CallPure(o, args, kwnames, true);
      if (PyFunction_Check(o)) break;  // traced as it is
      for (Var a : args) {
        if (Look(a)->kind == VariableKind::kTensor) {
          return Break({"a tensor is given to the built-in function ", Describe(callable), "()"},
                       BreakKind::kValuesNeeded);
        }
      }
      for (Var a : args) {
        Var v = Look(a);
        if (!IsValue(v) && TryConst(v) == nullptr && !IsContainer(v) &&
            PyType_IsSubtype(v->type, &PyTuple_Type) == 0 && !(v->kind == VariableKind::kNew && v->value)) {
          return Break(
              {"the built-in function ", Describe(callable), "() is called on a '", v->type->tp_name, "'"});
        }
      }
      return CallReal(o, args, kwnames);
    }
    case BuiltinClass::kProtocol: {
      if (PyCFunction_Check(o) && !args.empty()) {
        // These ask for special methods of their own.
        const char* name = reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name;
        Var first = Look(args[0]);
        if (strcmp(name, "round") == 0 || strcmp(name, "divmod") == 0 || strcmp(name, "pow") == 0 ||
            strcmp(name, "index") == 0) {
          if (Var plain = PlainValue(first)) args[0] = first = plain;
          if (!IsValue(first))
            return Break({"the built-in function ", name, "() is called on a '", first->type->tp_name, "'"});
          if (args.size() == 3) return CallPure(o, args, kwnames, false);  // pow with a modulus
        }
      }
      Var v = CallReal(o, args, kwnames);
      bool made = v != nullptr && v->kind == VariableKind::kNew && v->value;
      if (made && (PyIter_Check(v->value.get()) || PyCallable_Check(v->value.get())) &&
          v->construct_callable == nullptr) {
        v->construct_callable = callable;
        v->construct_args.assign(args.begin(), args.begin() + static_cast<long>(n));
        for (size_t i = n; i < args.size(); i++) {
          v->construct_kwargs.emplace_back(
              PyRef::Borrow(PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i - n))), args[i]);
        }
        v->edits_seen = EditsBelow(v);
      }
      return v;
    }
    case BuiltinClass::kMutatesFirst: {
      if (args.empty()) break;
      Var target = Look(args[0]);
      if (IsContainer(target)) {
        if (PyType_IsSubtype(target->type, &PySet_Type) != 0 && target->kind == VariableKind::kObject)
          return Break({Describe(callable), "() changes a set that was there before"});
        if (!EnsureShadow(target) || !LosesElementsQuietly(target)) return nullptr;
        NoteContents(target,
                     PyCFunction_Check(o) ? reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name : "call",
                     "");
      }
      return CallReal(o, args, kwnames);
    }
    default: break;
  }
  *handled = false;
  return nullptr;
}

Var Trace::IsInstance(Var object, Var classes) {
  Nesting nesting;
  if (Nesting::Deep()) return Break("isinstance() with classes that are nested too deep", BreakKind::kLimit);
  object = Look(object);
  classes = Look(classes);
  if (classes->kind == VariableKind::kNew && classes->type == &PyTuple_Type) {
    for (Var c : classes->items) {
      Var one = IsInstance(object, c);
      if (one == nullptr || one->IsConst(Py_True)) return one;
    }
    return Bool(false);
  }
  if (classes->kind == VariableKind::kObject && PyTuple_CheckExact(classes->value.get())) {
    std::vector<Var> items;
    if (!Iterate(classes, &items)) return nullptr;
    return IsInstance(object, NewTuple(items));
  }
  PyTypeObject* type = object->type;
  if (classes->kind == VariableKind::kConst || classes->kind == VariableKind::kScalar)
    return RaiseNew(PyExc_TypeError, "isinstance() arg 2 must be a type, a tuple of types, or a union");
  if (classes->kind != VariableKind::kObject)
    return Break({"isinstance() with classes of an unusual kind: ", Describe(classes)});
  PyObject* cls = classes->value.get();
  if (PyType_Check(cls)) {
    if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(cls)) != 0) return Bool(true);
    static PyObject* class_name = PyUnicode_InternFromString("__class__");
    PyObject* claimed = object->kind == VariableKind::kTensor ? nullptr : TypeLookup(type, class_name, true);
    if (claimed != nullptr && Py_TYPE(claimed) != &PyGetSetDescr_Type)
      return Break("isinstance() of an object that names its own __class__");
    if (Py_TYPE(cls) == &PyType_Type) return Bool(false);
    static PyObject* check = PyUnicode_InternFromString("__instancecheck__");
    PyObject* hook = TypeLookup(Py_TYPE(cls), check, true);
    if (hook != nullptr && PyFunction_Check(hook)) {
      // ABCs of the standard library answer by type, without user code; others are traced.
      if (strcmp(Py_TYPE(cls)->tp_name, "ABCMeta") != 0 &&
          strcmp(Py_TYPE(cls)->tp_name, "_ProtocolMeta") != 0) {
        return Call(Fixed(hook), {classes, object});
      }
      return IsSubclass(Fixed(reinterpret_cast<PyObject*>(type)), classes);
    }
    return Bool(false);
  }
  if (strcmp(Py_TYPE(cls)->tp_name, "typing.Union") == 0 ||
      strcmp(Py_TYPE(cls)->tp_name, "types.UnionType") == 0) {
    PyRef arguments = PyRef::Steal(PyObject_GetAttrString(cls, "__args__"));
    if (!arguments) return RaiseFromPython();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments.get()); i++) {
      Var one = IsInstance(object, Fixed(PyTuple_GET_ITEM(arguments.get(), i)));
      if (one == nullptr || one->IsConst(Py_True)) return one;
    }
    return Bool(false);
  }
  return Break({"isinstance() with classes of an unusual kind: ", Describe(classes)});
}

Var Trace::IsSubclass(Var cls, Var classes) {
  Nesting nesting;
  if (Nesting::Deep()) return Break("issubclass() with classes that are nested too deep", BreakKind::kLimit);
  cls = Look(cls);
  classes = Look(classes);
  if (classes->kind == VariableKind::kNew && classes->type == &PyTuple_Type) {
    for (Var c : classes->items) {
      Var one = IsSubclass(cls, c);
      if (one == nullptr || one->IsConst(Py_True)) return one;
    }
    return Bool(false);
  }
  auto value = [](Var v) { return v->kind == VariableKind::kConst || v->kind == VariableKind::kScalar; };
  if (value(cls)) return RaiseNew(PyExc_TypeError, "issubclass() arg 1 must be a class");
  if (value(classes))
    return RaiseNew(PyExc_TypeError, "issubclass() arg 2 must be a class, a tuple of classes, or a union");
  if (cls->kind != VariableKind::kObject || classes->kind != VariableKind::kObject ||
      !PyType_Check(cls->value.get()) || !PyType_Check(classes->value.get())) {
    return Break("issubclass() of an unusual kind");
  }
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls->value.get());
  PyObject* other = classes->value.get();
  if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(other)) != 0) return Bool(true);
  if (Py_TYPE(other) == &PyType_Type) return Bool(false);
  if (strcmp(Py_TYPE(other)->tp_name, "ABCMeta") == 0) {
    // Asking an ABC runs __subclasshook__; those of collections.abc and numbers only look at the type.
    PyRef module = PyRef::Steal(PyObject_GetAttrString(other, "__module__"));
    PyRef hook = PyRef::Steal(PyObject_GetAttrString(other, "__subclasshook__"));
    PyErr_Clear();
    bool standard = module && PyUnicode_Check(module.get()) &&
                    (strncmp(PyUnicode_AsUTF8(module.get()), "collections", 11) == 0 ||
                     strcmp(PyUnicode_AsUTF8(module.get()), "numbers") == 0 ||
                     strcmp(PyUnicode_AsUTF8(module.get()), "os") == 0 ||
                     strcmp(PyUnicode_AsUTF8(module.get()), "contextlib") == 0);
    bool no_hook = hook && PyCFunction_Check(hook.get());
    if (standard || no_hook) {
      int answer = PyObject_IsSubclass(reinterpret_cast<PyObject*>(type), other);
      if (answer < 0) return RaiseFromPython();
      return Bool(answer == 1);
    }
  }
  return Break({"issubclass() asks the metaclass of ", reinterpret_cast<PyTypeObject*>(other)->tp_name});
}

}  // namespace thirdbook
