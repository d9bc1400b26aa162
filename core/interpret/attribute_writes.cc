// Setting and deleting attributes by CPython's rules: the type's hook, data descriptors, the instance. See
// trace.h.
//
// In: an object, a name, a value (null: delete). Out: a row of the ledger, an inlined setter, or a failure.
// Invariant: nothing of the user's objects changes while tracing; whether an attribute was there before is
// guarded where the replay depends on it.
#include "interpret/attributes.h"
#include "python/tensor_object.h"

namespace thirdbook {

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

std::nullptr_t Trace::RaiseMissingAttribute(Var object, PyObject* name, const char* more,
                                            const char* class_name) {
  if (class_name == nullptr) class_name = object->type->tp_name;
  RaiseNew(PyExc_AttributeError,
           {"'", class_name, "' object has no attribute '", PyUnicode_AsUTF8(name), "'", more});
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
      Break({"an attribute of a ", o->type->tp_name, " is set"});
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
  Break({"object.__setattr__() or __delattr__() of a '", o->type->tp_name, "'"}, BreakKind::kPythonRaises);
  return false;
}

bool Trace::SetAttrGeneric(Var o, PyObject* name, Var value) {
  o = Look(o);
  PyTypeObject* type = o->type;
  if (o->kind == VariableKind::kTensor) {
    if (!IsForeign(o) && TypeLookup(type, name, true) == nullptr && value != nullptr) {
      NoteAttribute(o, name, value);
      return true;
    }
    Break({"attribute '", PyUnicode_AsUTF8(name), "' of a tensor is set"});
    return false;
  }
  if (IsValue(o) && (type->tp_dictoffset != 0 || PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT))) {
    Break({"attribute assignment on '", type->tp_name, "'"});
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
    Break(
        {"attribute assignment on built-in class ", reinterpret_cast<PyTypeObject*>(o->value.get())->tp_name},
        BreakKind::kClassChanged);
    return false;
  }
  PyObject* found = TypeLookup(type, name, true);
  if (found != nullptr && IsDataDescriptor(found)) {
    if (Py_TYPE(found) == &PyProperty_Type) {
      PyRef setter = PyRef::Steal(PyObject_GetAttrString(found, value != nullptr ? "fset" : "fdel"));
      if (!setter || setter.get() == Py_None) {
        PyErr_Clear();
        RaiseNew(PyExc_AttributeError, {"property '", PyUnicode_AsUTF8(name), "' of '", type->tp_name,
                                        "' object has no ", (value != nullptr ? "setter" : "deleter")});
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
      Var d = Look(Lazy(found, TypeAttributeSource(type, name)));
      std::vector<Var> args = {d, o};
      if (value != nullptr) args.push_back(value);
      return Call(Fixed(set), args) != nullptr;
    }
    const char* text = PyUnicode_AsUTF8(name);
    const auto* descriptor = reinterpret_cast<PyDescrObject*>(found);
    if (Py_TYPE(found) == &PyGetSetDescr_Type &&
        reinterpret_cast<PyGetSetDescrObject*>(found)->d_getset->set == nullptr) {
      RaiseNew(PyExc_AttributeError,
               {"attribute '", text, "' of '", descriptor->d_type->tp_name, "' objects is not writable"});
      return false;
    }
    if (Py_TYPE(found) == &PyMemberDescr_Type &&
        (reinterpret_cast<PyMemberDescrObject*>(found)->d_member->flags & Py_READONLY) != 0) {
      RaiseNew(PyExc_AttributeError, "readonly attribute");
      return false;
    }
    bool function_name =
        type == &PyFunction_Type && (strcmp(text, "__name__") == 0 || strcmp(text, "__qualname__") == 0 ||
                                     strcmp(text, "__doc__") == 0 || strcmp(text, "__module__") == 0);
    auto* exception_type = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
    const bool exception = PyType_IsSubtype(type, exception_type) != 0;
    const bool cause = exception && strcmp(text, "__cause__") == 0;
    if (value != nullptr && exception && strcmp(text, "args") == 0) {
      std::vector<Var> items;
      if (!Iterate(value, &items)) return false;
      if (o->kind == VariableKind::kNew) {
        o->items = std::move(items);
      } else {
        NoteAttribute(o, name, NewTuple(std::move(items)));
      }
      return failure_ == Failure::kNone;
    }
    bool exception_fact =
        (cause && value != nullptr &&
         (Look(value)->IsConst(Py_None) || PyType_IsSubtype(TypeOf(value), exception_type) != 0)) ||
        (exception && o->kind == VariableKind::kNew && strcmp(text, "__suppress_context__") == 0);
    if (value != nullptr && (function_name || exception_fact)) {
      NoteAttribute(o, name, value);
      if (cause) NoteAttribute(o, TB_NAME("__suppress_context__"), Bool(true));
      return failure_ == Failure::kNone;
    }
    Break({"assignment to '", PyUnicode_AsUTF8(name), "' of '", type->tp_name, "'"},
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
      RaiseNew(PyExc_AttributeError, {"'", type->tp_name, "' object attribute '", text, "' is read-only"});
    }
    return false;
  }
  if (is_class && PyUnicode_ReadChar(name, 0) == '_' && PyUnicode_ReadChar(name, 1) == '_' &&
      PyUnicode_CompareWithASCIIString(name, "__slotnames__") != 0) {  // which the interpreter never reads
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
