// Containers: items, membership, length, methods; deltas and shadows. See trace.h.
//
// A container that was there before the call is in one of three states:
//
//   untouched ──add only──▶ delta (calls to be replayed as they are; neither length nor contents guarded)
//       │                     │ read
//       └──any other change───┴──▶ shadow (a real container of constants and proxies; length or keys guarded)
//
// New containers are shadows from the start. CPython's own methods work on shadows, so order, eviction and
// errors are CPython's.
#include "interpret/builtins.h"
#include "interpret/trace.h"
#include "python/set_layout.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

constexpr Py_ssize_t kMaxShadow = 20000;
constexpr int kMaxQuietElements = 16;

PyObject* FromCollections(const char* name) {
  PyRef module = PyRef::Steal(PyImport_ImportModule("_collections"));
  PyObject* o = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
  PyErr_Clear();
  return o;
}
PyTypeObject* DequeType() {
  static PyTypeObject* type = reinterpret_cast<PyTypeObject*>(FromCollections("deque"));
  return type;
}
PyTypeObject* DefaultDictType() {
  static PyTypeObject* type = reinterpret_cast<PyTypeObject*>(FromCollections("defaultdict"));
  return type;
}

PyObject* Name(const char* text) { return PyUnicode_InternFromString(text); }

bool IsOneOf(const char* text, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (strcmp(text, name) == 0) return true;
  }
  return false;
}

bool Mutates(PyTypeObject* base, const char* m) {
  if (base == &PyList_Type) {
    return IsOneOf(m, {"append", "extend", "insert", "pop", "remove", "sort", "reverse", "clear",
                       "__setitem__", "__delitem__", "__iadd__", "__imul__", "__init__"});
  }
  if (PyType_IsSubtype(base, &PyDict_Type) != 0) {
    return IsOneOf(m, {"update", "pop", "popitem", "setdefault", "clear", "__setitem__", "__delitem__",
                       "__ior__", "move_to_end", "__init__", "__missing__"});
  }
  if (base == &PySet_Type) {
    return IsOneOf(
        m, {"add", "discard", "remove", "pop", "clear", "update", "intersection_update", "difference_update",
            "symmetric_difference_update", "__ior__", "__iand__", "__isub__", "__ixor__", "__init__"});
  }
  if (base == DequeType()) {
    return IsOneOf(
        m, {"append", "appendleft", "extend", "extendleft", "pop", "popleft", "insert", "remove", "rotate",
            "reverse", "clear", "__setitem__", "__delitem__", "__iadd__", "__imul__", "__init__"});
  }
  return false;
}

// Whether a changing method may take elements away (`bounded`: from a deque with maxlen).
bool Removes(const char* m, bool bounded) {
  if (IsOneOf(m, {"append", "appendleft", "extend", "extendleft", "__iadd__"})) return bounded;
  return !IsOneOf(m,
                  {"insert", "sort", "reverse", "rotate", "add", "setdefault", "move_to_end", "__missing__"});
}

bool IsBounded(PyObject* deque) {
  static PyObject* name = PyUnicode_InternFromString("maxlen");
  PyRef maxlen = PyRef::Steal(PyObject_GenericGetAttr(deque, name));
  PyErr_Clear();
  return maxlen && maxlen.get() != Py_None;
}

bool IsDict(PyTypeObject* t) { return PyType_IsSubtype(t, &PyDict_Type) != 0; }

// Keys whose hash and equality run no user code.
bool IsSafeKey(PyObject* k) {
  if (PyUnicode_CheckExact(k) || PyLong_CheckExact(k) || PyFloat_CheckExact(k) || PyBool_Check(k) ||
      k == Py_None || PyBytes_CheckExact(k) || PyType_Check(k) || PyFunction_Check(k) ||
      PyCFunction_Check(k) || PyModule_Check(k) || k == Py_Ellipsis) {
    return true;
  }
  if (PyTuple_CheckExact(k)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(k); i++) {
      if (!IsSafeKey(PyTuple_GET_ITEM(k, i))) return false;
    }
    return true;
  }
  DType dtype;
  if (AsDType(k, &dtype)) return true;
  return Py_TYPE(k)->tp_hash == PyBaseObject_Type.tp_hash &&
         Py_TYPE(k)->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

}  // namespace

PyTypeObject* BaseContainer(PyTypeObject* type) {
  if (type == nullptr) return nullptr;
  if (PyType_FastSubclass(type, Py_TPFLAGS_LIST_SUBCLASS)) return &PyList_Type;
  if (PyType_FastSubclass(type, Py_TPFLAGS_DICT_SUBCLASS)) {
    if (PyType_IsSubtype(type, &PyODict_Type) != 0) return &PyODict_Type;
    if (PyType_IsSubtype(type, DefaultDictType()) != 0) return DefaultDictType();
    return &PyDict_Type;
  }
  if (PyType_IsSubtype(type, &PySet_Type) != 0) return &PySet_Type;
  if (PyType_IsSubtype(type, &PyFrozenSet_Type) != 0) return &PyFrozenSet_Type;
  if (PyType_IsSubtype(type, DequeType()) != 0) return DequeType();
  return nullptr;
}

bool CopiesAsSubclass(PyTypeObject* base) {
  return base == DequeType() || base == &PyODict_Type || base == DefaultDictType();
}

bool Trace::IsContainer(Var v) {
  v = Look(v);
  return (v->kind == VariableKind::kObject || v->kind == VariableKind::kNew) && v->dict_of == nullptr &&
         BaseContainer(v->type) != nullptr;
}

bool Trace::EnsureShadow(Var v) {
  v = Look(v);
  if (v->shadow) return true;
  if (v->dict_of != nullptr) return DictOfShadow(v);
  if (v->kind == VariableKind::kConst) {  // a frozenset
    v->shadow = v->value;
    return true;
  }
  if (v->kind != VariableKind::kObject) {
    Break(std::string("the contents of a new '") + v->type->tp_name + "' are not known");
    return false;
  }
  PyTypeObject* base = BaseContainer(v->type);
  PyObject* o = v->value.get();
  auto length_guard = [&](Py_ssize_t n) {
    Source s{SourceKind::kLength};
    s.operands = {v->source};
    Guard g{GuardKind::kConstant, sources_.Intern(std::move(s)), {}};
    PyRef size = PyRef::Steal(PyLong_FromSsize_t(n));
    keep_alive_.push_back(size);
    g.object = ObjectOf(Const(size.get())->value.get());
    g.line = CurrentLine();
    g.text = "== " + std::to_string(n);
    guards_.Add(std::move(g));
  };
  auto item_source = [&](SourceId key) {
    Source s{SourceKind::kItem};
    s.operands = {v->source, key};
    return sources_.Intern(std::move(s));
  };
  Py_ssize_t n = PyObject_Size(o);
  if (n < 0) PyErr_Clear();
  if (PyList_Check(o)) n = PyList_GET_SIZE(o);
  if (PyDict_Check(o)) n = PyDict_GET_SIZE(o);
  if (n > kMaxShadow) {
    Break("a container of " + std::to_string(n) + " elements is read or reordered", BreakKind::kLimit);
    return false;
  }
  PyRef shadow;
  if (base == &PyList_Type || base == DequeType()) {
    length_guard(n);
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
      static PyObject* maxlen_name = Name("maxlen");
      PyRef maxlen = PyRef::Steal(PyObject_GenericGetAttr(o, maxlen_name));
      Var m = DequeMaxlen(v);
      if (m == nullptr || ConstValue(m) == nullptr) return false;
      shadow = PyRef::Steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(base), shadow.get(),
                                                         maxlen.get(), nullptr));
    }
  } else if (IsDict(base)) {
    PyRef keys = PyRef::Steal(PyList_AsTuple(PyRef::Steal(PyDict_Keys(o)).get()));
    for (Py_ssize_t i = 0; keys && i < n; i++) {
      if (!IsSafeKey(PyTuple_GET_ITEM(keys.get(), i))) {
        Break(std::string("a dict with keys of type ") + Py_TYPE(PyTuple_GET_ITEM(keys.get(), i))->tp_name +
                  " is read as a whole",
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
    Guard g{GuardKind::kKeys, v->source, {}};
    g.object = ObjectOf(keys.get());
    g.line = CurrentLine();
    g.text = std::to_string(n) + " keys";
    guards_.Add(std::move(g));
    if (base == DefaultDictType()) {
      Var factory = DefaultFactory(v);
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
        Break(std::string("a set with elements of type ") +
                  Py_TYPE(PyTuple_GET_ITEM(items.get(), i))->tp_name + " is read",
              BreakKind::kUserHash);
        return false;
      }
    }
    Guard g{GuardKind::kKeys, v->source, {}};
    g.object = ObjectOf(items.get());
    g.line = CurrentLine();
    g.text = std::to_string(n) + " elements";
    guards_.Add(std::move(g));
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
  if (v->type == base) shadows_[shadow.get()] = v;
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

Var Trace::DequeMaxlen(Var deque) {
  static PyObject* getter = [] {
    PyRef module = PyRef::Steal(PyImport_ImportModule("operator"));
    return PyObject_CallMethod(module.get(), "attrgetter", "s", "maxlen");
  }();
  static PyObject* maxlen_name = Name("maxlen");
  if (deque->kind == VariableKind::kNew)
    return FromShadow(PyRef::Steal(PyObject_GenericGetAttr(deque->shadow.get(), maxlen_name)).get());
  PyRef value = PyRef::Steal(PyObject_GenericGetAttr(deque->value.get(), maxlen_name));
  if (!value) return RaiseFromPython();
  Source s{SourceKind::kCall};
  s.object = ObjectOf(getter);
  s.operands = {deque->source};
  s.name = "maxlen";
  return Lazy(value.get(), sources_.Intern(std::move(s)));
}

Var Trace::DefaultFactory(Var dict) {
  static PyObject* getter = [] {
    PyRef module = PyRef::Steal(PyImport_ImportModule("operator"));
    return PyObject_CallMethod(module.get(), "attrgetter", "s", "default_factory");
  }();
  static PyObject* factory_name = Name("default_factory");
  PyObject* holder = dict->kind == VariableKind::kNew ? dict->shadow.get() : dict->value.get();
  PyRef value = PyRef::Steal(PyObject_GenericGetAttr(holder, factory_name));
  if (!value) return RaiseFromPython();
  if (dict->kind == VariableKind::kNew) return FromShadow(value.get());
  Source s{SourceKind::kCall};
  s.object = ObjectOf(getter);
  s.operands = {dict->source};
  s.name = "default_factory";
  return Lazy(value.get(), sources_.Intern(std::move(s)));
}

// The __dict__ of an object as a shadow dict, for reading as a whole.
bool Trace::DictOfShadow(Var view) {
  Var o = Look(view->dict_of);
  PyRef shadow = PyRef::Steal(PyDict_New());
  if (o->kind == VariableKind::kObject) {
    static PyObject* dict_name = Name("__dict__");
    PyObject* real = PyModule_Check(o->value.get())
                         ? PyModule_GetDict(o->value.get())
                         : PyRef::Steal(PyObject_GenericGetDict(o->value.get(), nullptr)).get();
    if (real == nullptr || PyType_Check(o->value.get())) {
      PyErr_Clear();
      Break("the __dict__ of a class is read as a whole", BreakKind::kClassChanged);
      return false;
    }
    Source s{SourceKind::kAttribute, 2};
    s.object = ObjectOf(dict_name);
    s.operands = {o->source};
    s.name = "__dict__";
    Guard g{GuardKind::kKeys, sources_.Intern(std::move(s)), {}};
    PyRef keys = PyRef::Steal(PySequence_Tuple(real));
    g.object = ObjectOf(keys.get());
    g.line = CurrentLine();
    guards_.Add(std::move(g));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); i++) {
      Var value;
      bool deleted;
      PyObject* key = PyTuple_GET_ITEM(keys.get(), i);
      o->FindAttribute(key, &deleted);
      if (deleted) continue;
      bool moved = false;
      for (PyObject* name : o->reordered) moved = moved || PyUnicode_Compare(name, key) == 0;
      if (moved) continue;
      if (!InstanceLookup(o, key, false, &value) || value == nullptr) return false;
      PyRef element = PyRef::Steal(ElementShadow(value));
      PyDict_SetItem(shadow.get(), key, element.get());
    }
  }
  for (auto& [key, value] : o->attributes) {
    if (value == nullptr) continue;
    PyRef element = PyRef::Steal(ElementShadow(value));
    if (!element || PyDict_SetItem(shadow.get(), key.get(), element.get()) != 0) return false;
  }
  view->shadow = shadow;
  return true;
}

// ---- methods
// --------------------------------------------------------------------------------------------------------------

Var Trace::ContainerMethod(PyObject* descriptor, PyObject* name, const std::vector<Var>& args_in,
                           PyObject* kwnames) {
  std::vector<Var> args = args_in;
  Var self = Look(args[0]);
  args[0] = self;
  const char* text = PyUnicode_AsUTF8(name);
  PyTypeObject* base = BaseContainer(self->type);
  size_t n = args.size();
  if (self->dict_of != nullptr) return DictOfMethod(self, text, args, kwnames);
  if (base == &PyODict_Type && reinterpret_cast<PyDescrObject*>(descriptor)->d_type == &PyDict_Type &&
      Mutates(base, text))
    return Break(std::string("dict.") + text + "() changes an OrderedDict", BreakKind::kNoModel);
  if (n == 2 && kwnames == nullptr) {
    if (strcmp(text, "__getitem__") == 0) return BuiltinGetItem(self, args[1]);
    if (strcmp(text, "__contains__") == 0) return BuiltinContains(self, args[1]);
    if (strcmp(text, "__delitem__") == 0) return BuiltinSetItem(self, args[1], nullptr) ? None() : nullptr;
  }
  if (n == 3 && kwnames == nullptr && strcmp(text, "__setitem__") == 0)
    return BuiltinSetItem(self, args[1], args[2]) ? None() : nullptr;
  if (n == 1 && strcmp(text, "__len__") == 0) return BuiltinLength(self);
  bool untouched = self->kind == VariableKind::kObject && !self->shadow;
  if (IsDict(base) && kwnames == nullptr && untouched) {
    if (strcmp(text, "get") == 0 && (n == 2 || n == 3)) {
      Var found = DictLookup(self, args[1]);
      if (found != nullptr || failure_ != Failure::kNone) return found;
      return n == 3 ? args[2] : None();
    }
    if (strcmp(text, "pop") == 0 && (n == 2 || n == 3)) {
      Var key = Look(args[1]);
      PyObject* k = key->kind == VariableKind::kScalar ? key->value.get() : TryConst(key);
      if (k != nullptr && IsSafeKey(k)) {
        Var found = DictLookup(self, key);
        if (failure_ != Failure::kNone) return nullptr;
        if (found == nullptr) return n == 3 ? args[2] : RaiseKeyError(key);
        if (found->kind == VariableKind::kLazy) found = Look(found);
        return DeleteKey(self, key, k) ? found : nullptr;
      }
    }
    if (strcmp(text, "setdefault") == 0 && (n == 2 || n == 3)) {
      Var found = DictLookup(self, args[1]);
      if (found != nullptr) {
        // Presence decides that nothing is written.
        Var present = BuiltinContains(self, args[1]);
        if (present == nullptr || Truth(present) < 0) return nullptr;
      }
      if (found != nullptr || failure_ != Failure::kNone) return found;
      Var value = n == 3 ? args[2] : None();
      return BuiltinSetItem(self, args[1], value) ? value : nullptr;
    }
  }
  // Additions that read nothing.
  if (untouched && kwnames == nullptr) {
    bool one = n == 2 && ((base == &PyList_Type && strcmp(text, "append") == 0) ||
                          (base == &PySet_Type && strcmp(text, "add") == 0) ||
                          (base == DequeType() && IsOneOf(text, {"append", "appendleft"})));
    bool many = n == 2 && ((base == &PyList_Type && IsOneOf(text, {"extend", "__iadd__"})) ||
                           (base == DequeType() && IsOneOf(text, {"extend", "extendleft"})));
    if (one && base == &PySet_Type) {
      Var item = Look(args[1]);
      PyObject* constant = item->kind == VariableKind::kScalar ? item->value.get() : TryConst(item);
      one = constant != nullptr && IsSafeKey(constant);
    }
    if ((one || many) && base == DequeType() && IsBounded(self->value.get()) && !LosesElementsQuietly(self))
      return nullptr;
    if (one) {
      NoteContents(self, text, Describe(args[1]));
      self->delta.push_back({descriptor, {args[1]}});
      return None();
    }
    if (many && Look(args[1]) != self) {
      std::vector<Var> items;
      if (!Iterate(args[1], &items)) return nullptr;
      for (Var item : items) NoteContents(self, text, Describe(item));
      if (!self->shadow) {  // iterating may have read it
        static PyObject* list_extend =
            PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyList_Type), "extend");
        PyObject* method = base == &PyList_Type ? list_extend : descriptor;
        if (!items.empty()) self->delta.push_back({method, {NewTuple(items)}});
        return strcmp(text, "__iadd__") == 0 ? self : None();
      }
      args[1] = NewTuple(items);
    }
  }
  if (!EnsureShadow(self)) return nullptr;
  if (IsOneOf(text, {"__reduce__", "__reduce_ex__", "__sizeof__"}))
    return Break(std::string("method '") + text + "' of a container", BreakKind::kNoModel);
  if (self->type != base && CopiesAsSubclass(base) &&
      IsOneOf(text, {"copy", "__copy__", "__add__", "__mul__", "__rmul__", "__or__", "__ror__"})) {
    return Break(std::string("method '") + text + "' makes an object of class " + self->type->tp_name,
                 BreakKind::kNoModel);
  }
  bool keyed = IsDict(base) || base == &PySet_Type || base == &PyFrozenSet_Type;
  for (size_t i = 1; i < n; i++) {
    Var a = Look(args[i]);
    bool specialise =
        (keyed && i == 1) ||
        (base == &PyList_Type &&
         IsOneOf(text, {"insert", "pop", "index", "count", "remove", "__imul__", "__mul__"}) && i == 1) ||
        (base == DequeType() && IsOneOf(text, {"rotate", "insert", "index", "count", "remove"}) && i == 1);
    if (specialise && a->kind == VariableKind::kScalar && !Specialize(a)) return nullptr;
    if (keyed && i == 1 && a->kind == VariableKind::kNew && a->type == &PyTuple_Type &&
        IsOneOf(text, {"get", "pop", "setdefault", "add", "discard", "remove"})) {
      for (Var item : a->items) {
        if (Look(item)->kind == VariableKind::kScalar && !Specialize(item)) return nullptr;
      }
    }
  }
  DeltaCall logged{nullptr, {}};
  if (Mutates(base, text)) {
    bool bounded = base == DequeType() && self->value && IsBounded(self->value.get());
    if (Removes(text, bounded) && !LosesElementsQuietly(self)) return nullptr;
    NoteContents(self, text, n > 1 ? Describe(args[n - 1]) : "");
    if (base == &PySet_Type && self->kind == VariableKind::kObject) {
      if (self->log.empty()) GuardSetLayout(self);
      logged.method = descriptor;
      for (size_t i = 1; i < n; i++) logged.args.push_back(Snapshot(args[i]));
    }
  }
  std::vector<PyRef> refs;
  std::vector<PyObject*> values = {self->shadow.get()};
  for (size_t i = 1; i < n; i++) {
    PyObject* a = ArgumentShadow(args[i]);
    if (a == nullptr) return RaiseFromPython();
    refs.push_back(PyRef::Steal(a));
    values.push_back(a);
  }
  size_t positional = n - (kwnames != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  PyRef result = PyRef::Steal(PyObject_Vectorcall(descriptor, values.data(), positional, kwnames));
  for (size_t i = 1; i < n; i++) MarkMoved(args[i]);
  bool all_or_nothing = IsOneOf(text, {"remove", "pop"});
  if (!result && logged.method != nullptr && !all_or_nothing && failure_ == Failure::kNone) {
    PyErr_Clear();
    return Break(std::string("set.") + text + "() of a set that was there before fails",
                 BreakKind::kPythonRaises);
  }
  if (!result || failure_ != Failure::kNone) return result ? nullptr : RaiseFromPython();
  if (logged.method != nullptr) self->log.push_back(std::move(logged));
  if (result.get() == self->shadow.get()) {
    if (self->type != base && base == &PyFrozenSet_Type)
      return Break("a frozenset is made of an instance of a subclass", BreakKind::kNoModel);
    return self;
  }
  return FromShadow(result.get());
}

// What the changes that follow make of its order.
void Trace::GuardSetLayout(Var set) {
  PyRef layout = PyRef::Steal(SetTemplate(set->value.get()));
  keep_alive_.push_back(layout);
  Guard g{GuardKind::kSetLayout, set->source, {}};
  g.object = ObjectOf(layout.get());
  g.line = CurrentLine();
  g.text = "order of its table";
  guards_.Add(std::move(g));
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

// ---- dicts that were there before, read without a shadow
// --------------------------------------------------------------------

// The value under the key; nullptr without failure: absent (guarded).
Var Trace::DictLookup(Var self, Var key_in) {
  Var key = Look(key_in);
  PyObject* dict = self->value.get();
  PyObject* k = key->kind == VariableKind::kScalar   ? key->value.get()
                : key->kind == VariableKind::kObject ? key->value.get()
                                                     : TryConst(key);
  if (k == nullptr && key->kind == VariableKind::kNew && key->type == &PyTuple_Type) k = ConstValue(key);
  if (failure_ != Failure::kNone) return nullptr;
  if (k == nullptr && key->kind == VariableKind::kScalar) k = ConstValue(key);
  if (k == nullptr) {
    if (failure_ == Failure::kNone) {
      if (key->kind == VariableKind::kTensor || key->kind == VariableKind::kNew) {
        if (!EnsureShadow(self)) return nullptr;
        Var found = ShadowGet(self, key);
        return found;
      }
      Break("a dict is read with a key of type " + std::string(key->type->tp_name), BreakKind::kUserHash);
    }
    return nullptr;
  }
  PyRef key_holder = PyRef::Borrow(k);
  if (!IsSafeKey(k) && strcmp(Py_TYPE(Py_TYPE(k))->tp_name, "EnumType") != 0) {
    Break("a dict is read with a key of type " + std::string(Py_TYPE(k)->tp_name), BreakKind::kUserHash);
    return nullptr;
  }
  if (!self->delta.empty()) {
    for (DeltaCall& call : self->delta) {
      if (ConstValue(call.args[0]) == nullptr) return nullptr;
    }
    if (key->kind == VariableKind::kScalar && !Specialize(key)) return nullptr;
    for (auto it = self->delta.rbegin(); it != self->delta.rend(); ++it) {
      int equal = PyObject_RichCompareBool(ConstValue(it->args[0]), k, Py_EQ);
      if (equal < 0) return RaiseFromPython();
      if (equal == 1) return it->args.size() > 1 ? it->args[1] : nullptr;  // stored, or deleted
    }
  }
  SourceId key_source = SourceOf(key);
  if (!key_source.defined()) {
    keep_alive_.push_back(key_holder);
    key_source = ObjectSource(k);
  }
  PyObject* value = PyDict_GetItemWithError(dict, k);
  if (value == nullptr && PyErr_Occurred() != nullptr) return RaiseFromPython();
  if (value == nullptr) {
    Source s{SourceKind::kContains};
    s.operands = {key_source, self->source};
    Guard g{GuardKind::kTruth, sources_.Intern(std::move(s)), {}};
    g.detail = 0;
    g.line = CurrentLine();
    g.text = "absent";
    guards_.Add(std::move(g));
    return nullptr;
  }
  Source s{SourceKind::kItem};
  s.operands = {self->source, key_source};
  return Lazy(value, sources_.Intern(std::move(s)));
}

Var Trace::ShadowGet(Var self, Var key) {
  PyRef k = PyRef::Steal(ArgumentShadow(key));
  if (!k) return RaiseFromPython();
  PyRef value = PyRef::Steal(PyObject_GetItem(self->shadow.get(), k.get()));
  if (failure_ != Failure::kNone) return nullptr;
  if (!value) {
    if (PyErr_ExceptionMatches(PyExc_KeyError)) {
      PyErr_Clear();
      return nullptr;
    }
    return RaiseFromPython();
  }
  return FromShadow(value.get());
}

Var Trace::RaiseKeyError(Var key) { return Raise(MakeException(PyExc_KeyError, {key})); }

Var Trace::BuiltinGetItem(Var o, Var key_in) {
  Var key = Look(key_in);
  PyTypeObject* base = BaseContainer(o->type);
  bool untouched = o->kind == VariableKind::kObject && !o->shadow;
  if (untouched && base == &PyList_Type && o->delta.empty() && (key->type == &PyLong_Type) &&
      (key->kind == VariableKind::kConst || (key->kind == VariableKind::kScalar && key->value))) {
    Py_ssize_t i = PyLong_AsSsize_t(key->value.get());
    PyErr_Clear();
    Py_ssize_t size = PyList_GET_SIZE(o->value.get());
    if (i < 0) i += size;
    if (i >= 0 && i < size) return ItemAt(o, key, PyList_GET_ITEM(o->value.get(), i));
  }
  if (IsDict(base)) {
    Var found;
    if (untouched) {
      found = DictLookup(o, key);
    } else {
      if (!EnsureShadow(o)) return nullptr;
      if (key->kind == VariableKind::kScalar && !Specialize(key)) return nullptr;
      PyRef k = PyRef::Steal(ArgumentShadow(key));
      if (!k) return RaiseFromPython();
      PyObject* value = PyDict_GetItemWithError(o->shadow.get(), k.get());
      if (failure_ != Failure::kNone) return nullptr;
      if (value == nullptr && PyErr_Occurred() != nullptr) return RaiseFromPython();
      found = value != nullptr ? FromShadow(value) : nullptr;
    }
    if (found != nullptr || failure_ != Failure::kNone) return found;
    static PyObject* missing_name = Name("__missing__");
    PyObject* missing =
        o->type != base || base == DefaultDictType() ? TypeLookup(o->type, missing_name, true) : nullptr;
    if (missing != nullptr && PyFunction_Check(missing)) return Call(Fixed(missing), {o, key});
    if (base == DefaultDictType()) {
      Var factory = DefaultFactory(o);
      if (factory == nullptr) return nullptr;
      if (!Look(factory)->IsConst(Py_None)) {
        if (!untouched) {
          static PyObject* fill = PyObject_GetAttr(reinterpret_cast<PyObject*>(base), missing_name);
          return CallMethodDescriptor(fill, {o, key}, nullptr);
        }
        int edits = o->edits;
        Var value = Call(factory, {});
        if (value != nullptr && o->edits != edits)
          return Break("the factory of a defaultdict changes the dict", BreakKind::kNoModel);
        return value != nullptr && BuiltinSetItem(o, key, value) ? value : nullptr;
      }
    }
    return RaiseKeyError(key);
  }
  if (!EnsureShadow(o)) return nullptr;
  if (key->kind == VariableKind::kScalar && !Specialize(key)) return nullptr;
  PyRef k = SliceOrShadow(key);
  if (!k) return failure_ != Failure::kNone ? nullptr : RaiseFromPython();
  PyRef value = PyRef::Steal(PyObject_GetItem(o->shadow.get(), k.get()));
  if (!value || failure_ != Failure::kNone) return value ? nullptr : RaiseFromPython();
  return FromShadow(value.get());
}

// A key for C code: slices get constant bounds.
PyRef Trace::SliceOrShadow(Var key) {
  key = Look(key);
  if (key->kind == VariableKind::kNew && key->type == &PySlice_Type) {
    PyObject* parts[3];
    for (int i = 0; i < 3; i++) {
      Var item = Look(key->items[static_cast<size_t>(i)]);
      if (item->kind != VariableKind::kConst && item->kind != VariableKind::kScalar) {
        item = CallMethod(item, "__index__", {});
        if (item == nullptr) return PyRef();
      }
      parts[i] = ConstValue(item);
      if (parts[i] == nullptr) return PyRef();
    }
    return PyRef::Steal(PySlice_New(parts[0], parts[1], parts[2]));
  }
  return PyRef::Steal(ArgumentShadow(key));
}

// A key of a dict that was there, which need not be read as a whole for it.
bool Trace::DeleteKey(Var o, Var key, PyObject* k) {
  Var present = BuiltinContains(o, key);
  int truth = present != nullptr ? Truth(present) : -1;
  if (truth < 0) return false;
  if (truth == 0) {
    RaiseKeyError(key);
    return false;
  }
  PyObject* old = PyDict_GetItemWithError(o->value.get(), k);
  PyErr_Clear();
  SourceId key_source = SourceOf(key);
  Source place{SourceKind::kItem};
  place.operands = {o->source, key_source.defined() ? key_source : ObjectSource(k)};
  if (!DropsQuietly(old, sources_.Intern(std::move(place)))) return false;
  static PyObject* delete_dict =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), "__delitem__");
  static PyObject* delete_ordered =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyODict_Type), "__delitem__");
  NoteContents(o, "delitem " + Describe(key), "");
  bool ordered = BaseContainer(o->type) == &PyODict_Type;
  o->delta.push_back({ordered ? delete_ordered : delete_dict, {key}});
  return true;
}

bool Trace::BuiltinSetItem(Var o, Var key_in, Var value) {
  Var key = Look(key_in);
  PyTypeObject* base = BaseContainer(o->type);
  bool untouched = o->kind == VariableKind::kObject && !o->shadow;
  if (IsDict(base) && untouched && value != nullptr) {
    PyObject* k = key->kind == VariableKind::kScalar   ? key->value.get()
                  : key->kind == VariableKind::kObject ? key->value.get()
                                                       : TryConst(key);
    if (k != nullptr && IsSafeKey(k)) {
      static PyObject* set_dict =
          PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), "__setitem__");
      static PyObject* set_ordered =
          PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyODict_Type), "__setitem__");
      SourceId key_source = SourceOf(key);
      if (!key_source.defined()) key_source = ObjectSource(k);
      Source place{SourceKind::kItem};
      place.operands = {o->source, key_source};
      PyObject* old = PyDict_GetItemWithError(o->value.get(), k);
      PyErr_Clear();
      // Many elements: one guard for all.
      SourceId dropped = ++o->overwritten > kMaxQuietElements ? o->source : sources_.Intern(std::move(place));
      if (!DropsQuietly(old, dropped)) return false;
      NoteContents(o, "setitem " + Describe(key), Describe(value));
      o->delta.push_back({base == &PyODict_Type ? set_ordered : set_dict, {key, value}});
      return true;
    }
  }
  if (IsDict(base) && untouched && value == nullptr) {
    PyObject* k = key->kind == VariableKind::kScalar ? key->value.get() : TryConst(key);
    if (k != nullptr && IsSafeKey(k)) return DeleteKey(o, key, k);
  }
  if (!EnsureShadow(o)) return false;
  if (key->kind == VariableKind::kScalar && !Specialize(key)) return false;
  if (IsDict(base) && key->kind == VariableKind::kNew && key->type == &PyTuple_Type) {
    for (Var item : key->items) {
      if (Look(item)->kind == VariableKind::kScalar && !Specialize(item)) return false;
    }
  }
  PyRef k = SliceOrShadow(key);
  if (!k) {
    if (failure_ == Failure::kNone) RaiseFromPython();
    return false;
  }
  if (!LosesElementsQuietly(o)) return false;
  NoteContents(o, (value != nullptr ? "setitem " : "delitem ") + Describe(key),
               value != nullptr ? Describe(value) : "");
  int status;
  if (value != nullptr) {
    bool slice = PySlice_Check(k.get());
    PyRef element = PyRef::Steal(slice ? ArgumentShadow(value) : ElementShadow(value));
    if (!element) {
      RaiseFromPython();
      return false;
    }
    status = PyObject_SetItem(o->shadow.get(), k.get(), element.get());
  } else {
    status = PyObject_DelItem(o->shadow.get(), k.get());
  }
  if (status != 0 || failure_ != Failure::kNone) {
    if (failure_ == Failure::kNone) RaiseFromPython();
    return false;
  }
  return true;
}

Var Trace::BuiltinContains(Var o, Var item_in) {
  Var item = Look(item_in);
  PyTypeObject* base = BaseContainer(o->type);
  bool untouched = o->kind == VariableKind::kObject && !o->shadow;
  if (untouched && IsDict(base) && o->delta.empty() && item->kind == VariableKind::kScalar && item->value &&
      IsSafeKey(item->value.get())) {
    int found = PyDict_Contains(o->value.get(), item->value.get());
    if (found < 0) return RaiseFromPython();
    Source s{SourceKind::kContains};
    s.operands = {item->source, o->source};
    return Scalar(&PyBool_Type, sources_.Intern(std::move(s)), Py_NewRef(found == 1 ? Py_True : Py_False));
  }
  if (untouched && IsDict(base)) {
    Var found = DictLookup(o, item);
    if (found != nullptr) {
      const Source* from = found->kind == VariableKind::kLazy ? &sources_.at(found->source) : nullptr;
      if (from != nullptr && from->kind == SourceKind::kItem && from->operands[0] == o->source) {
        // Presence, not the value, is what was asked.
        Source s{SourceKind::kContains};
        s.operands = {from->operands[1], o->source};
        Guard g{GuardKind::kTruth, sources_.Intern(std::move(s)), {}};
        g.detail = 1;
        g.line = CurrentLine();
        g.text = "present";
        guards_.Add(std::move(g));
      }
      return Bool(true);
    }
    return failure_ != Failure::kNone ? nullptr : Bool(false);
  }
  if (untouched && base == &PySet_Type && o->delta.empty()) {
    PyObject* k = item->kind == VariableKind::kScalar ? item->value.get() : TryConst(item);
    if (k != nullptr && IsSafeKey(k)) {
      int found = PySet_Contains(o->value.get(), k);
      if (found < 0) return RaiseFromPython();
      SourceId key = SourceOf(item);
      Source s{SourceKind::kContains};
      s.operands = {key.defined() ? key : ObjectSource(k), o->source};
      return Scalar(&PyBool_Type, sources_.Intern(std::move(s)), Py_NewRef(found == 1 ? Py_True : Py_False));
    }
  }
  if (!EnsureShadow(o)) return nullptr;
  if (item->kind == VariableKind::kScalar && !Specialize(item)) return nullptr;
  PyRef k = PyRef::Steal(ArgumentShadow(item));
  if (!k) return RaiseFromPython();
  int found = PySequence_Contains(o->shadow.get(), k.get());
  if (failure_ != Failure::kNone) return nullptr;
  return found < 0 ? RaiseFromPython() : Bool(found == 1);
}

Var Trace::BuiltinLength(Var o) {
  bool untouched = o->kind == VariableKind::kObject && !o->shadow;
  PyTypeObject* base = BaseContainer(o->type);
  if (untouched && o->dict_of == nullptr) {
    bool plain_list = base == &PyList_Type;
    if (o->delta.empty() || plain_list) {
      Source s{SourceKind::kLength};
      s.operands = {o->source};
      Py_ssize_t n = PyList_Check(o->value.get())     ? PyList_GET_SIZE(o->value.get())
                     : PyDict_Check(o->value.get())   ? PyDict_GET_SIZE(o->value.get())
                     : PyAnySet_Check(o->value.get()) ? PySet_GET_SIZE(o->value.get())
                                                      : Py_SIZE(o->value.get());
      Var length = Scalar(&PyLong_Type, sources_.Intern(std::move(s)), PyLong_FromSsize_t(n));
      Py_ssize_t added = 0;
      for (DeltaCall& call : o->delta) {
        Var first = Look(call.args[0]);
        bool extend =
            strcmp(PyUnicode_AsUTF8(reinterpret_cast<PyDescrObject*>(call.method)->d_name), "extend") == 0;
        added += extend ? static_cast<Py_ssize_t>(first->items.size()) : 1;
      }
      if (added == 0) return length;
      return ScalarBinary(0, length, Const(PyLong_FromSsize_t(added)));
    }
  }
  if (!EnsureShadow(o)) return nullptr;
  return ConstSteal(PyLong_FromSsize_t(PyObject_Size(o->shadow.get())));
}

// ---- the __dict__ of an object
// ------------------------------------------------------------------------------------------------

Var Trace::DictOfMethod(Var view, const char* text, const std::vector<Var>& args, PyObject* kwnames) {
  Var o = Look(view->dict_of);
  size_t n = args.size();
  view->shadow = PyRef();
  auto key_of = [&]() -> PyObject* {
    PyObject* key = ConstValue(args[1]);
    if (key != nullptr && !IsName(key)) return nullptr;
    return failure_ == Failure::kNone ? key : nullptr;
  };
  bool is_class = o->kind == VariableKind::kObject && PyType_Check(o->value.get());
  if (is_class) return Break("the __dict__ of a class is used", BreakKind::kClassChanged);
  if (kwnames == nullptr && n >= 2 &&
      IsOneOf(text,
              {"__getitem__", "get", "__contains__", "pop", "setdefault", "__setitem__", "__delitem__"})) {
    PyObject* key = key_of();
    if (key == nullptr) return nullptr;
    PyObject* interned = Py_NewRef(key);
    PyUnicode_InternInPlace(&interned);
    keep_alive_.push_back(PyRef::Steal(interned));
    if (strcmp(text, "__setitem__") == 0 && n == 3) {
      NoteAttribute(o, interned, args[2]);
      return None();
    }
    Var value;
    if (!InstanceLookup(o, interned, true, &value)) return nullptr;
    if (strcmp(text, "__contains__") == 0) {
      if (value != nullptr && value->kind == VariableKind::kLazy) Look(value);
      return Bool(value != nullptr);
    }
    if (strcmp(text, "get") == 0) return value != nullptr ? value : n == 3 ? args[2] : None();
    if (strcmp(text, "__getitem__") == 0) return value != nullptr ? value : RaiseKeyError(args[1]);
    if (strcmp(text, "setdefault") == 0) {
      if (value != nullptr) return value;
      value = n == 3 ? args[2] : None();
      NoteAttribute(o, interned, value);
      return value;
    }
    if (value == nullptr) return strcmp(text, "pop") == 0 && n == 3 ? args[2] : RaiseKeyError(args[1]);
    value = Look(value);
    NoteAttribute(o, interned, nullptr);
    return strcmp(text, "pop") == 0 ? value : None();
  }
  if (strcmp(text, "update") == 0) {
    size_t positional = n - (kwnames != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
    if (positional == 2) {
      Var items = CallReal(reinterpret_cast<PyObject*>(&PyDict_Type), {args[1]}, nullptr);
      if (items == nullptr) return nullptr;
      PyObject *key, *value;
      Py_ssize_t position = 0;
      while (PyDict_Next(items->shadow.get(), &position, &key, &value) != 0) {
        if (!IsName(key)) return nullptr;
        PyObject* interned = Py_NewRef(key);
        PyUnicode_InternInPlace(&interned);
        keep_alive_.push_back(PyRef::Steal(interned));
        NoteAttribute(o, interned, FromShadow(value));
      }
    }
    for (size_t i = positional; i < n; i++) {
      NoteAttribute(o, PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i - positional)), args[i]);
    }
    return None();
  }
  if (IsOneOf(text, {"items", "keys", "values", "copy", "__len__", "__iter__", "__repr__", "__eq__"})) {
    if (!DictOfShadow(view)) return nullptr;
    PyRef copy = PyRef::Steal(PyDict_Copy(view->shadow.get()));
    view->shadow = PyRef();
    Var snapshot = NewContainer(&PyDict_Type, copy.release());
    return CallMethod(snapshot, text, std::vector<Var>(args.begin() + 1, args.end()));
  }
  return Break(std::string("method '") + text + "' of the __dict__ of an object", BreakKind::kClassChanged);
}

}  // namespace thirdbook
