// What is found in classes: the MRO, and what its finds give when they are bound to an object. See trace.h.
//
// In: a type and a name; a descriptor and an object. Out: the find (guarded), or the bound value. Invariant:
// user descriptors are traced inline, never run.
#include "interpret/attributes.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

// A tuple of texts and numbers: of code objects, say, which keep one.
bool IsPlainConstantTuple(PyObject* o) {
  if (!PyTuple_CheckExact(o)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++) {
    PyObject* item = PyTuple_GET_ITEM(o, i);
    if (!PyUnicode_CheckExact(item) && !PyLong_CheckExact(item) && item != Py_None) return false;
  }
  return true;
}

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
  PyRef name = PyRef::Steal(PyUnicode_InternFromString(text));
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
    if (strcmp(field, "maxlen") == 0 && strcmp(base, "collections.deque") == 0)
      return FieldOfContainer(object, "maxlen");
    if (strcmp(field, "default_factory") == 0 && strcmp(base, "collections.defaultdict") == 0)
      return FieldOfContainer(object, "default_factory");
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
  if (kind == PartialType() || IsCacheWrapperType(kind))
    return object == nullptr ? Fixed(descriptor) : NewMethod(Fixed(descriptor), object);
  if (object == nullptr && kind->tp_descr_get == nullptr) return Fixed(descriptor);
  if (kind == &PyProperty_Type) {
    if (object == nullptr) return Fixed(descriptor);
    PyRef getter = PyRef::Steal(PyObject_GetAttrString(descriptor, "fget"));
    if (!getter || getter.get() == Py_None) {
      return RaiseNew(PyExc_AttributeError, {"property '", PyUnicode_AsUTF8(name), "' of '", type->tp_name,
                                             "' object has no getter"});
    }
    return Call(Fixed(getter.get()), {object});
  }
  if (object != nullptr && (kind == &PyMemberDescr_Type || kind == &PyGetSetDescr_Type)) {
    PyTypeObject* owner = reinterpret_cast<PyDescrObject*>(descriptor)->d_type;
    Var plain = IsValue(object) || owner == &PyBaseObject_Type ? nullptr : PlainValue(object);
    if (plain != nullptr && PyType_IsSubtype(plain->type, owner) != 0) object = plain;
    if (IsValue(object) && kind == &PyMemberDescr_Type) {
      PyObject* value = ConstValue(object);
      return value != nullptr ? ConstSteal(PyObject_GetAttr(value, name)) : nullptr;
    }
  }
  if (kind == &PyMemberDescr_Type && object != nullptr && object->kind == VariableKind::kNew &&
      PyType_IsSubtype(object->type, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)) != 0 &&
      strcmp(PyUnicode_AsUTF8(name), "value") == 0) {
    return object->items.empty() ? None() : object->items[0];
  }
  if ((kind == &PyMemberDescr_Type || kind == &PyGetSetDescr_Type) && object != nullptr &&
      object->kind == VariableKind::kNew &&
      PyType_IsSubtype(object->type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) != 0 &&
      reinterpret_cast<PyDescrObject*>(descriptor)->d_type !=
          reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) {
    bool deleted;  // a field of a class of its own: name, errno...
    if (Var written = object->FindAttribute(name, &deleted)) return written;
    if (object->value && !deleted && IsImmutableType(reinterpret_cast<PyDescrObject*>(descriptor)->d_type))
      return ConstSteal(PyObject_GetAttr(object->value.get(), name));
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
    return Break(
        {"attribute '", PyUnicode_AsUTF8(name), "' of '", type->tp_name, "' is kept by the interpreter"},
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
    } else if (object->kind == VariableKind::kObject && object->type == &PyContextToken_Type &&
               (strcmp(text, "var") == 0 || strcmp(text, "old_value") == 0)) {  // which never change
      PyRef value = PyRef::Steal(PyObject_GenericGetAttr(object->value.get(), name));
      if (!value) return RaiseFromPython();
      return Lazy(value.get(), SlotSource(object, descriptor, name));
    } else if (PyType_IsSubtype(object->type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) != 0) {
      bool deleted;
      if (Var w = object->FindAttribute(name, &deleted)) return w;
      if (object->kind == VariableKind::kObject &&
          (strcmp(text, "args") == 0 || strcmp(text, "__cause__") == 0 || strcmp(text, "__context__") == 0)) {
        PyRef value = PyRef::Steal(kind->tp_descr_get(descriptor, object->value.get(), nullptr));
        if (!value) return RaiseFromPython();
        return Lazy(value.get(), SlotSource(object, descriptor, name));
      }
      if (strcmp(text, "args") == 0 && object->kind == VariableKind::kNew) return NewTuple(object->items);
      if (strcmp(text, "__context__") == 0 && object->kind == VariableKind::kNew)
        return object->context != nullptr ? object->context : None();
      if (strcmp(text, "__cause__") == 0 && object->kind == VariableKind::kNew) return None();
      if (strcmp(text, "__suppress_context__") == 0 && object->kind == VariableKind::kNew) return Bool(false);
    }
    return Break({"attribute '", text, "' of '", type->tp_name, "' is kept by the interpreter"},
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
    Var d = Look(Lazy(descriptor, TypeAttributeSource(type, name)));
    return Call(Fixed(getter), {d, instance, Fixed(reinterpret_cast<PyObject*>(type))});
  }
  return Break(
      {"descriptor of type ", kind->tp_name, " on '", type->tp_name, ".", PyUnicode_AsUTF8(name), "'"});
}

// What the built-in descriptor `descriptor` gives for the object.
SourceId Trace::SlotSource(Var object, PyObject* descriptor, PyObject* name) {
  return Expression(SourceKind::kAttribute, {object->source}, ObjectOf(descriptor), PyUnicode_AsUTF8(name),
                    1);
}

void Trace::GuardEmptySlot(Var object, PyObject* descriptor, PyObject* name) {
  Guard g{GuardKind::kHasNoAttribute, object->source, {}};
  g.name = ObjectOf(name);
  g.object2 = ObjectOf(descriptor);
  g.line = CurrentLine();
  g.text = std::string("nothing in slot '") + PyUnicode_AsUTF8(name) + "'";
  guards_.Add(std::move(g));
}

}  // namespace thirdbook
