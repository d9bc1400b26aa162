// Code that makes new containers. See emit.h.
//
// In: New variables whose shadow says what they hold. Out: instructions that make and fill the container.
// Invariant: contents that may refer back to it are filled in afterwards (FillPending); a set's table has the
// order that the program gave it.
#include <algorithm>

#include "interpret/builtins.h"
#include "interpret/emit.h"
#include "python/set_layout.h"

namespace thirdbook {

namespace {

// Whether adding the elements in order gives the same order again whatever comes next.
bool IsPlainLayout(PyObject* set) {
  PyRef again = PyRef::Steal(PySet_New(nullptr));
  PyRef items = PyRef::Steal(PySequence_Tuple(set));
  for (Py_ssize_t i = 0; again && items && i < PyTuple_GET_SIZE(items.get()); i++) {
    if (PySet_Add(again.get(), PyTuple_GET_ITEM(items.get(), i)) != 0) {
      PyErr_Clear();
      return true;
    }
  }
  // Different elements may have the same hash.
  const PyRef order = again ? PyRef::Steal(PySequence_Tuple(again.get())) : PyRef();
  if (!order || !items || !SameSetLayout(again.get(), set)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); i++) {
    if (PyTuple_GET_ITEM(items.get(), i) != PyTuple_GET_ITEM(order.get(), i)) return false;
  }
  return true;
}

}  // namespace

// A set that is filled in its own order may get another one, where elements collide in its table. Brings
// `items` into an order that gives the set's; false when none is found.
static bool OrderForSet(PyObject* set, PyObject* items) {
  PyRef wanted = PyRef::Steal(PySequence_List(set));
  auto gives = [&] {
    PyRef filled = PyRef::Steal(PySet_New(items));
    PyRef order = filled ? PyRef::Steal(PySequence_List(filled.get())) : PyRef();
    bool same = order && PyList_GET_SIZE(order.get()) == PyList_GET_SIZE(wanted.get());
    for (Py_ssize_t i = 0; same && i < PyList_GET_SIZE(order.get()); i++)
      same = PyList_GET_ITEM(order.get(), i) == PyList_GET_ITEM(wanted.get(), i);
    PyErr_Clear();
    return same;
  };
  if (!wanted || gives()) return static_cast<bool>(wanted);
  const Py_ssize_t n = PyList_GET_SIZE(items);
  if (n > 40) return false;
  PyObject** item = reinterpret_cast<PyListObject*>(items)->ob_item;
  for (Py_ssize_t i = 0; i < n; i++) {
    for (Py_ssize_t k = i + 1; k < n; k++) {
      std::swap(item[i], item[k]);
      if (gives()) return true;
      std::swap(item[i], item[k]);
    }
  }
  return false;
}

// Whether pushing it cannot lead back to the object being made.
bool Emitter::IsSimpleElement(PyObject* o) {
  Var v = t_.FromShadow(o);
  if (v == nullptr) {
    t_.ClearFailure();
    return false;
  }
  while (v->forward != nullptr) v = v->forward;
  return v->kind != VariableKind::kNew || v->emitted_slot >= 0;
}

bool Emitter::BuildContainer(Var v) {
  PyTypeObject* base = BaseContainer(v->type);
  PyObject* shadow = v->shadow.get();
  bool exact = v->type == base;
  bool dict = PyType_IsSubtype(base, &PyDict_Type) != 0;
  PyRef items = PyRef::Steal(dict ? PyMapping_Items(shadow) : PySequence_List(shadow));
  if (!items) {
    PyErr_Clear();
    return Fail(v, "a container that cannot be listed");
  }
  Py_ssize_t n = PyList_GET_SIZE(items.get());
  bool simple = exact && n < 1000 && (!PyAnySet_Check(shadow) || IsPlainLayout(shadow));
  for (Py_ssize_t i = 0; i < n && simple; i++) {
    PyObject* item = PyList_GET_ITEM(items.get(), i);
    simple = dict ? IsSimpleElement(PyTuple_GET_ITEM(item, 0)) && IsSimpleElement(PyTuple_GET_ITEM(item, 1))
                  : IsSimpleElement(item);
  }
  if (exact && simple && (base == &PyList_Type || base == &PySet_Type || base == &PyDict_Type)) {
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject* item = PyList_GET_ITEM(items.get(), i);
      if (dict) {
        if (!EmitReal(PyTuple_GET_ITEM(item, 0)) || !EmitReal(PyTuple_GET_ITEM(item, 1))) return false;
      } else if (!EmitReal(item)) {
        return false;
      }
    }
    Op(base == &PyList_Type  ? Opcode::BUILD_LIST
       : base == &PySet_Type ? Opcode::BUILD_SET
                             : Opcode::BUILD_MAP,
       static_cast<int32_t>(n));
    StoreSlot(v);
    return true;
  }
  if (exact && PyAnySet_Check(shadow) && n > 0 && !IsPlainLayout(shadow)) {
    PyRef layout = PyRef::Steal(SetTemplate(shadow));
    if (!layout) return Fail(-1, "no memory");
    keep_.push_back(layout);
    CallConst(SetLikeCallable());
    LoadConst(layout.get());
    for (Py_ssize_t i = 0; i < n; i++) {
      if (!EmitReal(PyList_GET_ITEM(items.get(), i))) return false;
    }
    Op(Opcode::CALL, static_cast<int32_t>(n) + 1);
    StoreSlot(v);
    return true;
  }
  if (base == &PyFrozenSet_Type) {
    CallConst(reinterpret_cast<PyObject*>(&PyFrozenSet_Type));
    for (Py_ssize_t i = 0; i < n; i++) {
      if (!EmitReal(PyList_GET_ITEM(items.get(), i))) return false;
    }
    Op(Opcode::BUILD_TUPLE, static_cast<int32_t>(n));
    Op(Opcode::CALL, 1);
    StoreSlot(v);
    return true;
  }
  if (exact && base == &PyList_Type) {
    Op(Opcode::BUILD_LIST, 0);
  } else if (exact && base == &PyDict_Type) {
    Op(Opcode::BUILD_MAP, 0);
  } else if (exact && base == &PySet_Type) {
    Op(Opcode::BUILD_SET, 0);
  } else if (exact && strcmp(base->tp_name, "collections.defaultdict") == 0) {
    CallConst(reinterpret_cast<PyObject*>(base));
    Var factory = t_.FieldOfContainer(v, "default_factory");
    if (factory == nullptr || !Emit(factory)) return Fail(v, "a defaultdict whose factory is unusual");
    Op(Opcode::CALL, 1);
  } else if (exact && strcmp(base->tp_name, "collections.deque") == 0) {
    CallConst(reinterpret_cast<PyObject*>(base));
    Op(Opcode::BUILD_TUPLE, 0);
    Var maxlen = t_.FieldOfContainer(v, "maxlen");
    if (maxlen == nullptr || !Emit(maxlen)) return Fail(v, "a deque whose maxlen is unusual");
    Op(Opcode::CALL, 2);
  } else if (exact) {
    CallConst(reinterpret_cast<PyObject*>(base));
    Op(Opcode::CALL, 0);
  } else {
    CallConst(MethodOf(base, "__new__"));
    LoadClass(v->type);
    Op(Opcode::CALL, 1);
    bool deque = strcmp(base->tp_name, "collections.deque") == 0;
    if (deque || strcmp(base->tp_name, "collections.defaultdict") == 0) {
      StoreSlot(v);
      CallConst(MethodOf(base, "__init__"));
      Op(Opcode::LOAD_FAST, v->emitted_slot);
      if (deque) Op(Opcode::BUILD_TUPLE, 0);
      Var option = t_.FieldOfContainer(v, deque ? "maxlen" : "default_factory");
      if (option == nullptr || !Emit(option)) return Fail(v, "a container whose options are unusual");
      Op(Opcode::CALL, deque ? 3 : 2);
      Op(Opcode::POP_TOP);
      pending_fills_.push_back(v);
      return true;
    }
  }
  StoreSlot(v);
  pending_fills_.push_back(v);
  return true;
}

bool Emitter::FillContainer(Var v) {
  PyTypeObject* base = BaseContainer(v->type);
  PyObject* shadow = v->shadow.get();
  if (PyType_IsSubtype(base, &PyDict_Type) != 0) {
    PyRef items = PyRef::Steal(PyMapping_Items(shadow));
    if (!items) {
      PyErr_Clear();
      return Fail(v, "a dict that cannot be listed");
    }
    bool exact = v->type == base;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); i++) {
      PyObject* pair = PyList_GET_ITEM(items.get(), i);
      if (exact) {
        if (!EmitReal(PyTuple_GET_ITEM(pair, 1))) return false;
        Op(Opcode::LOAD_FAST, v->emitted_slot);
        if (!EmitReal(PyTuple_GET_ITEM(pair, 0))) return false;
        Op(Opcode::STORE_SUBSCR);
      } else {
        CallConst(MethodOf(base, "__setitem__"));
        Op(Opcode::LOAD_FAST, v->emitted_slot);
        if (!EmitReal(PyTuple_GET_ITEM(pair, 0)) || !EmitReal(PyTuple_GET_ITEM(pair, 1))) return false;
        Op(Opcode::CALL, 3);
        Op(Opcode::POP_TOP);
      }
    }
    return true;
  }
  PyRef items = PyRef::Steal(PySequence_List(shadow));
  if (PyAnySet_Check(shadow)) OrderForSet(shadow, items.get());
  Py_ssize_t n = PyList_GET_SIZE(items.get());
  if (n == 0) return true;
  const char* method = PyAnySet_Check(shadow) ? "update" : "extend";
  for (Py_ssize_t start = 0; start < n; start += 500) {
    Py_ssize_t end = std::min(n, start + 500);
    CallConst(MethodOf(base, method));
    Op(Opcode::LOAD_FAST, v->emitted_slot);
    for (Py_ssize_t i = start; i < end; i++) {
      if (!EmitReal(PyList_GET_ITEM(items.get(), i))) return false;
    }
    Op(Opcode::BUILD_TUPLE, static_cast<int32_t>(end - start));
    Op(Opcode::CALL, 2);
    Op(Opcode::POP_TOP);
  }
  return true;
}

}  // namespace thirdbook
