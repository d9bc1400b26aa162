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
#include "interpret/containers.h"
#include "interpret/builtins.h"
#include "interpret/trace.h"
#include "python/set_layout.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

constexpr int kMaxQuietElements = 16;

PyObject* FromCollections(const char* name) {
  PyRef module = PyRef::Steal(PyImport_ImportModule("_collections"));
  PyObject* o = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
  PyErr_Clear();
  return o;
}

}  // namespace

PyTypeObject* DequeType() {
  static PyTypeObject* type = reinterpret_cast<PyTypeObject*>(FromCollections("deque"));
  return type;
}

PyTypeObject* DefaultDictType() {
  static PyTypeObject* type = reinterpret_cast<PyTypeObject*>(FromCollections("defaultdict"));
  return type;
}

bool IsOneOf(const char* text, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (strcmp(text, name) == 0) return true;
  }
  return false;
}

bool IsBounded(PyObject* deque) {
  static PyObject* name = PyUnicode_InternFromString("maxlen");
  PyRef maxlen = PyRef::Steal(PyObject_GenericGetAttr(deque, name));
  PyErr_Clear();
  return maxlen && maxlen.get() != Py_None;
}

// A member of an enumeration that leaves equality and hashing to the library.
static bool IsEnumMember(PyObject* k) {
  PyTypeObject* type = Py_TYPE(k);
  if (strcmp(Py_TYPE(type)->tp_name, "EnumType") != 0) return false;
  PyRef equal = PyRef::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__eq__"));
  PyRef hash = PyRef::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__hash__"));
  PyErr_Clear();
  if (!equal || PyFunction_Check(equal.get()) || !hash) return false;
  if (!PyFunction_Check(hash.get())) return true;
  PyObject* module = reinterpret_cast<PyFunctionObject*>(hash.get())->func_module;
  return module != nullptr && PyUnicode_Check(module) && strcmp(PyUnicode_AsUTF8(module), "enum") == 0;
}

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
  if (AsDType(k, &dtype) || IsEnumMember(k)) return true;
  if (PyWeakref_CheckRefExact(k)) {  // compared by what they lead to
    PyObject* referent = nullptr;
    PyRef owner = PyWeakref_GetRef(k, &referent) == 1 ? PyRef::Steal(referent) : PyRef();
    PyErr_Clear();
    return owner && PyType_Check(owner.get()) && Py_TYPE(owner.get())->tp_hash == PyType_Type.tp_hash &&
           Py_TYPE(owner.get())->tp_richcompare == PyType_Type.tp_richcompare;
  }
  return Py_TYPE(k)->tp_hash == PyBaseObject_Type.tp_hash &&
         Py_TYPE(k)->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

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
      Break({"a dict is read with a key of type ", key->type->tp_name}, BreakKind::kUserHash);
    }
    return nullptr;
  }
  PyRef key_holder = PyRef::Borrow(k);
  if (!IsSafeKey(k)) {
    Break({"a dict is read with a key of type ", Py_TYPE(k)->tp_name}, BreakKind::kUserHash);
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
    GuardTruth(Expression(SourceKind::kContains, {key_source, self->source}), false, "absent");
    return nullptr;
  }
  return Lazy(value, Expression(SourceKind::kItem, {self->source, key_source}));
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
    static PyObject* missing_name = PyUnicode_InternFromString("__missing__");
    PyObject* missing =
        o->type != base || base == DefaultDictType() ? TypeLookup(o->type, missing_name, true) : nullptr;
    if (missing != nullptr && PyFunction_Check(missing)) return Call(Fixed(missing), {o, key});
    if (base == DefaultDictType()) {
      Var factory = FieldOfContainer(o, "default_factory");
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
  if (!DropsQuietly(old, Expression(SourceKind::kItem,
                                    {o->source, key_source.defined() ? key_source : ObjectSource(k)})))
    return false;
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
      PyObject* old = PyDict_GetItemWithError(o->value.get(), k);
      PyErr_Clear();
      // Many elements: one guard for all.
      SourceId dropped = ++o->overwritten > kMaxQuietElements
                             ? o->source
                             : Expression(SourceKind::kItem, {o->source, key_source});
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
    PyRef element = PyRef::Steal(!slice             ? ElementShadow(value)
                                 : Look(value) == o ? Py_NewRef(o->shadow.get())
                                                    : ArgumentShadow(value));
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
    return Scalar(&PyBool_Type, Expression(SourceKind::kContains, {item->source, o->source}),
                  Py_NewRef(found == 1 ? Py_True : Py_False));
  }
  if (untouched && IsDict(base)) {
    Var found = DictLookup(o, item);
    if (found != nullptr) {
      const Source* from = found->kind == VariableKind::kLazy ? &sources_.at(found->source) : nullptr;
      if (from != nullptr && from->kind == SourceKind::kItem && from->operands[0] == o->source) {
        // Presence, not the value, is what was asked.
        GuardTruth(Expression(SourceKind::kContains, {from->operands[1], o->source}), true, "present");
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
      return Scalar(&PyBool_Type,
                    Expression(SourceKind::kContains, {key.defined() ? key : ObjectSource(k), o->source}),
                    Py_NewRef(found == 1 ? Py_True : Py_False));
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
      Py_ssize_t n = PyList_Check(o->value.get())     ? PyList_GET_SIZE(o->value.get())
                     : PyDict_Check(o->value.get())   ? PyDict_GET_SIZE(o->value.get())
                     : PyAnySet_Check(o->value.get()) ? PySet_GET_SIZE(o->value.get())
                                                      : Py_SIZE(o->value.get());
      Var length = Scalar(&PyLong_Type, Expression(SourceKind::kLength, {o->source}), PyLong_FromSsize_t(n));
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

}  // namespace thirdbook
