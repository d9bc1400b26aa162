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
    return Break({"'", c->type->tp_name, "' object is called"}, BreakKind::kPythonRaises);
  }
  PyObject* o = c->value.get();
  if (PyObject* model = ArrayModel(o)) return CallModel(model, args, kwnames);
  bool takes_callable = false;
  if (PyObject* model = StandardModel(o, &takes_callable)) {
    Look(c);  // known by its identity
    std::vector<Var> all = args;
    if (takes_callable) all.insert(all.begin(), c);
    return CallFunction(Fixed(model), all, kwnames);
  }
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
    return Lazy(made.get(),
                Expression(SourceKind::kCall, {of->source}, ObjectOf(WeakReferenceFunction()), "weakref"));
  }
  if (PyType_Check(o)) {
    bool handled = false;
    Var special = CallBuiltin(c, o, args, kwnames, &handled);
    return handled ? special : Construct(c, args, kwnames);
  }
  if (IsOpFunction(o)) return TensorCall(o, args, kwnames);
  if (PyObject* target = CompiledTarget(o)) {  // part of this graph
    static PyObject* wrapped = PyUnicode_InternFromString("__wrapped__");
    return Call(Lazy(target, Expression(SourceKind::kAttribute, {c->source},
                                        ObjectOf(TypeLookup(c->type, wrapped, false)), "__wrapped__", 1)),
                args, kwnames);
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
      const char* name = reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name;
      if (IsLibraryValueType(type) && strncmp(name, "fromiso", 7) == 0)
        return CallPure(o, args, kwnames, false);
    }
    const char* module = "";
    PyObject* module_name = reinterpret_cast<PyCFunctionObject*>(o)->m_module;
    if (module_name != nullptr && PyUnicode_Check(module_name)) module = PyUnicode_AsUTF8(module_name);
    return Break({"built-in function ", (module[0] != 0 ? std::string(module) + "." : ""),
                  reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name, "()"},
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
      return Lazy(referent.get(),
                  Expression(SourceKind::kCall, {c->source}, ObjectOf(DereferenceFunction()), "deref"));
    }
  }
  Var method = LookupSpecial(c, "__call__");
  if (method == nullptr) {
    return failure_ != Failure::kNone
               ? nullptr
               : RaiseNew(PyExc_TypeError, {"'", c->type->tp_name, "' object is not callable"});
  }
  Var m = Look(method);
  bool python = m->type == &PyMethod_Type && m->kind == VariableKind::kNew &&
                Look(m->items[0])->type == &PyFunction_Type;
  if (!python && c->kind == VariableKind::kObject && strncmp(c->type->tp_name, "numpy.", 6) == 0) {
    PyRef name = PyRef::Steal(PyObject_GetAttrString(c->value.get(), "__name__"));
    PyErr_Clear();
    return Break({"numpy.", (name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : "?"),
                  "() is called"});
  }
  if (!python) {
    return Break({"'", c->type->tp_name, "' object is called"});
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
      // Another function may have defaults that this one lacks.
      t.AddIdentityGuard(t.PartOfFunction(f->source, FunctionPart::kDefaults, "__defaults__"),
                         real->func_defaults != nullptr ? real->func_defaults : Py_None);
      const SourceId named = t.PartOfFunction(f->source, FunctionPart::kKwdefaults, "__kwdefaults__");
      if (kwdefaults == nullptr) {
        t.AddIdentityGuard(named, Py_None);
      } else {
        t.AddGuard(GuardKind::kKeys, named, PyRef::Steal(PySequence_Tuple(kwdefaults)).get());
      }
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
    PyRef keys = PyRef::Steal(PySequence_Tuple(real->func_kwdefaults));
    const SourceId dict = t.PartOfFunction(f->source, FunctionPart::kKwdefaults, "__kwdefaults__");
    t.AddGuard(GuardKind::kKeys, dict, keys.get());
    return t.Lazy(value, t.Expression(SourceKind::kItem, {dict, t.ObjectSource(name)}));
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
  return Expression(SourceKind::kFunction, {function}, -1, std::move(name), static_cast<int32_t>(part));
}

Var Trace::CallFunction(Var function, const std::vector<Var>& args, PyObject* kwnames) {
  Var f = LookCallable(function);
  PyCodeObject* code =
      f->kind == VariableKind::kNew
          ? f->function->code
          : reinterpret_cast<PyCodeObject*>(reinterpret_cast<PyFunctionObject*>(f->value.get())->func_code);
  if ((code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE)) != 0) {
    return Break({"coroutine function ", FunctionName(code), "() is called"}, BreakKind::kCoroutine);
  }
  if ((code->co_flags & (CO_OPTIMIZED | CO_NEWLOCALS)) != (CO_OPTIMIZED | CO_NEWLOCALS)) {
    return Break({"function ", FunctionName(code), "() keeps its locals in a dict"});
  }
  if (depth_ >= kMaxInlineDepth) {
    return Break({"calls are nested more than ", std::to_string(kMaxInlineDepth), " deep"},
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
    size_t positional = PositionalCount(args, kwnames);
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
      Break({"'", Look(object)->type->tp_name, "' has no ", name}, BreakKind::kPythonRaises);
    return nullptr;
  }
  return Call(method, args);
}

}  // namespace thirdbook
