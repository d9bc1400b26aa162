// Methods of built-in containers: recorded as deltas where they only add, else CPython's own on the shadow.
// See containers.cc.
//
// In: a method descriptor and its arguments, self first. Out: the result. Invariant: a method that takes
// elements away is only traced where their end runs no user code.
#include "interpret/containers.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

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

}  // namespace

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
    return Break({"dict.", text, "() changes an OrderedDict"}, BreakKind::kNoModel);
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
    return Break({"method '", text, "' of a container"}, BreakKind::kNoModel);
  if (self->type != base && CopiesAsSubclass(base) &&
      IsOneOf(text, {"copy", "__copy__", "__add__", "__mul__", "__rmul__", "__or__", "__ror__"})) {
    return Break({"method '", text, "' makes an object of class ", self->type->tp_name}, BreakKind::kNoModel);
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
    // That it goes through itself is known by identity: l.extend(l) ends.
    const bool itself = Look(args[i]) == self &&
                        IsOneOf(text, {"extend", "extendleft", "update", "__iadd__", "difference_update",
                                       "intersection_update", "symmetric_difference_update"});
    PyObject* a = itself ? Py_NewRef(values[0]) : ArgumentShadow(args[i]);
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
    return Break({"set.", text, "() of a set that was there before fails"}, BreakKind::kPythonRaises);
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

}  // namespace thirdbook
