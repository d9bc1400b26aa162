// Attribute access by CPython's rules: data descriptor, instance, non-data descriptor, __getattr__. See
// trace.h.
//
// In: a variable and a name. Out: a variable, or a failure. Invariant: whatever was looked up in a class or
// found absent in an instance is guarded; user descriptors and hooks are traced inline, never run.
#include "interpret/attributes.h"
#include "interpret/trace.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

// The dict of an instance (borrowed), nullptr when its type has none. No user code runs.
PyObject* InstanceDict(PyObject* o) {
  if (PyModule_Check(o)) return PyModule_GetDict(o);
  if (PyType_Check(o)) return nullptr;
  PyTypeObject* type = Py_TYPE(o);
  if (type->tp_dictoffset == 0 && !PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT)) return nullptr;
  PyObject* dict = PyObject_GenericGetDict(o, nullptr);
  if (dict == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  Py_DECREF(dict);  // the object keeps it
  return dict;
}

// Whether a read goes to it before the instance: one that only sets does not.
bool ReadsFirst(PyObject* o) { return IsDataDescriptor(o) && Py_TYPE(o)->tp_descr_get != nullptr; }

// Whether a class attribute is data (a number, a list, a tensor...), not something that binds or behaves.
bool IsPlainData(PyObject* o) { return Py_TYPE(o)->tp_descr_get == nullptr; }

}  // namespace

// A plain class attribute as a value that may change between calls.
Var Trace::AttributeValue(PyObject* found, PyTypeObject* type, PyObject* name) {
  return IsImmutableType(type) ? Fixed(found) : Lazy(found, TypeAttributeSource(type, name));
}

SourceId Trace::TypeAttributeSource(PyTypeObject* type, PyObject* name) {
  keep_alive_.push_back(PyRef::Borrow(name));
  return Expression(SourceKind::kTypeAttribute, {ObjectSource(reinterpret_cast<PyObject*>(type))},
                    ObjectOf(name), PyUnicode_AsUTF8(name));
}

// The instance's own attribute: written ones first, then the real dict. *out null: absent. `shadowable`:
// absence must be guarded.
bool Trace::InstanceLookup(Var o, PyObject* name, bool guard_absence, Var* out) {
  *out = nullptr;
  if (!IsName(name)) return false;
  bool deleted;
  Var written = o->FindAttribute(name, &deleted);
  if (written != nullptr) {
    *out = written;
    return true;
  }
  return deleted || HeldByObject(o, name, guard_absence, out);
}

// The same as of before the call.
bool Trace::HeldByObject(Var o, PyObject* name, bool guard_absence, Var* out) {
  if ((o->kind != VariableKind::kObject && o->kind != VariableKind::kTensor) || !o->value) return true;
  PyObject* dict = InstanceDict(o->value.get());
  if (dict == nullptr) return true;
  if (!PyModule_Check(o->value.get())) {
    PyObject* key;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict, &position, &key, nullptr) != 0) {
      if (PyUnicode_CheckExact(key)) continue;
      Break("the __dict__ of an object has keys that are no text", BreakKind::kUserHash);
      return false;
    }
    dict_owner_[dict] = o;
    auto known = known_.find(dict);
    if (known != known_.end() && known->second->dict_of == nullptr) {
      if (known->second->shadow || !known->second->delta.empty()) {
        Break("the __dict__ of an object was changed as a dict before its attributes are used",
              BreakKind::kClassChanged);
        return false;
      }
      known->second->dict_of = o;
    }
  }
  PyObject* value = PyDict_GetItemWithError(dict, name);
  if (value == nullptr && PyErr_Occurred() != nullptr) {
    RaiseFromPython();
    return false;
  }
  if (value != nullptr) {
    PyObject* hook = TypeLookup(o->type, TB_NAME("__getattribute__"), false);
    PyObject* shadowing = PyModule_Check(o->value.get()) ? nullptr : TypeLookup(o->type, name, false);
    if (shadowing != nullptr && ReadsFirst(shadowing)) {  // reached through __dict__ only
      *out =
          Lazy(value, Expression(SourceKind::kItem, {Expression(SourceKind::kAttribute, {o->source},
                                                                ObjectOf(TB_NAME("__dict__")), "__dict__", 2),
                                                     ObjectSource(name)}));
      return true;
    }
    *out = Lazy(value, Expression(SourceKind::kAttribute, {o->source}, ObjectOf(name), PyUnicode_AsUTF8(name),
                                  hook != nullptr && PyFunction_Check(hook) ? 3 : 0));
    return true;
  }
  if (guard_absence) {
    Guard g{GuardKind::kHasNoAttribute, o->source, {}};
    g.name = ObjectOf(name);
    g.line = CurrentLine();
    g.text = std::string("no attribute '") + PyUnicode_AsUTF8(name) + "'";
    guards_.Add(std::move(g));
  }
  return true;
}

// A module's names are its dict, which its functions have as globals: one place for both.
Var Trace::ObjectDict(Var object) {
  object = Look(object);
  if (object->kind == VariableKind::kObject) {
    PyObject* dict = PyModule_Check(object->value.get()) ? PyModule_GetDict(object->value.get())
                                                         : InstanceDict(object->value.get());
    if (PyModule_Check(object->value.get())) return Fixed(dict);
    if (dict != nullptr) {
      dict_owner_[dict] = object;
      Var v = Look(Lazy(dict, Expression(SourceKind::kAttribute, {object->source},
                                         ObjectOf(TB_NAME("__dict__")), "__dict__", 2)));
      if (v->dict_of == nullptr) {
        if (v->shadow || !v->delta.empty())
          return Break("the __dict__ of an object was changed as a dict before its attributes are used",
                       BreakKind::kClassChanged);
        v->dict_of = object;
      }
      return v;
    }
  }
  Var view = New(&PyDict_Type);
  view->dict_of = object;
  return view;
}

Var Trace::GetAttrGeneric(Var o, PyObject* name) {
  o = Look(o);
  if (o->kind == VariableKind::kObject && PyModule_CheckExact(o->value.get())) {
    PyObject* descriptor = TypeLookup(o->type, name, false);
    if (descriptor == nullptr || !ReadsFirst(descriptor)) {
      PyObject* dict_object = PyModule_GetDict(o->value.get());
      PyObject* owner = PyDict_GetItemWithError(dict_object, TB_NAME("__name__"));
      PyObject* own = PyDict_GetItemWithError(dict_object, name);
      if (owner != nullptr && PyUnicode_Check(owner) &&
          strncmp(PyUnicode_AsUTF8(owner), "thirdbook", 9) == 0 && own != nullptr &&
          (PyFunction_Check(own) || PyType_Check(own) || PyModule_Check(own) || PyCFunction_Check(own) ||
           IsOpFunction(own))) {
        return Fixed(own);
      }
      Var dict = Fixed(dict_object);
      if (!dict->shadow) {
        Var found = DictLookup(dict, Const(name));
        if (found != nullptr || failure_ != Failure::kNone) return found;
      } else if (PyObject* value = PyDict_GetItemWithError(dict->shadow.get(), name)) {
        return FromShadow(value);
      }
    }
  }
  PyTypeObject* type = o->type;
  PyObject* found = TypeLookup(type, name, false);
  Var class_write = nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(MroOf(type)) && class_write == nullptr; i++) {
    auto it = known_.find(PyTuple_GET_ITEM(type->tp_mro, i));
    bool deleted = false;
    if (it != known_.end()) class_write = it->second->FindAttribute(name, &deleted);
    if (deleted)
      return Break("a class attribute that was deleted in this call is looked up through an instance",
                   BreakKind::kClassChanged);
    if (it != known_.end() && class_write != nullptr) break;
    PyRef dict =
        PyRef::Steal(PyType_GetDict(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i))));
    if (dict && PyDict_Contains(dict.get(), name) == 1) break;
  }
  if (class_write == nullptr && found != nullptr && ReadsFirst(found)) {
    TypeLookup(type, name, true);
    return BindDescriptor(found, o, type, name);
  }
  Var own;
  if (!InstanceLookup(o, name, true, &own)) return nullptr;
  if (own != nullptr) {
    // No data descriptor came in between.
    if (found == nullptr || !IsPlainData(found)) {
      TypeLookup(type, name, true);
    } else if (!IsImmutableType(type)) {
      AddGuard(GuardKind::kExists, TypeAttributeSource(type, name));
    }
    return own;
  }
  if (class_write != nullptr) {
    Var w = Look(class_write);
    if (w->type == &PyFunction_Type) return NewMethod(w, o);
    if (w->type->tp_descr_get != nullptr)
      return Break("a descriptor stored on a class in this call is used through an instance",
                   BreakKind::kClassChanged);
    return w;
  }
  if (found != nullptr) {
    if (IsPlainData(found)) return AttributeValue(found, type, name);
    TypeLookup(type, name, true);
    return BindDescriptor(found, o, type, name);
  }
  TypeLookup(type, name, true);
  std::string message =
      std::string("'") + type->tp_name + "' object has no attribute '" + PyUnicode_AsUTF8(name) + "'";
  if (PyModule_Check(o->value ? o->value.get() : Py_None)) {
    // module-level __getattr__
    PyObject* dict = PyModule_GetDict(o->value.get());
    PyObject* hook = PyDict_GetItemWithError(dict, TB_NAME("__getattr__"));
    if (hook != nullptr && PyFunction_Check(hook)) return Call(Fixed(hook), {Const(name)});
    const char* module = PyModule_GetName(o->value.get());
    PyErr_Clear();
    message = std::string("module ") + (module != nullptr ? std::string("'") + module + "' " : "") +
              "has no attribute '" + PyUnicode_AsUTF8(name) + "'";
  }
  RaiseNew(PyExc_AttributeError, {message});
  raised_->attributes.emplace_back(PyRef::Borrow(TB_NAME("name")), Const(name));
  raised_->attributes.emplace_back(PyRef::Borrow(TB_NAME("obj")), o);
  return nullptr;
}

Var Trace::TypeGetAttr(Var type_var, PyObject* name) {
  type_var = Look(type_var);
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(type_var->value.get());
  PyTypeObject* meta = Py_TYPE(type_var->value.get());
  if (type->tp_mro == nullptr) return Break("a class that is being made is used", BreakKind::kClassChanged);
  PyObject* meta_found = TypeLookup(meta, name, true);
  if (meta_found != nullptr && ReadsFirst(meta_found)) {
    const char* text = PyUnicode_AsUTF8(name);
    if (Py_TYPE(meta_found) == &PyProperty_Type) return BindDescriptor(meta_found, type_var, meta, name);
    if (strcmp(text, "__name__") == 0 || strcmp(text, "__qualname__") == 0 ||
        strcmp(text, "__module__") == 0 || strcmp(text, "__mro__") == 0 || strcmp(text, "__bases__") == 0 ||
        strcmp(text, "__base__") == 0 || strcmp(text, "__doc__") == 0 || strcmp(text, "__class__") == 0) {
      if (type_var->HasAttributeWrite(name))
        return Break("a class's own attribute was written in this call", BreakKind::kClassChanged);
      PyRef value = PyRef::Steal(PyObject_GetAttr(type_var->value.get(), name));
      if (!value) return RaiseFromPython();
      if (PyTuple_CheckExact(value.get())) {
        std::vector<Var> items;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value.get()); i++)
          items.push_back(Fixed(PyTuple_GET_ITEM(value.get(), i)));
        return NewTuple(std::move(items));
      }
      return Fixed(value.get());
    }
    return Break({"attribute '", text, "' of class ", type->tp_name}, BreakKind::kKeptByPython);
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(MroOf(type)); i++) {
    PyTypeObject* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    auto it = known_.find(reinterpret_cast<PyObject*>(base));
    if (it != known_.end()) {
      bool deleted;
      if (Var w = it->second->FindAttribute(name, &deleted)) {
        w = Look(w);
        if (w->kind == VariableKind::kNew && w->type->tp_descr_get != nullptr &&
            w->type != &PyFunction_Type) {
          return Break("a descriptor stored on a class in this call is looked up", BreakKind::kClassChanged);
        }
        return w;
      }
      if (deleted) continue;
    }
    PyRef dict = PyRef::Steal(PyType_GetDict(base));
    PyObject* found = dict ? PyDict_GetItemWithError(dict.get(), name) : nullptr;
    PyErr_Clear();
    if (found == nullptr) continue;
    if (IsPlainData(found)) return AttributeValue(found, type, name);
    TypeLookup(type, name, true);
    return BindDescriptor(found, nullptr, type, name);
  }
  TypeLookup(type, name, true);
  if (meta_found != nullptr) return BindDescriptor(meta_found, type_var, meta, name);
  RaiseNew(PyExc_AttributeError,
           {"type object '", type->tp_name, "' has no attribute '", PyUnicode_AsUTF8(name), "'"});
  raised_->attributes.emplace_back(PyRef::Borrow(TB_NAME("name")), Const(name));
  raised_->attributes.emplace_back(PyRef::Borrow(TB_NAME("obj")), type_var);
  return nullptr;
}

bool Trace::IsName(PyObject* name) {
  if (PyUnicode_CheckExact(name) && PyUnicode_AsUTF8(name) != nullptr) return true;
  PyErr_Clear();
  Break("a name is no text, or text that has no UTF-8 form", BreakKind::kNoModel);
  return false;
}

// A module object that was never initialised has no names yet.
bool IsHalfMade(Var o) {
  return o->kind == VariableKind::kObject && PyModule_Check(o->value.get()) &&
         PyModule_GetDict(o->value.get()) == nullptr;
}

Var Trace::GetAttr(Var o, PyObject* name) {
  if (!IsName(name)) return nullptr;
  o = Look(o);
  if (IsHalfMade(o)) return Break("a module that is not initialised is used");
  keep_alive_.push_back(PyRef::Borrow(name));
  if (o->kind == VariableKind::kNull) return Break("internal: attribute of NULL", BreakKind::kInternal);
  if (o->kind == VariableKind::kTensor) return TensorGetAttr(o, name);
  if (o->type == &PySuper_Type && o->kind == VariableKind::kNew)
    return SuperGetAttr(o->items[0], o->items[1], name);
  if (o->kind == VariableKind::kObject && PyType_Check(o->value.get())) {
    PyObject* hook = TypeLookup(o->type, TB_NAME("__getattribute__"), true);
    if (hook != nullptr && PyFunction_Check(hook)) return Call(Fixed(hook), {o, Const(name)});
    Var v = TypeGetAttr(o, name);
    if (v == nullptr && RaisedMatches(PyExc_AttributeError)) {
      PyObject* getattr = TypeLookup(o->type, TB_NAME("__getattr__"), true);
      if (getattr != nullptr && PyFunction_Check(getattr)) {
        ClearFailure();
        return Call(Fixed(getattr), {o, Const(name)});
      }
    }
    return v;
  }
  if (o->type == &PyMethod_Type && o->kind == VariableKind::kNew) {
    if (PyUnicode_Compare(name, TB_NAME("__func__")) == 0) return o->items[0];
    if (PyUnicode_Compare(name, TB_NAME("__self__")) == 0) return o->items[1];
    if (TypeLookup(&PyMethod_Type, name, false) != nullptr &&
        PyUnicode_Compare(name, TB_NAME("__doc__")) != 0)
      return Break({"attribute '", PyUnicode_AsUTF8(name), "' of a bound method"});
    return GetAttr(o->items[0], name);
  }
  if (o->type == &PySlice_Type) {
    static const char* const kParts[] = {"start", "stop", "step"};
    for (size_t i = 0; i < 3; i++) {
      if (PyUnicode_CompareWithASCIIString(name, kParts[i]) != 0) continue;
      if (o->kind == VariableKind::kNew) return o->items[i];
      if (o->kind == VariableKind::kConst) return ConstSteal(PyObject_GetAttr(o->value.get(), name));
    }
  }
  if (o->type == &PyContextToken_Type && o->kind == VariableKind::kNew) {
    if (PyUnicode_Compare(name, TB_NAME("var")) == 0) return o->items[0];
    if (PyUnicode_Compare(name, TB_NAME("old_value")) == 0) return OldContextValue(o);
  }
  if (o->type == &PyCell_Type && PyUnicode_Compare(name, TB_NAME("cell_contents")) == 0)
    return CellContents(o, name);
  PyObject* hook = TypeLookup(o->type, TB_NAME("__getattribute__"), true);
  Var v;
  if (hook != nullptr && PyFunction_Check(hook)) {
    v = Call(Fixed(hook), {o, Const(name)});
  } else if (IsThreadLocal(o)) {
    v = ThreadLocalGetAttr(o, name);
  } else if (hook != nullptr && Py_TYPE(hook) == &PyWrapperDescr_Type && HasOwnGetAttr(o->type) &&
             HasOwnGetAttr(reinterpret_cast<PyDescrObject*>(hook)->d_type) &&
             reinterpret_cast<PyDescrObject*>(hook)->d_type != &PyModule_Type) {
    return Break({"attribute '", PyUnicode_AsUTF8(name), "' of a ", o->type->tp_name});
  } else {
    v = GetAttrGeneric(o, name);
  }
  if (v == nullptr && RaisedMatches(PyExc_AttributeError)) {
    PyObject* getattr = TypeLookup(o->type, TB_NAME("__getattr__"), true);
    if (getattr != nullptr && PyFunction_Check(getattr)) {
      ClearFailure();
      return Call(Fixed(getattr), {o, Const(name)});
    }
  }
  return v;
}

Var Trace::SuperGetAttr(Var cls, Var self, PyObject* name) {
  cls = Look(cls);
  self = Look(self);
  if (cls->kind != VariableKind::kObject || !PyType_Check(cls->value.get()))
    return Break("super() of something that is not a class", BreakKind::kPythonRaises);
  keep_alive_.push_back(PyRef::Borrow(name));
  if (PyUnicode_Compare(name, TB_NAME("__class__")) == 0)  // its own
    return Fixed(reinterpret_cast<PyObject*>(&PySuper_Type));
  bool self_is_class = self->kind == VariableKind::kObject && PyType_Check(self->value.get()) &&
                       PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(self->value.get()),
                                        reinterpret_cast<PyTypeObject*>(cls->value.get())) != 0;
  PyTypeObject* start = self_is_class ? reinterpret_cast<PyTypeObject*>(self->value.get()) : self->type;
  PyObject* mro = MroOf(start);
  Py_ssize_t i = 0, n = PyTuple_GET_SIZE(mro);
  while (i < n && PyTuple_GET_ITEM(mro, i) != cls->value.get()) i++;
  if (i == n) return Break("super(type, obj): obj is not an instance of type", BreakKind::kPythonRaises);
  for (i++; i < n; i++) {
    PyTypeObject* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    PyRef dict = PyRef::Steal(PyType_GetDict(base));
    PyObject* found = dict ? PyDict_GetItemWithError(dict.get(), name) : nullptr;
    PyErr_Clear();
    auto it = known_.find(reinterpret_cast<PyObject*>(base));
    if (it != known_.end() && it->second->HasAttributeWrite(name))
      return Break("super() finds a class attribute that was written in this call", BreakKind::kClassChanged);
    if (found == nullptr) continue;
    TypeLookup(base, name, true);
    if (IsPlainData(found)) return AttributeValue(found, base, name);
    return BindDescriptor(found, self_is_class ? nullptr : self, start, name);
  }
  if (TypeLookup(&PySuper_Type, name, false) != nullptr)
    return Break({"attribute '", PyUnicode_AsUTF8(name), "' of a super object"});
  return RaiseNew(PyExc_AttributeError, {"'super' object has no attribute '", PyUnicode_AsUTF8(name), "'"});
}

}  // namespace thirdbook
