// Calls: what a callable is, binding of arguments, inlining of Python functions, method descriptors. See
// trace.h.
//
// In: a callable variable, positional then keyword values, the tuple of keyword names. Out: the result or a
// failure. Invariant: Python functions are inlined (their code runs in the symbolic interpreter); C functions
// run only when they are known to be pure or to speak the object protocol.
#include "interpret/builtins.h"
#include "interpret/trace.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

constexpr int kMaxInlineDepth = 90;

std::string FunctionName(PyCodeObject* code) { return PyUnicode_AsUTF8(code->co_qualname); }

// dict.fromkeys and itertools.chain.from_iterable: class methods that speak the object protocol.
bool IsAlternativeConstructor(PyObject* function) {
  PyObject* self = PyCFunction_GET_SELF(function);
  const char* name = reinterpret_cast<PyCFunctionObject*>(function)->m_ml->ml_name;
  return (self == reinterpret_cast<PyObject*>(&PyDict_Type) && strcmp(name, "fromkeys") == 0) ||
         (self != nullptr && PyType_Check(self) && strcmp(name, "from_iterable") == 0 &&
          ClassOf(self) == BuiltinClass::kProtocol);
}

// What a weak reference leads to: None when it has died.
PyObject* Dereference(PyObject*, PyObject* reference) {
  PyObject* referent = nullptr;
  int alive = PyWeakref_GetRef(reference, &referent);
  return alive < 0 ? nullptr : alive == 0 ? Py_NewRef(Py_None) : referent;
}

// The one weak reference without a callback that an object has.
PyObject* WeakReference(PyObject*, PyObject* referent) { return PyWeakref_NewRef(referent, nullptr); }

PyObject* WeakReferenceFunction() {
  static PyMethodDef method = {"weakref", WeakReference, METH_O,
                               "weakref(object): the one without a callback."};
  static PyObject* function = PyCFunction_NewEx(&method, nullptr, nullptr);
  return function;
}

PyObject* DereferenceFunction() {
  static PyMethodDef method = {"deref", Dereference, METH_O, "deref(reference): what it leads to, or None."};
  static PyObject* function = PyCFunction_NewEx(&method, nullptr, nullptr);
  return function;
}

// Splits keyword values off `args`.
size_t PositionalCount(const std::vector<Var>& args, PyObject* kwnames) {
  return args.size() - (kwnames != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
}

}  // namespace

Var Trace::Call(Var callable, const std::vector<Var>& args, PyObject* kwnames) {
  Var c = LookCallable(callable);
  if (kwnames != nullptr && PyTuple_GET_SIZE(kwnames) == 0) kwnames = nullptr;
  for (Py_ssize_t i = 0; kwnames != nullptr && i < PyTuple_GET_SIZE(kwnames); i++) {
    if (!IsName(PyTuple_GET_ITEM(kwnames, i))) return nullptr;
  }
  if (kwnames != nullptr) keep_alive_.push_back(PyRef::Borrow(kwnames));
  if (c->kind == VariableKind::kNew) {
    if (c->type == &PyMethod_Type) {
      std::vector<Var> all = {c->items[1]};
      all.insert(all.end(), args.begin(), args.end());
      return Call(c->items[0], all, kwnames);
    }
    if (c->type == &PyFunction_Type) return CallFunction(c, args, kwnames);
    return CallUser(c, args, kwnames);
  }
  if (c->kind != VariableKind::kObject) {
    if (c->kind == VariableKind::kTensor) return CallUser(c, args, kwnames);
    return Break(std::string("'") + c->type->tp_name + "' object is called", BreakKind::kPythonRaises);
  }
  PyObject* o = c->value.get();
  if (PyObject* model = ArrayModel(o)) return CallModel(model, args, kwnames);
  if (PyFunction_Check(o)) {
    static vectorcallfunc plain =
        reinterpret_cast<PyFunctionObject*>(
            PyRef::Steal(PyFunction_New(reinterpret_cast<PyObject*>(frame_.code), frame_.globals)).get())
            ->vectorcall;
    if (reinterpret_cast<PyFunctionObject*>(o)->vectorcall != plain)
      return Break("a function that calls something else than its code", BreakKind::kUnknownEffect);
    bool handled = false;
    Var special = CallBuiltin(c, o, args, kwnames, &handled);
    if (!handled) return CallFunction(c, args, kwnames);
    Look(c);  // known by its identity
    return special;
  }
  if (PyMethod_Check(o)) {
    auto [function, self] = MethodParts(c);
    std::vector<Var> all = {self};
    all.insert(all.end(), args.begin(), args.end());
    return Call(function, all, kwnames);
  }
  bool referenced = o == reinterpret_cast<PyObject*>(&_PyWeakref_RefType) && args.size() == 1 && !kwnames &&
                    Look(args[0])->kind == VariableKind::kObject;
  if (referenced) {
    Var of = Look(args[0]);
    PyRef made = PyRef::Steal(WeakReference(nullptr, of->value.get()));
    if (!made) return RaiseFromPython();
    keep_alive_.push_back(made);
    Source s{SourceKind::kCall};
    s.object = ObjectOf(WeakReferenceFunction());
    s.operands = {of->source};
    s.name = "weakref";
    return Lazy(made.get(), sources_.Intern(std::move(s)));
  }
  if (PyType_Check(o)) {
    bool handled = false;
    Var special = CallBuiltin(c, o, args, kwnames, &handled);
    return handled ? special : Construct(c, args, kwnames);
  }
  if (IsOpFunction(o)) return TensorCall(o, args, kwnames);
  if (PyObject* target = CompiledTarget(o)) {  // part of this graph
    static PyObject* wrapped = PyUnicode_InternFromString("__wrapped__");
    Source s{SourceKind::kAttribute, 1};
    s.object = ObjectOf(TypeLookup(c->type, wrapped, false));
    s.operands = {c->source};
    s.name = "__wrapped__";
    return Call(Lazy(target, sources_.Intern(std::move(s))), args, kwnames);
  }
  if (Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyWrapperDescr_Type)
    return CallMethodDescriptor(o, args, kwnames);
  if (PyCFunction_Check(o)) {
    if (IsArrayIntrinsic(o)) return ArrayIntrinsic(o, args);
    bool handled = false;
    Var result = CallBuiltin(c, o, args, kwnames, &handled);
    if (handled) return result;
    result = CallStaticNew(o, args, kwnames, &handled);
    if (handled) return result;
    PyObject* self = PyCFunction_GET_SELF(o);
    if (IsAlternativeConstructor(o)) return CallReal(o, args, kwnames);
    if (self != nullptr && !PyModule_Check(self) && !PyType_Check(self)) {
      // A bound method of a built-in object: through the descriptor of its type.
      PyRef name =
          PyRef::Steal(PyUnicode_InternFromString(reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name));
      PyObject* descriptor = TypeLookup(Py_TYPE(self), name.get(), false);
      if (descriptor != nullptr && Py_TYPE(descriptor) == &PyMethodDescr_Type) {
        std::vector<Var> all = {Lazy(self, PartOfFunction(c->source, FunctionPart::kMethodSelf, "__self__"))};
        all.insert(all.end(), args.begin(), args.end());
        return CallMethodDescriptor(descriptor, all, kwnames);
      }
    }
    if (self != nullptr && PyType_Check(self)) {
      // Constructors of another name: int.from_bytes, float.fromhex; those of containers iterate.
      PyTypeObject* type = reinterpret_cast<PyTypeObject*>(self);
      for (PyTypeObject* pure :
           {&PyLong_Type, &PyFloat_Type, &PyBytes_Type, &PyUnicode_Type, &PyComplex_Type}) {
        if (type == pure) return CallPure(o, args, kwnames, true);
      }
      if (type == &PyDict_Type) return CallReal(o, args, kwnames);
    }
    const char* module = "";
    PyObject* module_name = reinterpret_cast<PyCFunctionObject*>(o)->m_module;
    if (module_name != nullptr && PyUnicode_Check(module_name)) module = PyUnicode_AsUTF8(module_name);
    return Break(std::string("built-in function ") + (module[0] != 0 ? std::string(module) + "." : "") +
                     reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name + "()",
                 BreakKind::kUnknownEffect);
  }
  return CallUser(c, args, kwnames);
}

// An object with __call__, or one of the callables of C types.
Var Trace::CallUser(Var c, const std::vector<Var>& args, PyObject* kwnames) {
  bool handled = false;
  Var called = CallCallable(c, args, kwnames, &handled);
  if (handled) return called;
  if (c->kind == VariableKind::kObject) {
    Var special = CallBuiltin(c, c->value.get(), args, kwnames, &handled);
    if (handled) return special;
    if (PyWeakref_CheckRefExact(c->value.get()) && args.empty()) {
      PyRef referent = PyRef::Steal(Dereference(nullptr, c->value.get()));
      Source s{SourceKind::kCall};
      s.object = ObjectOf(DereferenceFunction());
      s.operands = {c->source};
      s.name = "deref";
      return Lazy(referent.get(), sources_.Intern(std::move(s)));
    }
  }
  Var method = LookupSpecial(c, "__call__");
  if (method == nullptr) {
    return failure_ != Failure::kNone
               ? nullptr
               : RaiseNew(PyExc_TypeError, std::string("'") + c->type->tp_name + "' object is not callable");
  }
  Var m = Look(method);
  bool python = m->type == &PyMethod_Type && m->kind == VariableKind::kNew &&
                Look(m->items[0])->type == &PyFunction_Type;
  if (!python && c->kind == VariableKind::kObject && strncmp(c->type->tp_name, "numpy.", 6) == 0) {
    PyRef name = PyRef::Steal(PyObject_GetAttrString(c->value.get(), "__name__"));
    PyErr_Clear();
    return Break(std::string("numpy.") +
                 (name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : "?") + "() is called");
  }
  if (!python) {
    return Break(std::string("'") + c->type->tp_name + "' object is called");
  }
  return Call(method, args, kwnames);
}

// Binds as CPython does, or raises what CPython raises.
bool BindArguments(Trace& t, Var function, const std::vector<Var>& args, PyObject* kwnames,
                   SymbolicFrame* frame) {
  Var f = t.LookCallable(function);
  PyCodeObject* code;
  PyFunctionObject* real = nullptr;
  if (f->kind == VariableKind::kNew) {
    code = f->function->code;
  } else {
    real = reinterpret_cast<PyFunctionObject*>(f->value.get());
    code = reinterpret_cast<PyCodeObject*>(real->func_code);
  }
  frame->code = code;
  frame->function = f;
  frame->parts = PartsOf(code);
  if (frame->parts == nullptr) {
    PyErr_Clear();
    t.Break("a code object that cannot be read");
    return false;
  }
  const CodeParts& parts = *frame->parts;
  frame->locals.assign(parts.locals.size(), nullptr);
  size_t argcount = static_cast<size_t>(code->co_argcount),
         kwonly = static_cast<size_t>(code->co_kwonlyargcount);
  size_t positional = PositionalCount(args, kwnames);
  auto refuse = [&] {
    size_t ndefaults = 0;
    PyObject* kwdefaults = nullptr;
    PyObject* qualname = code->co_qualname;
    if (real != nullptr) {
      if (real->func_defaults != nullptr)
        ndefaults = static_cast<size_t>(PyTuple_GET_SIZE(real->func_defaults));
      kwdefaults = real->func_kwdefaults;
      qualname = real->func_qualname;
    } else {
      Var defaults = f->function->defaults != nullptr ? t.Look(f->function->defaults) : nullptr;
      if (defaults != nullptr)
        ndefaults = defaults->kind == VariableKind::kConst
                        ? static_cast<size_t>(PyTuple_GET_SIZE(defaults->value.get()))
                        : defaults->items.size();
      if (f->function->kwdefaults != nullptr) kwdefaults = t.Look(f->function->kwdefaults)->shadow.get();
    }
    t.RaiseRefusedCall(code, qualname, ndefaults, kwdefaults, positional, kwnames);
    return false;
  };
  for (size_t i = 0; i < std::min(positional, argcount); i++) frame->locals[i] = args[i];
  size_t slot = argcount + kwonly;
  if ((code->co_flags & CO_VARARGS) != 0) {
    std::vector<Var> rest;
    for (size_t i = argcount; i < positional; i++) rest.push_back(args[i]);
    frame->locals[slot++] = t.NewTuple(std::move(rest));
  } else if (positional > argcount) {
    return refuse();
  }
  Var extra = nullptr;
  if ((code->co_flags & CO_VARKEYWORDS) != 0) {
    extra = t.NewContainer(&PyDict_Type, PyDict_New());
    frame->locals[slot] = extra;
  }
  for (Py_ssize_t k = 0; kwnames != nullptr && k < PyTuple_GET_SIZE(kwnames); k++) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    Var value = args[positional + static_cast<size_t>(k)];
    size_t i = static_cast<size_t>(code->co_posonlyargcount);
    while (i < argcount + kwonly && PyUnicode_Compare(parts.locals[i], name) != 0) i++;
    if (i < argcount + kwonly) {
      if (frame->locals[i] != nullptr) return refuse();
      frame->locals[i] = value;
    } else if (extra != nullptr) {
      PyRef element = PyRef::Steal(t.ElementShadow(value));
      if (!element || PyDict_SetItem(extra->shadow.get(), name, element.get()) != 0) return refuse();
    } else {
      return refuse();
    }
  }
  // Defaults.
  Var defaults = nullptr, kwdefaults = nullptr;
  if (real != nullptr) {
    bool written = f->HasAttributeWrite(PyRef::Steal(PyUnicode_InternFromString("__defaults__")).get()) ||
                   f->HasAttributeWrite(PyRef::Steal(PyUnicode_InternFromString("__kwdefaults__")).get());
    if (written) {
      t.Break("a function whose defaults were changed in this call is called", BreakKind::kClassChanged);
      return false;
    }
  }
  auto default_of = [&](size_t i) -> Var {
    size_t ndefaults;
    if (real != nullptr) {
      ndefaults =
          real->func_defaults != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(real->func_defaults)) : 0;
    } else {
      defaults = f->function->defaults != nullptr ? t.Look(f->function->defaults) : nullptr;
      ndefaults = defaults == nullptr ? 0
                  : defaults->kind == VariableKind::kConst
                      ? static_cast<size_t>(PyTuple_GET_SIZE(defaults->value.get()))
                      : defaults->items.size();
    }
    size_t first = argcount - ndefaults;
    if (ndefaults == 0 || i < first) return nullptr;
    if (real == nullptr) {
      return defaults->kind == VariableKind::kConst
                 ? t.Const(PyTuple_GET_ITEM(defaults->value.get(), static_cast<Py_ssize_t>(i - first)))
                 : defaults->items[i - first];
    }
    t.AddIdentityGuard(t.PartOfFunction(f->source, FunctionPart::kDefaults, "__defaults__"),
                       real->func_defaults);
    return t.Fixed(PyTuple_GET_ITEM(real->func_defaults, static_cast<Py_ssize_t>(i - first)));
  };
  auto kwdefault_of = [&](size_t i) -> Var {
    PyObject* name = parts.locals[i];
    if (real == nullptr) {
      kwdefaults = f->function->kwdefaults != nullptr ? t.Look(f->function->kwdefaults) : nullptr;
      if (kwdefaults == nullptr || !kwdefaults->shadow) return nullptr;
      PyObject* value = PyDict_GetItemWithError(kwdefaults->shadow.get(), name);
      return value != nullptr ? t.FromShadow(value) : nullptr;
    }
    if (real->func_kwdefaults == nullptr) return nullptr;
    PyObject* value = PyDict_GetItemWithError(real->func_kwdefaults, name);
    if (value == nullptr) return nullptr;
    Guard g{GuardKind::kKeys, t.PartOfFunction(f->source, FunctionPart::kKwdefaults, "__kwdefaults__"), {}};
    PyRef keys = PyRef::Steal(PySequence_Tuple(real->func_kwdefaults));
    g.object = t.ObjectOf(keys.get());
    g.line = t.CurrentLine();
    t.guards().Add(g);
    Source item{SourceKind::kItem};
    item.operands = {g.source, t.ObjectSource(name)};
    return t.Lazy(value, t.sources().Intern(std::move(item)));
  };
  for (size_t i = 0; i < argcount + kwonly; i++) {
    if (frame->locals[i] != nullptr) continue;
    frame->locals[i] = i < argcount ? default_of(i) : kwdefault_of(i);
    if (frame->locals[i] == nullptr) return t.failure() == Failure::kNone ? refuse() : false;
  }
  // Free variables.
  size_t nlocals = parts.locals.size(), nfree = 0;
  while (nfree < nlocals && (parts.local_kinds[nlocals - 1 - nfree] & kLocalFree) != 0) nfree++;
  for (size_t i = 0; i < nfree; i++) {
    Var cell;
    if (real == nullptr) {
      cell = f->function->closure[i];
    } else {
      const auto part = static_cast<FunctionPart>(static_cast<size_t>(FunctionPart::kClosure) + i);
      cell = t.Lazy(PyTuple_GET_ITEM(real->func_closure, static_cast<Py_ssize_t>(i)),
                    t.PartOfFunction(f->source, part, "__closure__[" + std::to_string(i) + "]"));
    }
    frame->locals[nlocals - nfree + i] = cell;
  }
  frame->globals = real != nullptr ? t.Fixed(real->func_globals) : f->function->globals;
  return true;
}

SourceId Trace::PartOfFunction(SourceId function, FunctionPart part, std::string name) {
  Source s{SourceKind::kFunction, static_cast<int32_t>(part)};
  s.operands = {function};
  s.name = std::move(name);
  return sources_.Intern(std::move(s));
}

Var Trace::CallFunction(Var function, const std::vector<Var>& args, PyObject* kwnames) {
  Var f = LookCallable(function);
  PyCodeObject* code =
      f->kind == VariableKind::kNew
          ? f->function->code
          : reinterpret_cast<PyCodeObject*>(reinterpret_cast<PyFunctionObject*>(f->value.get())->func_code);
  if ((code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE)) != 0) {
    return Break("coroutine function " + FunctionName(code) + "() is called", BreakKind::kCoroutine);
  }
  if ((code->co_flags & (CO_OPTIMIZED | CO_NEWLOCALS)) != (CO_OPTIMIZED | CO_NEWLOCALS)) {
    return Break("function " + FunctionName(code) + "() keeps its locals in a dict");
  }
  if (depth_ >= kMaxInlineDepth) {
    return Break("calls are nested more than " + std::to_string(kMaxInlineDepth) + " deep",
                 BreakKind::kLimit);
  }
  if (f->kind == VariableKind::kObject)
    AddIdentityGuard(PartOfFunction(f->source, FunctionPart::kCode, "__code__"),
                     reinterpret_cast<PyObject*>(code));
  if ((code->co_flags & CO_GENERATOR) != 0) {
    static PyObject* const names[] = {PyUnicode_InternFromString("__name__"),
                                      PyUnicode_InternFromString("__qualname__")};
    for (PyObject* name : names) {
      if (f->kind == VariableKind::kObject && f->HasAttributeWrite(name))
        return Break("a generator function that was renamed in this call is called",
                     BreakKind::kClassChanged);
    }
    auto frame = std::make_unique<SymbolicFrame>();
    if (!BindArguments(*this, f, args, kwnames, frame.get())) return nullptr;
    Var generator = New(&PyGen_Type);
    frame->is_generator = true;
    generator->generator = std::move(frame);
    generator->construct_callable = f;
    size_t positional =
        args.size() - (kwnames != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
    generator->construct_args.assign(args.begin(), args.begin() + static_cast<long>(positional));
    for (size_t i = positional; i < args.size(); i++) {
      generator->construct_kwargs.emplace_back(
          PyRef::Borrow(PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i - positional))), args[i]);
    }
    return generator;
  }
  SymbolicFrame frame;
  if (!BindArguments(*this, f, args, kwnames, &frame)) return nullptr;
  frame.caller = current_frame();
  depth_++;
  frame_stack_.push_back(&frame);
  RunResult result = Run(frame);
  frame_stack_.pop_back();
  depth_--;
  return result == RunResult::kReturned ? returned_ : nullptr;
}

Var Trace::CallMethod(Var object, const char* name, const std::vector<Var>& args) {
  Var method = LookupSpecial(object, name);
  if (method == nullptr) {
    if (failure_ == Failure::kNone)
      Break(std::string("'") + Look(object)->type->tp_name + "' has no " + name, BreakKind::kPythonRaises);
    return nullptr;
  }
  return Call(method, args);
}

// A method of a built-in type, called with its instance first.
Var Trace::CallMethodDescriptor(PyObject* descriptor, const std::vector<Var>& args, PyObject* kwnames) {
  PyTypeObject* owner = reinterpret_cast<PyDescrObject*>(descriptor)->d_type;
  PyObject* name = reinterpret_cast<PyDescrObject*>(descriptor)->d_name;
  const char* text = PyUnicode_AsUTF8(name);
  if (args.empty())
    return Break(
        std::string("method '") + text + "' of '" + owner->tp_name + "' is called without its instance",
        BreakKind::kPythonRaises);
  Var self = Look(args[0]);
  if (PyType_IsSubtype(self->type, owner) == 0) {
    return Break(std::string("method '") + text + "' of '" + owner->tp_name + "' is called on a '" +
                 self->type->tp_name + "'");
  }
  size_t n = args.size();
  if (self->kind == VariableKind::kTensor) return TensorMethod(descriptor, text, args, kwnames);
  if (owner == &PyBaseObject_Type || owner == &PyType_Type) {
    if (kwnames == nullptr) {
      if (strcmp(text, "__init__") == 0) {
        if (n == 1) return None();
        return Break("object.__init__() with arguments");
      }
      if (strcmp(text, "__setattr__") == 0 && n == 3 && owner == &PyBaseObject_Type) {
        PyObject* key = ConstValue(args[1]);
        return key != nullptr && IsName(key) && AcceptsObjectSetattr(self) &&
                       SetAttrGeneric(self, key, args[2])
                   ? None()
                   : nullptr;
      }
      if (strcmp(text, "__delattr__") == 0 && n == 2 && owner == &PyBaseObject_Type) {
        PyObject* key = ConstValue(args[1]);
        return key != nullptr && IsName(key) && AcceptsObjectSetattr(self) &&
                       SetAttrGeneric(self, key, nullptr)
                   ? None()
                   : nullptr;
      }
      if (strcmp(text, "__getattribute__") == 0 && n == 2) {
        PyObject* key = ConstValue(args[1]);
        if (key == nullptr || !IsName(key)) return nullptr;
        return owner == &PyType_Type ? TypeGetAttr(self, key) : GetAttrGeneric(self, key);
      }
      if (strcmp(text, "__eq__") == 0 && n == 2)
        return self == Look(args[1]) ? Bool(true) : Const(Py_NotImplemented);
      if (strcmp(text, "__ne__") == 0 && n == 2) {
        Var equal = CallMethod(self, "__eq__", {args[1]});
        if (equal == nullptr || equal->IsConst(Py_NotImplemented)) return equal;
        int truth = Truth(equal);
        return truth < 0 ? nullptr : Bool(truth == 0);
      }
      if ((strcmp(text, "__lt__") == 0 || strcmp(text, "__le__") == 0 || strcmp(text, "__gt__") == 0 ||
           strcmp(text, "__ge__") == 0) &&
          n == 2) {
        return Const(Py_NotImplemented);
      }
      if (strcmp(text, "__str__") == 0 && n == 1) return Repr(self);
      if (strcmp(text, "__format__") == 0 && n == 2) {
        PyObject* spec = ConstValue(args[1]);
        if (spec == nullptr) return nullptr;
        if (PyUnicode_Check(spec) && PyUnicode_GET_LENGTH(spec) == 0) return Str(self);
      }
      if (strcmp(text, "__init_subclass__") == 0) return None();
    }
    if (owner == &PyType_Type && strcmp(text, "__call__") == 0) {
      return Construct(self, std::vector<Var>(args.begin() + 1, args.end()), kwnames, true);
    }
    return Break(std::string("method '") + text + "' of '" + owner->tp_name + "'");
  }
  if (IsContainerType(self->type) && (IsContainerType(owner)))
    return ContainerMethod(descriptor, name, args, kwnames);
  if (PyType_IsSubtype(self->type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) != 0) {
    if (strcmp(text, "__init__") == 0 && kwnames == nullptr && self->kind == VariableKind::kNew) {
      self->items.assign(args.begin() + 1, args.end());
      return None();
    }
    if (strcmp(text, "__str__") == 0 || strcmp(text, "__repr__") == 0) {
      return strcmp(text, "__str__") == 0 && self->kind == VariableKind::kNew ? ExceptionText(self, false)
             : self->kind == VariableKind::kNew
                 ? ExceptionText(self, true)
                 : Break("text of an exception object that was there before the call",
                         BreakKind::kKeptByPython);
    }
    if (strcmp(text, "with_traceback") == 0 && n == 2 && Look(args[1])->IsConst(Py_None)) return self;
    if (strcmp(text, "add_note") == 0 && self->kind == VariableKind::kNew && n == 2) {
      PyRef notes = PyRef::Steal(PyUnicode_InternFromString("__notes__"));
      bool deleted;
      Var list = self->FindAttribute(notes.get(), &deleted);
      if (list == nullptr) {
        list = NewContainer(&PyList_Type, PyList_New(0));
        NoteAttribute(self, notes.get(), list);
      }
      Var result = CallMethod(list, "append", {args[1]});
      return result;
    }
    return Break(std::string("method '") + text + "' of an exception", BreakKind::kKeptByPython);
  }
  if (self->type == &PyTuple_Type ||
      (PyType_IsSubtype(self->type, &PyTuple_Type) != 0 && owner == &PyTuple_Type)) {
    if (strcmp(text, "__getitem__") == 0 && n == 2) return GetItem(self, args[1]);
    std::vector<Var> items;
    if (!Iterate(self, &items)) return nullptr;
    std::vector<Var> plain = {NewTuple(items)};
    plain.insert(plain.end(), args.begin() + 1, args.end());
    return CallReal(descriptor, plain, kwnames);
  }
  if (self->kind == VariableKind::kConst || self->kind == VariableKind::kScalar) {
    if (owner == &PyUnicode_Type && strcmp(text, "join") == 0 && n == 2 && kwnames == nullptr)
      return JoinText(self, args[1]);
    return CallPure(descriptor, args, kwnames, true);
  }
  if (self->generator != nullptr) {
    if (strcmp(text, "send") == 0 && n == 2) {
      Var v = SendGenerator(self, args[1], nullptr);
      if (v != nullptr || failure_ != Failure::kNone) return v;
      return Raise(MakeException(PyExc_StopIteration,
                                 generator_result_ != nullptr && !generator_result_->IsConst(Py_None)
                                     ? std::vector<Var>{generator_result_}
                                     : std::vector<Var>{}));
    }
    if (strcmp(text, "__next__") == 0 && n == 1) {
      Var v = SendGenerator(self, None(), nullptr);
      if (v != nullptr || failure_ != Failure::kNone) return v;
      return Raise(MakeException(PyExc_StopIteration,
                                 generator_result_ != nullptr && !generator_result_->IsConst(Py_None)
                                     ? std::vector<Var>{generator_result_}
                                     : std::vector<Var>{}));
    }
    if (strcmp(text, "__iter__") == 0) return self;
    if (strcmp(text, "close") == 0) return CloseGenerator(self);
    if (strcmp(text, "throw") == 0 && n == 2) {
      Var exception = Look(args[1]);
      if (exception->kind == VariableKind::kObject && PyType_Check(exception->value.get()))
        exception = Construct(exception, {}, nullptr);
      if (exception == nullptr) return nullptr;
      if (PyType_IsSubtype(exception->type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) == 0)
        return Break("throw() of something that is no exception", BreakKind::kPythonRaises);
      exception->raised = true;
      Var v = SendGenerator(self, nullptr, exception);
      if (v != nullptr || failure_ != Failure::kNone) return v;
      return Raise(MakeException(PyExc_StopIteration,
                                 generator_result_ != nullptr && !generator_result_->IsConst(Py_None)
                                     ? std::vector<Var>{generator_result_}
                                     : std::vector<Var>{}));
    }
  }
  if (self->kind == VariableKind::kNew && self->value) {
    if (strcmp(text, "__iter__") == 0 && PyIter_Check(self->value.get())) return self;
    if (strcmp(text, "__next__") == 0) {
      Var v = Next(self);
      if (v != nullptr || failure_ != Failure::kNone) return v;
      return Raise(MakeException(PyExc_StopIteration, {}));
    }
    return CallReal(descriptor, args, kwnames);
  }
  if (self->type == &PySlice_Type && strcmp(text, "indices") == 0 && n == 2 && kwnames == nullptr) {
    PyRef slice = SliceOrShadow(self);
    PyObject* length = slice ? ConstValue(args[1]) : nullptr;
    if (length == nullptr) return failure_ != Failure::kNone ? nullptr : RaiseFromPython();
    PyObject* values[] = {slice.get(), length};
    return ConstSteal(PyObject_Vectorcall(descriptor, values, 2, nullptr));
  }
  if (IsHandedInIterator(self) && n == 1) {
    if (strcmp(text, "__iter__") == 0) return self;
    if (strcmp(text, "__next__") == 0) {
      Var v = Next(self);
      return v != nullptr || failure_ != Failure::kNone ? v : Raise(MakeException(PyExc_StopIteration, {}));
    }
  }
  if (self->type == &PyFunction_Type && strcmp(text, "__get__") == 0 && n >= 2) {
    return Look(args[1])->IsConst(Py_None) ? self : NewMethod(self, args[1]);
  }
  if (self->type == &PyProperty_Type && strcmp(text, "__get__") == 0 && self->kind == VariableKind::kObject &&
      n >= 2) {
    PyRef getter = PyRef::Steal(PyObject_GetAttrString(self->value.get(), "fget"));
    if (getter && PyFunction_Check(getter.get())) return Call(Fixed(getter.get()), {args[1]});
  }
  if (strcmp(text, "__call__") == 0)
    return Call(self, std::vector<Var>(args.begin() + 1, args.end()), kwnames);
  if (self->kind == VariableKind::kObject && kwnames == nullptr &&
      PyContextVar_CheckExact(self->value.get())) {
    Var result = ContextVarMethod(descriptor, text, args);
    if (result != nullptr || failure_ != Failure::kNone) return result;
  }
  if (kwnames == nullptr) {
    Var written = StreamMethod(descriptor, text, args);
    if (written != nullptr || failure_ != Failure::kNone) return written;
  }
  return Break(std::string("method '") + text + "' of '" + self->type->tp_name + "'");
}

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
Var Trace::CallPure(PyObject* function, const std::vector<Var>& args, PyObject* kwnames, bool symbolic) {
  std::vector<PyObject*> values;
  bool has_scalar = false, unknown = false;
  for (Var a : args) {
    a = Look(a);
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
      Guard g{GuardKind::kType, source, {}};
      g.object = ObjectOf(reinterpret_cast<PyObject*>(type));
      g.line = CurrentLine();
      g.text = type->tp_name;
      guards_.Add(std::move(g));
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
