// Attribute access by CPython's rules: data descriptor, instance, non-data descriptor, __getattr__. See
// trace.h.
//
// In: a variable and a name. Out: a variable, or a failure. Invariant: whatever was looked up in a class or
// found absent in an instance is guarded; user descriptors and hooks are traced inline, never run.
#include "interpret/trace.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

PyObject* Intern(const char* text) { return PyUnicode_InternFromString(text); }

#define TB_NAME(text)                     \
  ([] {                                   \
    static PyObject* name = Intern(text); \
    return name;                          \
  }())

bool IsImmutableType(PyTypeObject* type) {
  return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE);
}

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

// A tuple of texts and numbers: of code objects, say, which keep one.
bool IsPlainConstantTuple(PyObject* o) {
  if (!PyTuple_CheckExact(o)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++) {
    PyObject* item = PyTuple_GET_ITEM(o, i);
    if (!PyUnicode_CheckExact(item) && !PyLong_CheckExact(item) && item != Py_None) return false;
  }
  return true;
}

bool IsDataDescriptor(PyObject* o) { return Py_TYPE(o)->tp_descr_set != nullptr; }

// Whether a read goes to it before the instance: one that only sets does not.
bool ReadsFirst(PyObject* o) { return IsDataDescriptor(o) && Py_TYPE(o)->tp_descr_get != nullptr; }

// Whether a class attribute is data (a number, a list, a tensor...), not something that binds or behaves.
bool IsPlainData(PyObject* o) { return Py_TYPE(o)->tp_descr_get == nullptr; }

// Compared with the slots of `object`, not with the functions: a side module may see a function of Pyodide's
// main module at another place of the table than the main module itself does (WebKit).
bool HasOwnGetAttr(PyTypeObject* t) { return t->tp_getattro != PyBaseObject_Type.tp_getattro; }
bool HasOwnSetAttr(PyTypeObject* t) { return t->tp_setattro != PyBaseObject_Type.tp_setattro; }

}  // namespace

// Empty while the class is being made.
PyObject* MroOf(PyTypeObject* type) {
  static PyObject* none = PyTuple_New(0);
  return type->tp_mro != nullptr ? type->tp_mro : none;
}

PyObject* Trace::TypeLookup(PyTypeObject* type, PyObject* name, bool guard) {
  PyObject* mro = MroOf(type);
  PyObject* found = nullptr;
  bool mutable_class = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro) && found == nullptr; i++) {
    PyTypeObject* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (!IsImmutableType(base)) mutable_class = true;
    PyRef dict = PyRef::Steal(PyType_GetDict(base));
    if (!dict) {
      PyErr_Clear();
      continue;
    }
    found = PyDict_GetItemWithError(dict.get(), name);
    PyErr_Clear();
  }
  if (guard && mutable_class) {
    Guard g{GuardKind::kTypeLookup, {}, {}};
    g.object = ObjectOf(reinterpret_cast<PyObject*>(type));
    g.object2 = found != nullptr ? ObjectOf(found) : -1;
    g.name = ObjectOf(name);
    g.line = CurrentLine();
    g.text = std::string(type->tp_name) + "." + PyUnicode_AsUTF8(name) +
             (found != nullptr ? " unchanged" : " absent");
    guards_.Add(std::move(g));
  }
  return found;
}

// The class of the MRO that has the name; borrowed.
PyObject* Trace::OwnerOf(PyTypeObject* type, PyObject* name) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(MroOf(type)); i++) {
    PyTypeObject* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    PyRef dict = PyRef::Steal(PyType_GetDict(base));
    if (dict && PyDict_Contains(dict.get(), name) == 1) return reinterpret_cast<PyObject*>(base);
    PyErr_Clear();
  }
  return nullptr;
}

Var Trace::LookupSpecial(Var object, const char* text) {
  PyRef name = PyRef::Steal(Intern(text));
  object = Look(object);
  PyObject* found = TypeLookup(object->type, name.get(), true);
  if (found == nullptr) return nullptr;
  keep_alive_.push_back(name);
  return BindDescriptor(found, object, object->type, name.get());
}

// A value found in a class, bound to the object (null: reached through the class itself).
Var Trace::BindDescriptor(PyObject* descriptor, Var object, PyTypeObject* type, PyObject* name) {
  PyTypeObject* kind = Py_TYPE(descriptor);
  if (object != nullptr && (kind == &PyMemberDescr_Type || kind == &PyGetSetDescr_Type) &&
      IsContainer(object)) {
    const char* field = PyUnicode_AsUTF8(name);
    const char* base = BaseContainer(object->type)->tp_name;
    if (strcmp(field, "maxlen") == 0 && strcmp(base, "collections.deque") == 0) return DequeMaxlen(object);
    if (strcmp(field, "default_factory") == 0 && strcmp(base, "collections.defaultdict") == 0)
      return DefaultFactory(object);
  }
  if (kind == &PyFunction_Type || kind == &PyMethodDescr_Type || kind == &PyWrapperDescr_Type ||
      IsOpFunction(descriptor)) {
    Var function = Fixed(descriptor);
    return object == nullptr ? function : NewMethod(function, object);
  }
  if (kind == &PyStaticMethod_Type || kind == &PyClassMethod_Type) {
    PyRef inner = PyRef::Steal(PyObject_GetAttrString(descriptor, "__func__"));
    if (!inner) return RaiseFromPython();
    if (kind == &PyStaticMethod_Type) return Fixed(inner.get());
    return NewMethod(Fixed(inner.get()), Fixed(reinterpret_cast<PyObject*>(type)));
  }
  if (kind == &PyClassMethodDescr_Type) {
    PyRef bound = PyRef::Steal(kind->tp_descr_get(descriptor, nullptr, reinterpret_cast<PyObject*>(type)));
    return bound ? Fixed(bound.get()) : RaiseFromPython();
  }
  if (kind == PartialType())
    return object == nullptr ? Fixed(descriptor) : NewMethod(Fixed(descriptor), object);
  if (object == nullptr && kind->tp_descr_get == nullptr) return Fixed(descriptor);
  if (kind == &PyProperty_Type) {
    if (object == nullptr) return Fixed(descriptor);
    PyRef getter = PyRef::Steal(PyObject_GetAttrString(descriptor, "fget"));
    if (!getter || getter.get() == Py_None) {
      return RaiseNew(PyExc_AttributeError, std::string("property '") + PyUnicode_AsUTF8(name) + "' of '" +
                                                type->tp_name + "' object has no getter");
    }
    return Call(Fixed(getter.get()), {object});
  }
  if (kind == &PyMemberDescr_Type && object != nullptr && object->kind == VariableKind::kNew &&
      PyType_IsSubtype(object->type, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)) != 0 &&
      strcmp(PyUnicode_AsUTF8(name), "value") == 0) {
    return object->items.empty() ? None() : object->items[0];
  }
  if (kind == &PyMemberDescr_Type && object != nullptr && object->kind == VariableKind::kNew) {
    const char* field = PyUnicode_AsUTF8(name);
    if (object->type == &PySlice_Type)
      return object->items[strcmp(field, "start") == 0 ? 0 : strcmp(field, "stop") == 0 ? 1 : 2];
    if (object->type == PartialType() && strcmp(field, "func") == 0) return object->construct_args[0];
  }
  if (kind == &PyMemberDescr_Type && object != nullptr &&
      !PyType_HasFeature(reinterpret_cast<PyDescrObject*>(descriptor)->d_type, Py_TPFLAGS_HEAPTYPE) &&
      object->kind != VariableKind::kObject) {
    return Break(std::string("attribute '") + PyUnicode_AsUTF8(name) + "' of '" + type->tp_name +
                     "' is kept by the interpreter",
                 BreakKind::kKeptByPython);
  }
  if (kind == &PyMemberDescr_Type && object != nullptr) {
    bool deleted;
    if (Var written = object->FindAttribute(name, &deleted)) return written;
    PyRef value;
    if (!deleted && object->kind == VariableKind::kObject) {
      value = PyRef::Steal(
          kind->tp_descr_get(descriptor, object->value.get(), reinterpret_cast<PyObject*>(type)));
      if (!value) PyErr_Clear();
    }
    if (!value) {
      if (object->kind == VariableKind::kObject && !deleted) GuardEmptySlot(object, descriptor, name);
      PyRef full_name = PyRef::Steal(PyType_GetFullyQualifiedName(object->type));
      return RaiseMissingAttribute(object, name, "", full_name ? PyUnicode_AsUTF8(full_name.get()) : nullptr);
    }
    return Lazy(value.get(), SlotSource(object, descriptor, name));
  }
  if (kind == &PyGetSetDescr_Type && object != nullptr) {
    const char* text = PyUnicode_AsUTF8(name);
    if (PyUnicode_Compare(name, TB_NAME("__class__")) == 0)
      return Fixed(reinterpret_cast<PyObject*>(object->type));
    if (PyUnicode_Compare(name, TB_NAME("__dict__")) == 0) {
      return ObjectDict(object);
    }
    if (object->kind == VariableKind::kConst ||
        object->kind == VariableKind::kScalar) {  // (1).real, numerator
      PyObject* value = ConstValue(object);
      if (value == nullptr) return nullptr;
      PyRef part = PyRef::Steal(PyObject_GetAttr(value, name));
      if (!part) return RaiseFromPython();
      keep_alive_.push_back(part);
      return IsPlainConstantTuple(part.get()) ? Const(part.get()) : FromShadow(part.get());
    }
    if (object->type == &PyFunction_Type && object->kind == VariableKind::kNew) {
      FunctionState& f = *object->function;
      if (strcmp(text, "__name__") == 0 && !object->HasAttributeWrite(name)) {
        return f.name != nullptr ? f.name : Const(f.code->co_name);
      }
      if (strcmp(text, "__qualname__") == 0 && !object->HasAttributeWrite(name)) {
        return f.qualname != nullptr ? f.qualname : Const(f.code->co_qualname);
      }
      if (strcmp(text, "__code__") == 0) return Const(reinterpret_cast<PyObject*>(f.code));
      if (strcmp(text, "__defaults__") == 0 && !object->HasAttributeWrite(name))
        return f.defaults != nullptr ? f.defaults : None();
      if (strcmp(text, "__kwdefaults__") == 0 && !object->HasAttributeWrite(name))
        return f.kwdefaults != nullptr ? f.kwdefaults : None();
      if (strcmp(text, "__doc__") == 0 || strcmp(text, "__module__") == 0) {
        bool deleted;
        if (Var w = object->FindAttribute(name, &deleted)) return w;
        if (strcmp(text, "__doc__") == 0) {
          return (f.code->co_flags & 0x4000000) != 0 ? Const(PyTuple_GET_ITEM(f.code->co_consts, 0)) : None();
        }
        Var module = GlobalLookup(f.globals, TB_NAME("__name__"));
        return module != nullptr ? module : failure_ == Failure::kNone ? None() : nullptr;
      }
      bool deleted;
      if (Var w = object->FindAttribute(name, &deleted)) return w;
    } else if (object->kind == VariableKind::kObject && PyFunction_Check(object->value.get()) &&
               (strcmp(text, "__name__") == 0 || strcmp(text, "__qualname__") == 0 ||
                strcmp(text, "__code__") == 0 || strcmp(text, "__doc__") == 0 ||
                strcmp(text, "__module__") == 0 || strcmp(text, "__defaults__") == 0)) {
      bool deleted;
      if (Var w = object->FindAttribute(name, &deleted)) return w;
      PyRef value = PyRef::Steal(PyObject_GenericGetAttr(object->value.get(), name));
      if (!value) return RaiseFromPython();
      const SourceId source = SlotSource(object, descriptor, name);
      if (!PyCode_Check(value.get())) return Lazy(value.get(), source);
      AddIdentityGuard(source, value.get());
      return Fixed(value.get());
    } else if (PyType_IsSubtype(object->type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) != 0) {
      bool deleted;
      if (Var w = object->FindAttribute(name, &deleted)) return w;
      if (strcmp(text, "args") == 0 && object->kind == VariableKind::kNew) return NewTuple(object->items);
      if (strcmp(text, "__context__") == 0 && object->kind == VariableKind::kNew)
        return object->context != nullptr ? object->context : None();
      if (strcmp(text, "__cause__") == 0 && object->kind == VariableKind::kNew) return None();
      if (strcmp(text, "__suppress_context__") == 0 && object->kind == VariableKind::kNew) return Bool(false);
    }
    return Break(
        std::string("attribute '") + text + "' of '" + type->tp_name + "' is kept by the interpreter",
        BreakKind::kKeptByPython);
  }
  if (kind->tp_descr_get == nullptr) return Fixed(descriptor);
  if (strstr(kind->tp_name, "_tuplegetter") != nullptr) {  // a field of a named tuple
    if (object == nullptr) return Fixed(descriptor);
    PyRef parts =
        PyRef::Steal(PyObject_CallMethod(descriptor, "__reduce__", nullptr));  // (type, (index, doc))
    if (!parts) return RaiseFromPython();
    PyObject* index = PyTuple_GET_ITEM(PyTuple_GET_ITEM(parts.get(), 1), 0);
    keep_alive_.push_back(PyRef::Borrow(index));
    return GetItem(object, Const(index));
  }
  // A user descriptor: its __get__ is traced.
  PyObject* getter = TypeLookup(kind, TB_NAME("__get__"), true);
  if (getter != nullptr && PyFunction_Check(getter)) {
    Var instance = object != nullptr ? object : None();
    Source s{SourceKind::kTypeAttribute};
    s.object = ObjectOf(name);
    s.operands = {ObjectSource(reinterpret_cast<PyObject*>(type))};
    s.name = PyUnicode_AsUTF8(name);
    Var d = Look(Lazy(descriptor, sources_.Intern(std::move(s))));
    return Call(Fixed(getter), {d, instance, Fixed(reinterpret_cast<PyObject*>(type))});
  }
  return Break(std::string("descriptor of type ") + kind->tp_name + " on '" + type->tp_name + "." +
               PyUnicode_AsUTF8(name) + "'");
}

// A plain class attribute as a value that may change between calls.
Var Trace::AttributeValue(PyObject* found, PyTypeObject* type, PyObject* name) {
  if (IsImmutableType(type)) return Fixed(found);
  Source s{SourceKind::kTypeAttribute};
  s.object = ObjectOf(name);
  s.operands = {ObjectSource(reinterpret_cast<PyObject*>(type))};
  s.name = PyUnicode_AsUTF8(name);
  keep_alive_.push_back(PyRef::Borrow(name));
  return Lazy(found, sources_.Intern(std::move(s)));
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
      Source d(SourceKind::kAttribute, 2);
      d.object = ObjectOf(TB_NAME("__dict__"));
      d.operands = {o->source};
      d.name = "__dict__";
      Source item(SourceKind::kItem);
      item.operands = {sources_.Intern(std::move(d)), ObjectSource(name)};
      *out = Lazy(value, sources_.Intern(std::move(item)));
      return true;
    }
    Source s(SourceKind::kAttribute, hook != nullptr && PyFunction_Check(hook) ? 3 : 0);
    s.object = ObjectOf(name);
    s.operands = {o->source};
    s.name = PyUnicode_AsUTF8(name);
    *out = Lazy(value, sources_.Intern(std::move(s)));
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
      Source s(SourceKind::kAttribute, 2);
      s.object = ObjectOf(TB_NAME("__dict__"));
      s.operands = {object->source};
      s.name = "__dict__";
      Var v = Look(Lazy(dict, sources_.Intern(std::move(s))));
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
    if (found == nullptr || !IsPlainData(found))
      TypeLookup(type, name, true);  // no data descriptor came in between
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
  RaiseNew(PyExc_AttributeError, message);
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
    return Break(std::string("attribute '") + text + "' of class " + type->tp_name, BreakKind::kKeptByPython);
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
  RaiseNew(PyExc_AttributeError, std::string("type object '") + type->tp_name + "' has no attribute '" +
                                     PyUnicode_AsUTF8(name) + "'");
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
static bool IsHalfMade(Var o) {
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
      return Break(std::string("attribute '") + PyUnicode_AsUTF8(name) + "' of a bound method");
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
    return Break(std::string("attribute '") + PyUnicode_AsUTF8(name) + "' of a " + o->type->tp_name);
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
    return Break(std::string("attribute '") + PyUnicode_AsUTF8(name) + "' of a super object");
  return RaiseNew(PyExc_AttributeError,
                  std::string("'super' object has no attribute '") + PyUnicode_AsUTF8(name) + "'");
}

// ---- writing
// --------------------------------------------------------------------------------------------------------------

void Trace::GuardEmptySlot(Var object, PyObject* descriptor, PyObject* name) {
  Guard g{GuardKind::kHasNoAttribute, object->source, {}};
  g.name = ObjectOf(name);
  g.object2 = ObjectOf(descriptor);
  g.line = CurrentLine();
  g.text = std::string("nothing in slot '") + PyUnicode_AsUTF8(name) + "'";
  guards_.Add(std::move(g));
}

// Whether the object had the attribute before the call holds for later calls, too.
bool Trace::GuardPresence(Var o, PyObject* name) {
  if (PyType_Check(o->value.get())) {
    TypeLookup(reinterpret_cast<PyTypeObject*>(o->value.get()), name, true);
    return true;
  }
  PyObject* slot = TypeLookup(o->type, name, false);
  Var own = nullptr;
  if (slot == nullptr || Py_TYPE(slot) != &PyMemberDescr_Type) {
    if (!HeldByObject(o, name, true, &own)) return false;
  } else if (PyRef held = PyRef::Steal(Py_TYPE(slot)->tp_descr_get(slot, o->value.get(), nullptr)); held) {
    own = Lazy(held.get(), SlotSource(o, slot, name));
  } else {
    PyErr_Clear();
    GuardEmptySlot(o, slot, name);
  }
  if (own != nullptr) Look(own);
  return true;
}

// What the built-in descriptor `descriptor` gives for the object.
SourceId Trace::SlotSource(Var object, PyObject* descriptor, PyObject* name) {
  Source s{SourceKind::kAttribute, 1};
  s.object = ObjectOf(descriptor);
  s.operands = {object->source};
  s.name = PyUnicode_AsUTF8(name);
  return sources_.Intern(std::move(s));
}

std::nullptr_t Trace::RaiseMissingAttribute(Var object, PyObject* name, const char* more,
                                            const char* class_name) {
  if (class_name == nullptr) class_name = object->type->tp_name;
  RaiseNew(PyExc_AttributeError, std::string("'") + class_name + "' object has no attribute '" +
                                     PyUnicode_AsUTF8(name) + "'" + more);
  raised_->attributes.emplace_back(PyRef::Borrow(TB_NAME("name")), Const(name));
  raised_->attributes.emplace_back(PyRef::Borrow(TB_NAME("obj")), object);
  return nullptr;
}

bool Trace::SetAttr(Var o, PyObject* name, Var value) {
  if (!IsName(name)) return false;
  o = Look(o);
  if (IsHalfMade(o)) {
    Break("a module that is not initialised is used");
    return false;
  }
  keep_alive_.push_back(PyRef::Borrow(name));
  PyObject* hook =
      TypeLookup(o->type, value != nullptr ? TB_NAME("__setattr__") : TB_NAME("__delattr__"), true);
  bool own_hook = hook != nullptr && PyFunction_Check(hook);
  if (!own_hook && IsThreadLocal(o)) return ThreadLocalSetAttr(o, name, value);
  if (hook != nullptr && Py_TYPE(hook) == &PyWrapperDescr_Type) {
    PyTypeObject* owner = reinterpret_cast<PyDescrObject*>(hook)->d_type;
    if (HasOwnSetAttr(owner) && owner != &PyType_Type && owner != &PyModule_Type) {
      Break(std::string("an attribute of a ") + o->type->tp_name + " is set");
      return false;
    }
  }
  if (hook != nullptr && PyFunction_Check(hook)) {
    std::vector<Var> args = {o, Const(name)};
    if (value != nullptr) args.push_back(value);
    return Call(Fixed(hook), args) != nullptr;
  }
  return SetAttrGeneric(o, name, value);
}

bool Trace::AcceptsObjectSetattr(Var o) {
  PyTypeObject* base = o->type;
  while (PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) && !IsImmutableType(base) && base->tp_base != nullptr)
    base = base->tp_base;
  if (base->tp_setattro == nullptr || !HasOwnSetAttr(base)) return true;
  Break(std::string("object.__setattr__() or __delattr__() of a '") + o->type->tp_name + "'",
        BreakKind::kPythonRaises);
  return false;
}

bool Trace::SetAttrGeneric(Var o, PyObject* name, Var value) {
  o = Look(o);
  PyTypeObject* type = o->type;
  if (o->kind == VariableKind::kTensor) {
    if (o->source.defined() && !IsForeign(o) && TypeLookup(type, name, true) == nullptr && value != nullptr) {
      NoteAttribute(o, name, value);
      return true;
    }
    Break(std::string("attribute '") + PyUnicode_AsUTF8(name) + "' of a tensor is set");
    return false;
  }
  if (o->kind == VariableKind::kConst || o->kind == VariableKind::kScalar) {
    Break(std::string("attribute assignment on '") + type->tp_name + "'");
    return false;
  }
  if (o->kind == VariableKind::kObject && PyModule_CheckExact(o->value.get())) {
    if (PyUnicode_Compare(name, TB_NAME("__dict__")) == 0 ||
        PyUnicode_Compare(name, TB_NAME("__class__")) == 0) {
      Break("a special attribute of a module is set", BreakKind::kClassChanged);
      return false;
    }
    return BuiltinSetItem(Fixed(PyModule_GetDict(o->value.get())), Const(name), value);
  }
  if (o->type == &PyCell_Type) {
    if (value == nullptr) {
      Break("a cell is emptied through cell_contents", BreakKind::kKeptByPython);
      return false;
    }
    return SetCell(o, value);
  }
  bool is_class = o->kind == VariableKind::kObject && PyType_Check(o->value.get());
  if (is_class && IsImmutableType(reinterpret_cast<PyTypeObject*>(o->value.get()))) {
    Break(std::string("attribute assignment on built-in class ") +
              reinterpret_cast<PyTypeObject*>(o->value.get())->tp_name,
          BreakKind::kClassChanged);
    return false;
  }
  PyObject* found = TypeLookup(type, name, true);
  if (found != nullptr && IsDataDescriptor(found)) {
    if (Py_TYPE(found) == &PyProperty_Type) {
      PyRef setter = PyRef::Steal(PyObject_GetAttrString(found, value != nullptr ? "fset" : "fdel"));
      if (!setter || setter.get() == Py_None) {
        PyErr_Clear();
        RaiseNew(PyExc_AttributeError, std::string("property '") + PyUnicode_AsUTF8(name) + "' of '" +
                                           type->tp_name + "' object has no " +
                                           (value != nullptr ? "setter" : "deleter"));
        return false;
      }
      std::vector<Var> args = {o};
      if (value != nullptr) args.push_back(value);
      return Call(Fixed(setter.get()), args) != nullptr;
    }
    if (Py_TYPE(found) == &PyMemberDescr_Type && !is_class &&
        !IsImmutableType(reinterpret_cast<PyDescrObject*>(found)->d_type)) {
      bool gone = false;
      if (value == nullptr && o->FindAttribute(name, &gone) == nullptr) {
        if (!gone && o->kind == VariableKind::kObject) {
          PyRef held = PyRef::Steal(Py_TYPE(found)->tp_descr_get(found, o->value.get(), nullptr));
          PyErr_Clear();
          gone = !held;
          if (gone) GuardEmptySlot(o, found, name);
          if (!gone) Look(BindDescriptor(found, o, type, name));  // it must be there at replay too
        }
        if (gone || o->kind != VariableKind::kObject) {
          RaiseNew(PyExc_AttributeError, PyUnicode_AsUTF8(name));
          return false;
        }
      }
      NoteAttribute(o, name, value);
      return true;
    }
    PyObject* set =
        TypeLookup(Py_TYPE(found), value != nullptr ? TB_NAME("__set__") : TB_NAME("__delete__"), true);
    if (set != nullptr && PyFunction_Check(set)) {
      Source s{SourceKind::kTypeAttribute};
      s.object = ObjectOf(name);
      s.operands = {ObjectSource(reinterpret_cast<PyObject*>(type))};
      s.name = PyUnicode_AsUTF8(name);
      Var d = Look(Lazy(found, sources_.Intern(std::move(s))));
      std::vector<Var> args = {d, o};
      if (value != nullptr) args.push_back(value);
      return Call(Fixed(set), args) != nullptr;
    }
    const char* text = PyUnicode_AsUTF8(name);
    bool function_name =
        type == &PyFunction_Type && (strcmp(text, "__name__") == 0 || strcmp(text, "__qualname__") == 0 ||
                                     strcmp(text, "__doc__") == 0 || strcmp(text, "__module__") == 0);
    bool exception_fact = PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) != 0 &&
                          o->kind == VariableKind::kNew &&
                          (strcmp(text, "__cause__") == 0 || strcmp(text, "__suppress_context__") == 0);
    if (value != nullptr && strcmp(text, "args") == 0 && o->kind == VariableKind::kNew &&
        PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) != 0) {
      std::vector<Var> items;
      if (!Iterate(value, &items)) return false;
      o->items = std::move(items);
      return true;
    }
    if (value != nullptr && (function_name || exception_fact)) {
      NoteAttribute(o, name, value);
      return true;
    }
    Break(std::string("assignment to '") + PyUnicode_AsUTF8(name) + "' of '" + type->tp_name + "'",
          BreakKind::kKeptByPython);
    return false;
  }
  // A plain attribute.
  bool has_dict = is_class || PyModule_Check(o->value ? o->value.get() : Py_None) ||
                  type->tp_dictoffset != 0 || PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT);
  if (!has_dict) {
    const std::string text = PyUnicode_AsUTF8(name);
    if (TypeLookup(type, name, true) == nullptr) {
      RaiseMissingAttribute(o, name, " and no __dict__ for setting new attributes");
    } else {
      RaiseNew(PyExc_AttributeError,
               std::string("'") + type->tp_name + "' object attribute '" + text + "' is read-only");
    }
    return false;
  }
  if (is_class && (PyUnicode_ReadChar(name, 0) == '_' && PyUnicode_ReadChar(name, 1) == '_')) {
    Break("a special attribute of a class is assigned", BreakKind::kClassChanged);
    return false;
  }
  if (is_class && value != nullptr) {
    Var looked = Look(value);
    if (looked->type->tp_descr_set != nullptr) {
      Break("a data descriptor is stored on a class", BreakKind::kClassChanged);
      return false;
    }
  }
  if (value == nullptr) {
    Var own;
    if (is_class) {
      PyRef dict = PyRef::Steal(PyType_GetDict(reinterpret_cast<PyTypeObject*>(o->value.get())));
      bool deleted;
      own = o->FindAttribute(name, &deleted);
      if (own == nullptr && !deleted && PyDict_Contains(dict.get(), name) == 1) {
        TypeLookup(reinterpret_cast<PyTypeObject*>(o->value.get()), name, true);
        own = None();
      }
    } else if (!InstanceLookup(o, name, true, &own)) {
      return false;
    }
    if (own == nullptr) {
      RaiseMissingAttribute(o, name);
      return false;
    }
    if (own->kind == VariableKind::kLazy) Look(own);  // it must be there at replay too
  }
  NoteAttribute(o, name, value);
  return true;
}

}  // namespace thirdbook
