// Shadows: real containers of constants and proxies that stand for the user's, and the way there and back.
// See containers.cc for when a container becomes one.
//
// In: a container variable, or what CPython's own methods gave on shadows. Out: the shadow, or the variable
// that an object of a shadow stands for. Invariant: making a shadow guards what it read of the container, and
// runs no user code.
#include <map>

#include "interpret/builtins.h"
#include "interpret/containers.h"
#include "python/set_layout.h"
#include "python/tensor_object.h"

namespace thirdbook {

constexpr Py_ssize_t kMaxShadow = 20000;

// What functools.cmp_to_key gives: only C code calls it.
static bool IsKeyFunction(PyObject* o) { return strcmp(Py_TYPE(o)->tp_name, "functools.KeyWrapper") == 0; }

bool Trace::EnsureShadow(Var v) {
  v = Look(v);
  if (v->shadow) return true;
  if (v->dict_of != nullptr) return DictOfShadow(v);
  if (v->kind == VariableKind::kConst) {  // a frozenset
    v->shadow = v->value;
    return true;
  }
  if (v->kind != VariableKind::kObject) {
    Break({"the contents of a new '", v->type->tp_name, "' are not known"});
    return false;
  }
  PyTypeObject* base = BaseContainer(v->type);
  PyObject* o = v->value.get();
  auto item_source = [&](SourceId key) { return Expression(SourceKind::kItem, {v->source, key}); };
  Py_ssize_t n = PyObject_Size(o);
  if (n < 0) PyErr_Clear();
  if (PyList_Check(o)) n = PyList_GET_SIZE(o);
  if (PyDict_Check(o)) n = PyDict_GET_SIZE(o);
  if (n > kMaxShadow) {
    Break({"a container of ", std::to_string(n), " elements is read or reordered"}, BreakKind::kLimit);
    return false;
  }
  PyRef shadow;
  if (base == &PyList_Type || base == DequeType()) {
    GuardLength(v->source, n);
    PyRef items = PyRef::Steal(base == &PyList_Type ? PyList_GetSlice(o, 0, n) : PySequence_List(o));
    shadow = PyRef::Steal(PyList_New(n));
    for (Py_ssize_t i = 0; i < n; i++) {
      PyRef index = PyRef::Steal(PyLong_FromSsize_t(i));
      keep_alive_.push_back(index);
      Var item =
          Lazy(PyList_GET_ITEM(items.get(), i), item_source(ObjectSource(Const(index.get())->value.get())));
      PyObject* element = ElementShadow(item);
      if (element == nullptr) return false;
      PyList_SET_ITEM(shadow.get(), i, element);
    }
    v->initial = PyRef::Steal(PyList_AsTuple(shadow.get()));
    if (base == DequeType()) {
      static PyObject* maxlen_name = PyUnicode_InternFromString("maxlen");
      PyRef maxlen = PyRef::Steal(PyObject_GenericGetAttr(o, maxlen_name));
      Var m = FieldOfContainer(v, "maxlen");
      if (m == nullptr || ConstValue(m) == nullptr) return false;
      shadow = PyRef::Steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(base), shadow.get(),
                                                         maxlen.get(), nullptr));
    }
  } else if (IsDict(base)) {
    PyRef keys = PyRef::Steal(PyList_AsTuple(PyRef::Steal(PyDict_Keys(o)).get()));
    for (Py_ssize_t i = 0; keys && i < n; i++) {
      if (!IsSafeKey(PyTuple_GET_ITEM(keys.get(), i))) {
        Break({"a dict with keys of type ", Py_TYPE(PyTuple_GET_ITEM(keys.get(), i))->tp_name,
               " is read as a whole"},
              BreakKind::kUserHash);
        return false;
      }
    }
    if (base == &PyODict_Type) keys = PyRef::Steal(PySequence_Tuple(o));  // compares keys
    if (!keys || PyTuple_GET_SIZE(keys.get()) != n) {
      PyErr_Clear();
      Break("a dict that cannot be listed");
      return false;
    }
    AddGuard(GuardKind::kKeys, v->source, keys.get(), std::to_string(n) + " keys");
    if (base == DefaultDictType()) {
      Var factory = FieldOfContainer(v, "default_factory");
      if (factory == nullptr) return false;
      PyRef f = PyRef::Steal(ArgumentShadow(factory));
      shadow = PyRef::Steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(base), f.get()));
    } else {
      shadow = PyRef::Steal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(base)));
    }
    PyRef initial = PyRef::Steal(PyTuple_New(2 * n));
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject* key = PyTuple_GET_ITEM(keys.get(), i);
      Var item = Lazy(PyDict_GetItemWithError(o, key), item_source(ObjectSource(key)));
      PyRef element = PyRef::Steal(ElementShadow(item));
      PyRef key_element = PyRef::Borrow(key);
      if (!element || PyObject_SetItem(shadow.get(), key_element.get(), element.get()) != 0) return false;
      PyTuple_SET_ITEM(initial.get(), 2 * i, Py_NewRef(key));
      PyTuple_SET_ITEM(initial.get(), 2 * i + 1, Py_NewRef(element.get()));
      if (!PyUnicode_CheckExact(key) && !PyLong_CheckExact(key)) keep_alive_.push_back(PyRef::Borrow(key));
    }
    v->initial = initial;
  } else {
    PyRef items = PyRef::Steal(PySequence_Tuple(o));
    if (!items) {
      PyErr_Clear();
      Break("a set that cannot be listed");
      return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
      if (!IsSafeKey(PyTuple_GET_ITEM(items.get(), i))) {
        Break(
            {"a set with elements of type ", Py_TYPE(PyTuple_GET_ITEM(items.get(), i))->tp_name, " is read"},
            BreakKind::kUserHash);
        return false;
      }
    }
    AddGuard(GuardKind::kKeys, v->source, items.get(), std::to_string(n) + " elements");
    shadow = PyRef::Steal(CloneSet(
        o,
        [](PyObject* key, void* trace) {
          Trace& t = *static_cast<Trace*>(trace);
          return t.ElementShadow(t.Fixed(key));
        },
        this));
  }
  if (!shadow) {
    RaiseFromPython();
    return false;
  }
  v->shadow = shadow;
  shadows_[shadow.get()] = v;
  // What was only added so far.
  std::vector<DeltaCall> delta = std::move(v->delta);
  v->delta.clear();
  for (DeltaCall& call : delta) {
    std::vector<PyRef> refs;
    std::vector<PyObject*> values = {shadow.get()};
    for (size_t i = 0; i < call.args.size(); i++) {
      bool key = i == 0 && (IsDict(base) || base == &PySet_Type);
      if (key && ConstValue(call.args[i]) == nullptr) return false;
      PyObject* a = ArgumentShadow(call.args[i]);
      if (a == nullptr) {
        RaiseFromPython();
        return false;
      }
      refs.push_back(PyRef::Steal(a));
      values.push_back(a);
    }
    if (base == &PySet_Type) {
      if (v->log.empty()) GuardSetLayout(v);
      v->log.push_back(call);
    }
    PyRef result = PyRef::Steal(PyObject_Vectorcall(call.method, values.data(), values.size(), nullptr));
    if (!result) {
      RaiseFromPython();
      return false;
    }
  }
  return true;
}

// operator.attrgetter(name): one object for all traces, so that equal reads are one source. Borrowed.
static PyObject* FieldGetter(const char* name) {
  static std::map<std::string, PyObject*>& getters = *new std::map<std::string, PyObject*>();
  PyObject*& getter = getters[name];
  if (getter == nullptr) {
    PyRef module = PyRef::Steal(PyImport_ImportModule("operator"));
    getter = module ? PyObject_CallMethod(module.get(), "attrgetter", "s", name) : nullptr;
  }
  return getter;
}

// A field that a container of C code keeps: maxlen of a deque, default_factory of a defaultdict.
Var Trace::FieldOfContainer(Var container, const char* name) {
  PyRef text = PyRef::Steal(PyUnicode_InternFromString(name));
  const bool made_here = container->kind == VariableKind::kNew;
  PyObject* holder = made_here ? container->shadow.get() : container->value.get();
  PyRef value = PyRef::Steal(PyObject_GenericGetAttr(holder, text.get()));
  if (!value) return RaiseFromPython();
  if (made_here) return FromShadow(value.get());
  PyObject* getter = FieldGetter(name);
  if (getter == nullptr) return RaiseFromPython();
  return Lazy(value.get(), Expression(SourceKind::kCall, {container->source}, ObjectOf(getter), name));
}

// What the changes that follow make of its order.
void Trace::GuardSetLayout(Var set) {
  PyRef layout = PyRef::Steal(SetTemplate(set->value.get()));
  keep_alive_.push_back(layout);
  AddGuard(GuardKind::kSetLayout, set->source, layout.get(), "order of its table");
}

// A container's contents as they are now, in an object of their own.
Var Trace::Snapshot(Var v) {
  v = Look(v);
  if (!IsContainer(v) || !v->shadow) return v;
  PyRef copy =
      PyRef::Steal(PyAnySet_Check(v->shadow.get())
                       ? CloneSet(
                             v->shadow.get(), [](PyObject* key, void*) { return Py_NewRef(key); }, nullptr)
                       : PyObject_CallMethod(v->shadow.get(), "copy", nullptr));
  if (!copy) {
    PyErr_Clear();
    return v;
  }
  return FromShadow(copy.get());
}

Var Trace::FromShadow(PyObject* o) {
  if (IsProxy(o)) {
    Var v = ProxyVariable(o);
    while (v->forward != nullptr) v = v->forward;
    return v;
  }
  auto it = shadows_.find(o);
  if (it != shadows_.end()) return it->second;
  auto constant = consts_.find(o);
  if (constant != consts_.end()) return constant->second;
  bool made = (PyTuple_CheckExact(o) && PyTuple_GET_SIZE(o) > 0) || PyFrozenSet_CheckExact(o);
  if (!made && IsConstant(o)) return Const(o);
  Nesting nesting;
  if (Nesting::Deep())
    return Break("a built-in function gave something that is nested too deep", BreakKind::kLimit);
  if (PyTuple_CheckExact(o)) {  // a tuple that was just made: each call makes its own
    std::vector<Var> items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++) {
      Var item = FromShadow(PyTuple_GET_ITEM(o, i));
      if (item == nullptr) return nullptr;
      items.push_back(item);
    }
    Var v = NewTuple(std::move(items));
    v->shadow = PyRef::Borrow(o);
    shadows_[o] = v;
    return v;
  }
  const bool alias = strcmp(Py_TYPE(o)->tp_name, "typing.Union") == 0 ||
                     strcmp(Py_TYPE(o)->tp_name, "_GenericAlias") == 0 ||
                     Py_TYPE(o) == &Py_GenericAliasType;  // int | str, list[int]
  if (PyType_Check(o) || PyFunction_Check(o) || PyModule_Check(o) || PyCFunction_Check(o) || alias) {
    keep_alive_.push_back(PyRef::Borrow(o));
    return Fixed(o);
  }
  if (IsContainerType(Py_TYPE(o))) return NewContainer(Py_TYPE(o), Py_NewRef(o));
  if (PyIter_Check(o) || PyDictViewSet_Check(o) || Py_TYPE(o) == &PyDictValues_Type || IsKeyFunction(o)) {
    Var v = New(Py_TYPE(o));
    v->value = PyRef::Borrow(o);
    shadows_[o] = v;
    return v;
  }
  if (PyExceptionInstance_Check(o)) {
    PyRef args = PyRef::Steal(PyObject_GetAttrString(o, "args"));
    if (!args) return RaiseFromPython();
    Var v = New(Py_TYPE(o));
    v->value = PyRef::Borrow(o);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); i++) {
      Var item = FromShadow(PyTuple_GET_ITEM(args.get(), i));
      if (item == nullptr) return nullptr;
      v->items.push_back(item);
    }
    PyRef fields = PyRef::Steal(PyObject_GenericGetDict(o, nullptr));
    PyErr_Clear();
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (fields && PyDict_Next(fields.get(), &position, &name, &value) != 0) {
      Var field = FromShadow(value);
      if (field == nullptr) return nullptr;
      v->attributes.emplace_back(PyRef::Borrow(name), field);
    }
    shadows_[o] = v;
    return v;
  }
  return Break({"a built-in function gave an object of type ", Py_TYPE(o)->tp_name});
}

PyObject* Trace::ElementShadow(Var v) {
  Nesting nesting;
  if (Nesting::Deep()) {
    Break("a tuple that is nested too deep is given to a built-in function", BreakKind::kLimit);
    FailureToPython();
    return nullptr;
  }
  while (v->forward != nullptr) v = v->forward;
  switch (v->kind) {
    case VariableKind::kConst: return Py_NewRef(v->value.get());
    case VariableKind::kNew:
      if (v->type == &PyTuple_Type) {
        if (!v->shadow) {
          PyRef tuple = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(v->items.size())));
          for (size_t i = 0; i < v->items.size(); i++) {
            PyObject* item = ElementShadow(v->items[i]);
            if (item == nullptr) return nullptr;
            PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
          }
          v->shadow = tuple;
          if (!IsConstant(tuple.get())) shadows_[tuple.get()] = v;
        }
        return Py_NewRef(v->shadow.get());
      }
      if (v->shadow && v->type == Py_TYPE(v->shadow.get())) return Py_NewRef(v->shadow.get());
      if (v->value && (PyIter_Check(v->value.get()) || IsKeyFunction(v->value.get())))
        return Py_NewRef(v->value.get());
      return MakeProxy(v);
    case VariableKind::kObject: {
      PyObject* o = v->value.get();
      if (PyType_Check(o) && v->attributes.empty()) return Py_NewRef(o);
      return MakeProxy(v);
    }
    default: return MakeProxy(v);
  }
}

PyObject* Trace::ArgumentShadow(Var v) {
  v = CurrentView(Look(v));
  if (v == nullptr) {
    FailureToPython();
    return nullptr;
  }
  if (v->kind == VariableKind::kObject && IsContainer(v) && v->type == BaseContainer(v->type)) {
    if (!EnsureShadow(v)) {
      FailureToPython();
      return nullptr;
    }
    return Py_NewRef(v->shadow.get());
  }
  if (v->kind == VariableKind::kObject && PyTuple_CheckExact(v->value.get())) {
    std::vector<Var> items;
    if (!v->shadow) {  // one tuple, so that what C functions give back is known as this one
      if (!Iterate(v, &items)) {
        FailureToPython();
        return nullptr;
      }
      PyObject* shadow = ElementShadow(NewTuple(items));
      if (shadow == nullptr) return nullptr;
      v->shadow = PyRef::Steal(shadow);
      shadows_[shadow] = v;
    }
    return Py_NewRef(v->shadow.get());
  }
  if (v->kind == VariableKind::kNew && v->value &&
      (v->type == &PyDictKeys_Type || v->type == &PyDictValues_Type || v->type == &PyDictItems_Type)) {
    return Py_NewRef(v->value.get());
  }
  if (v->kind == VariableKind::kObject &&
      (PyType_Check(v->value.get()) || PyCFunction_Check(v->value.get()))) {
    // C code may call it: as it is where it then speaks the object protocol, else through the tracer.
    PyObject* o = v->value.get();
    const BuiltinClass known = ClassOf(o);
    const bool speaks = known == BuiltinClass::kProtocol || (PyType_Check(o) && known == BuiltinClass::kPure);
    return speaks && v->attributes.empty() ? Py_NewRef(o) : MakeProxy(v);
  }
  return ElementShadow(v);
}

}  // namespace thirdbook
