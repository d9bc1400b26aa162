// The __dict__ of an object as a dict: reading it as a whole, and its methods. See trace.h.
//
// In: a variable that stands for an object's __dict__. Out: its entries or the result of a method. Invariant:
// writes through it are the object's attributes, so the ledger has one row for one change.
#include "interpret/containers.h"

namespace thirdbook {

namespace {

// A member that `__slots__` made is no entry of the __dict__, though it is written like one.
bool IsSlot(Trace& t, Var o, PyObject* name) {
  PyObject* found = t.TypeLookup(o->type, name, false);
  return found != nullptr && Py_TYPE(found) == &PyMemberDescr_Type;
}

}  // namespace

// The __dict__ of an object as a shadow dict, for reading as a whole.
bool Trace::DictOfShadow(Var view) {
  Var o = Look(view->dict_of);
  PyRef shadow = PyRef::Steal(PyDict_New());
  if (o->kind == VariableKind::kObject) {
    static PyObject* dict_name = PyUnicode_InternFromString("__dict__");
    PyObject* real = PyModule_Check(o->value.get())
                         ? PyModule_GetDict(o->value.get())
                         : PyRef::Steal(PyObject_GenericGetDict(o->value.get(), nullptr)).get();
    if (real == nullptr || PyType_Check(o->value.get())) {
      PyErr_Clear();
      Break("the __dict__ of a class is read as a whole", BreakKind::kClassChanged);
      return false;
    }
    PyRef keys = PyRef::Steal(PySequence_Tuple(real));
    AddGuard(GuardKind::kKeys,
             Expression(SourceKind::kAttribute, {o->source}, ObjectOf(dict_name), "__dict__", 2), keys.get());
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
    if (value == nullptr || IsSlot(*this, o, key.get())) continue;
    PyRef element = PyRef::Steal(ElementShadow(value));
    if (!element || PyDict_SetItem(shadow.get(), key.get(), element.get()) != 0) return false;
  }
  view->shadow = shadow;
  return true;
}

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
    if (IsSlot(*this, o, interned))
      return Break("an entry of a __dict__ has the name of a slot", BreakKind::kClassChanged);
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
  return Break({"method '", text, "' of the __dict__ of an object"}, BreakKind::kClassChanged);
}

}  // namespace thirdbook
