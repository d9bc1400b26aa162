// The writes of the ledger, in order. See emit.h.
//
// In: the Trace's writes. Out: instructions that bring each object to its final state: calls of a delta as
// they were made, the difference between a shadow and what the container held, attributes, cells, effects.
// Invariant: each write is made once, with the base type's own methods.
#include "interpret/emit.h"

namespace thirdbook {

namespace {

bool SameElement(PyObject* a, PyObject* b) {
  if (a == b) return true;
  // Numbers and texts are constants: equal value and type is the same contents.
  if (Py_TYPE(a) != Py_TYPE(b) || IsProxy(a) || !(PyLong_CheckExact(a) || PyUnicode_CheckExact(a)))
    return false;
  return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

constexpr Py_ssize_t kChunk = 200;

}  // namespace

bool Emitter::EmitReplay() {
  code_.SetRole(Role::kReplay);
  for (Write& w : t_.writes()) {
    const Mutation& row = t_.ledger().rows()[w.row];
    if (!row.sites.empty()) {
      const Site& site = row.sites.back();
      code_.SetPosition(Position{site.line, site.end_line, site.column, site.end_column});
    }
    bool ok = true;
    switch (w.kind) {
      case Write::Kind::kAttribute: ok = ReplayAttribute(w); break;
      case Write::Kind::kCell: ok = ReplayCell(w.target); break;
      case Write::Kind::kEffect: ok = ReplayEffect(w); break;
      case Write::Kind::kContents:
        if (w.target->value.get() == t_.frame_view().globals && !w.target->shadow) {
          ok = ReplayGlobals(w.target);
        } else if (w.target->shadow) {
          ok = ReplayShadow(w.target);
        } else {
          ok = ReplayDelta(w.target);
        }
        break;
    }
    if (!ok) return false;
    if (!FillPending()) return false;
  }
  return true;
}

bool Emitter::ReplayAttribute(Write& w) {
  Var object = w.target;
  bool deleted;
  Var value = object->FindAttribute(w.name.get(), &deleted);
  bool existed = false;
  PyObject* real = object->value.get();
  if (PyType_Check(real)) {
    PyRef dict = PyRef::Steal(PyType_GetDict(reinterpret_cast<PyTypeObject*>(real)));
    existed = dict && PyDict_Contains(dict.get(), w.name.get()) == 1;
  } else if (PyModule_Check(real)) {
    existed = PyDict_Contains(PyModule_GetDict(real), w.name.get()) == 1;
  } else {
    PyRef dict = PyRef::Steal(PyObject_GenericGetDict(real, nullptr));
    PyErr_Clear();
    existed = dict && PyDict_Contains(dict.get(), w.name.get()) == 1;
    PyObject* slot = t_.TypeLookup(object->type, w.name.get(), false);
    if (slot != nullptr && Py_TYPE(slot) == &PyMemberDescr_Type)
      existed = static_cast<bool>(PyRef::Steal(Py_TYPE(slot)->tp_descr_get(slot, real, nullptr)));
  }
  PyErr_Clear();
  bool reordered = false;
  for (PyObject* name : object->reordered)
    reordered = reordered || PyUnicode_Compare(name, w.name.get()) == 0;
  if (value == nullptr || reordered) {
    if (existed) {
      static PyObject* delattr_name = PyUnicode_InternFromString("__delattr__");
      PyObject* hook = t_.TypeLookup(object->type, delattr_name, false);
      if (hook != nullptr && PyFunction_Check(hook)) {
        CallConst(MethodOf(PyType_Check(real) ? &PyType_Type : &PyBaseObject_Type, "__delattr__"));
        if (!Emit(object)) return false;
        LoadConst(w.name.get());
        Op(Opcode::CALL, 2);
        Op(Opcode::POP_TOP);
      } else {
        if (!Emit(object)) return false;
        Op(Opcode::DELETE_ATTR, NameIndex(w.name.get()));
      }
    }
    if (value == nullptr) return true;
  }
  return StoreAttribute(object, w.name.get(), value);
}

bool Emitter::ReplayCell(Var cell) {
  Var value = cell->attributes.empty() ? nullptr : cell->attributes[0].second;
  const Source& s = t_.sources().at(cell->source);
  if (s.kind == SourceKind::kClosureCell) {
    if (value == nullptr) {
      LoadConst(Py_None);  // it may have been filled and emptied in the call: there is nothing to delete yet
    } else if (!Emit(value)) {
      return false;
    }
    Op(Opcode::STORE_DEREF, CodeBuilder::FreeSlot(s.detail));
    if (value == nullptr) Op(Opcode::DELETE_DEREF, CodeBuilder::FreeSlot(s.detail));
    return true;
  }
  if (value == nullptr) {
    if (!Emit(cell)) return false;
    Op(Opcode::DELETE_ATTR, NameIndex("cell_contents"));
    return true;
  }
  if (!Emit(value) || !Emit(cell)) return false;
  Op(Opcode::STORE_ATTR, NameIndex("cell_contents"));
  return true;
}

bool Emitter::ReplayEffect(Write& w) {
  if (!Emit(w.target)) return false;
  Op(Opcode::PUSH_NULL);
  for (Var arg : w.args) {
    if (!Emit(arg)) return false;
  }
  if (w.kwargs.empty()) {
    Op(Opcode::CALL, static_cast<int32_t>(w.args.size()));
  } else {
    PyRef names = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(w.kwargs.size())));
    for (size_t i = 0; i < w.kwargs.size(); i++) {
      if (!Emit(w.kwargs[i].second)) return false;
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), Py_NewRef(w.kwargs[i].first.get()));
    }
    keep_.push_back(names);
    LoadConst(names.get());
    Op(Opcode::CALL_KW, static_cast<int32_t>(w.args.size() + w.kwargs.size()));
  }
  if (w.result != nullptr) StoreSlot(w.result);
  Op(Opcode::POP_TOP);
  return true;
}

bool Emitter::ReplayGlobals(Var globals) {
  for (DeltaCall& call : globals->delta) {
    Var key = t_.Look(call.args[0]);
    if (key->kind != VariableKind::kConst || !PyUnicode_CheckExact(key->value.get()))
      return ReplayDelta(globals);
  }
  bool deletes = false;
  for (DeltaCall& call : globals->delta) deletes = deletes || call.args.size() == 1;
  for (size_t i = 0; i < globals->delta.size(); i++) {
    PyObject* name = t_.Look(globals->delta[i].args[0])->value.get();
    if (deletes) {  // each in its place: a name that comes back comes last
      bool store = globals->delta[i].args.size() > 1;
      if (store && !Emit(globals->delta[i].args[1])) return false;
      Op(store ? Opcode::STORE_GLOBAL : Opcode::DELETE_GLOBAL, NameIndex(name));
      continue;
    }
    bool later = false;  // only the last value of a name is stored, at the place of its first write
    for (size_t k = 0; k < i && !later; k++)
      later = PyUnicode_Compare(t_.Look(globals->delta[k].args[0])->value.get(), name) == 0;
    if (later) continue;
    Var value = globals->delta[i].args[1];
    for (size_t k = i + 1; k < globals->delta.size(); k++) {
      if (PyUnicode_Compare(t_.Look(globals->delta[k].args[0])->value.get(), name) == 0)
        value = globals->delta[k].args[1];
    }
    if (!Emit(value)) return false;
    Op(Opcode::STORE_GLOBAL, NameIndex(name));
  }
  return true;
}

bool Emitter::ReplayDelta(Var v) {
  PyTypeObject* base = BaseContainer(v->type);
  // Additions to a list are one extend.
  if (base == &PyList_Type && v->delta.size() > 1) {
    std::vector<Var> values;
    for (DeltaCall& call : v->delta) {
      Var first = t_.Look(call.args[0]);
      bool extend =
          strcmp(PyUnicode_AsUTF8(reinterpret_cast<PyDescrObject*>(call.method)->d_name), "extend") == 0;
      if (extend) {
        values.insert(values.end(), first->items.begin(), first->items.end());
      } else {
        values.push_back(call.args[0]);
      }
    }
    // All constants: one tuple; LIST_EXTEND reads it without making anything.
    bool constant = true;
    for (Var value : values) {
      Var known = t_.Look(value);
      constant = constant && known->kind == VariableKind::kConst && !IsOwnCollection(known);
    }
    if (!Emit(v)) return false;
    if (constant) {
      PyRef tuple = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
      for (size_t i = 0; i < values.size(); i++)
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(t_.Look(values[i])->value.get()));
      keep_.push_back(tuple);
      LoadConst(tuple.get());
      Op(Opcode::LIST_EXTEND, 1);
    } else {
      for (size_t start = 0; start < values.size(); start += static_cast<size_t>(kChunk)) {
        size_t end = std::min(values.size(), start + static_cast<size_t>(kChunk));
        for (size_t i = start; i < end; i++) {
          if (!Emit(values[i])) return false;
        }
        Op(Opcode::BUILD_TUPLE, static_cast<int32_t>(end - start));
        Op(Opcode::LIST_EXTEND, 1);
      }
    }
    Op(Opcode::POP_TOP);
    return true;
  }
  for (DeltaCall& call : v->delta) {
    const char* name = PyUnicode_AsUTF8(reinterpret_cast<PyDescrObject*>(call.method)->d_name);
    if (strcmp(name, "__setitem__") == 0 && v->type == base) {
      if (!Emit(call.args[1]) || !Emit(v) || !Emit(call.args[0])) return false;
      Op(Opcode::STORE_SUBSCR);
      continue;
    }
    LoadConst(call.method);
    if (!Emit(v)) return false;  // in the place of self: CPython specialises such calls
    for (Var arg : call.args) {
      if (!Emit(arg)) return false;
    }
    Op(Opcode::CALL, static_cast<int32_t>(call.args.size()));
    Op(Opcode::POP_TOP);
  }
  return true;
}

bool Emitter::ReplayShadow(Var v) {
  PyTypeObject* base = BaseContainer(v->type);
  if (base == &PyList_Type) return ReplayList(v);
  if (PyType_IsSubtype(base, &PyDict_Type) != 0) return ReplayDict(v);
  if (base == &PySet_Type) {  // its order is its history: every change again
    for (DeltaCall& entry : v->log) {
      LoadConst(entry.method);
      if (!Emit(v)) return false;
      for (Var arg : entry.args) {
        if (!Emit(arg)) return false;
      }
      Op(Opcode::CALL, static_cast<int32_t>(entry.args.size()));
      Op(Opcode::POP_TOP);
    }
    return true;
  }
  PyRef now = PyRef::Steal(PySequence_Tuple(v->shadow.get()));
  if (!now) {
    PyErr_Clear();
    return Fail(v, "a container that cannot be listed");
  }
  keep_.push_back(now);
  // A deque.
  PyObject* before = v->initial.get();
  Py_ssize_t n = PyTuple_GET_SIZE(now.get());
  bool same = PyTuple_GET_SIZE(before) == n;
  for (Py_ssize_t i = 0; same && i < n; i++)
    same = SameElement(PyTuple_GET_ITEM(before, i), PyTuple_GET_ITEM(now.get(), i));
  if (same) return true;
  if (!v->reshaped) {  // iterators go on over set items
    for (Py_ssize_t i = 0; i < n; i++) {
      PyObject* item = PyTuple_GET_ITEM(now.get(), i);
      if (SameElement(PyTuple_GET_ITEM(before, i), item)) continue;
      LoadConst(MethodOf(base, "__setitem__"));
      if (!Emit(v)) return false;
      LoadConst(PyRef::Steal(PyLong_FromSsize_t(i)).get());
      if (!EmitReal(item)) return false;
      Op(Opcode::CALL, 2);
      Op(Opcode::POP_TOP);
    }
    return true;
  }
  LoadConst(MethodOf(base, "clear"));
  if (!Emit(v)) return false;
  Op(Opcode::CALL, 0);
  Op(Opcode::POP_TOP);
  for (Py_ssize_t start = 0; start < n; start += kChunk) {
    Py_ssize_t end = std::min(n, start + kChunk);
    LoadConst(MethodOf(base, "extend"));
    if (!Emit(v)) return false;
    for (Py_ssize_t i = start; i < end; i++) {
      if (!EmitReal(PyTuple_GET_ITEM(now.get(), i))) return false;
    }
    Op(Opcode::BUILD_TUPLE, static_cast<int32_t>(end - start));
    Op(Opcode::CALL, 1);
    Op(Opcode::POP_TOP);
  }
  return true;
}

bool Emitter::ReplayList(Var v) {
  PyObject* before = v->initial.get();
  PyObject* now = v->shadow.get();
  Py_ssize_t n_before = PyTuple_GET_SIZE(before), n_now = PyList_GET_SIZE(now);
  Py_ssize_t prefix = 0, suffix = 0;
  while (prefix < n_before && prefix < n_now &&
         SameElement(PyTuple_GET_ITEM(before, prefix), PyList_GET_ITEM(now, prefix)))
    prefix++;
  while (suffix < n_before - prefix && suffix < n_now - prefix &&
         SameElement(PyTuple_GET_ITEM(before, n_before - 1 - suffix),
                     PyList_GET_ITEM(now, n_now - 1 - suffix))) {
    suffix++;
  }
  if (prefix == n_before && prefix == n_now) {
    if (n_now > 0) return true;
    // A list is empty while it is being sorted, and sort() notices what comes and goes meanwhile.
    static PyObject* const kNothing = PyTuple_Pack(1, Py_None);
    if (!Emit(v)) return false;
    LoadConst(kNothing);
    Op(Opcode::LIST_EXTEND, 1);
    Op(Opcode::POP_TOP);
    LoadConst(MethodOf(&PyList_Type, "clear"));
    if (!Emit(v)) return false;
    Op(Opcode::CALL, 0);
    Op(Opcode::POP_TOP);
    return true;
  }
  Py_ssize_t end = n_now - suffix;
  auto number = [&](Py_ssize_t i) {
    PyRef n = PyRef::Steal(PyLong_FromSsize_t(i));
    keep_.push_back(n);
    LoadConst(n.get());
  };
  bool exact = v->type == &PyList_Type;
  if (exact && n_before == n_now && end - prefix == 1) {
    if (!EmitReal(PyList_GET_ITEM(now, prefix)) || !Emit(v)) return false;
    number(prefix);
    Op(Opcode::STORE_SUBSCR);
    return true;
  }
  // container[prefix:n_before - suffix] = the new middle
  Op(Opcode::BUILD_LIST, 0);
  for (Py_ssize_t start = prefix; start < end; start += kChunk) {
    Py_ssize_t stop = std::min(end, start + kChunk);
    for (Py_ssize_t i = start; i < stop; i++) {
      if (!EmitReal(PyList_GET_ITEM(now, i))) return false;
    }
    Op(Opcode::BUILD_TUPLE, static_cast<int32_t>(stop - start));
    Op(Opcode::LIST_EXTEND, 1);
  }
  if (exact) {
    if (!Emit(v)) return false;
    number(prefix);
    number(n_before - suffix);
    Op(Opcode::STORE_SLICE);
    return true;
  }
  int32_t middle = NewTemp();
  Op(Opcode::STORE_FAST, middle);
  CallConst(MethodOf(&PyList_Type, "__setitem__"));
  if (!Emit(v)) return false;
  number(prefix);
  number(n_before - suffix);
  Op(Opcode::BUILD_SLICE, 2);
  Op(Opcode::LOAD_FAST, middle);
  Op(Opcode::CALL, 3);
  Op(Opcode::POP_TOP);
  return true;
}

bool Emitter::ReplayDict(Var v) {
  PyTypeObject* base = BaseContainer(v->type);
  bool exact = v->type == base;
  PyObject* before = v->initial.get();  // key, value, key, value...
  PyRef now = PyRef::Steal(PyMapping_Items(v->shadow.get()));
  if (!now) {
    PyErr_Clear();
    return Fail(v, "a dict that cannot be listed");
  }
  keep_.push_back(now);
  auto store = [&](PyObject* key, PyObject* value) {
    if (exact) {
      if (!EmitReal(value) || !Emit(v) || !EmitReal(key)) return false;
      Op(Opcode::STORE_SUBSCR);
      return true;
    }
    CallConst(MethodOf(base, "__setitem__"));
    if (!Emit(v) || !EmitReal(key) || !EmitReal(value)) return false;
    Op(Opcode::CALL, 3);
    Op(Opcode::POP_TOP);
    return true;
  };
  // The kept keys must come in the old order, new ones after them; else it is written anew.
  Py_ssize_t n_before = PyTuple_GET_SIZE(before) / 2, n_now = PyList_GET_SIZE(now.get());
  std::vector<PyObject*> removed;
  Py_ssize_t at = 0;
  std::vector<std::pair<PyObject*, PyObject*>> stores;
  for (Py_ssize_t i = 0; i < n_before; i++) {
    PyObject* key = PyTuple_GET_ITEM(before, 2 * i);
    PyObject* current = at < n_now ? PyTuple_GET_ITEM(PyList_GET_ITEM(now.get(), at), 0) : nullptr;
    if (current != nullptr && SameElement(key, current)) {
      PyObject* value = PyTuple_GET_ITEM(PyList_GET_ITEM(now.get(), at), 1);
      if (!SameElement(PyTuple_GET_ITEM(before, 2 * i + 1), value)) stores.emplace_back(current, value);
      at++;
    } else {
      removed.push_back(key);
    }
  }
  bool reordered = false;
  for (Py_ssize_t i = at; i < n_now; i++) {
    PyObject* key = PyTuple_GET_ITEM(PyList_GET_ITEM(now.get(), i), 0);
    for (PyObject* gone : removed) {
      if (SameElement(gone, key)) reordered = true;
    }
    stores.emplace_back(key, PyTuple_GET_ITEM(PyList_GET_ITEM(now.get(), i), 1));
  }
  if (reordered) {
    LoadConst(MethodOf(base, "clear"));
    if (!Emit(v)) return false;
    Op(Opcode::CALL, 0);
    Op(Opcode::POP_TOP);
    for (Py_ssize_t i = 0; i < n_now; i++) {
      PyObject* pair = PyList_GET_ITEM(now.get(), i);
      if (!store(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1))) return false;
    }
    return true;
  }
  if (v->reshaped && removed.empty() && n_before > 0) {
    // Keys at the end went and came back in their order: iterators notice it.
    PyObject* last = PyTuple_GET_ITEM(before, 2 * (n_before - 1));
    removed.push_back(last);
    stores.insert(stores.begin(), {last, PyTuple_GET_ITEM(PyList_GET_ITEM(now.get(), n_before - 1), 1)});
  }
  for (PyObject* key : removed) {
    LoadConst(MethodOf(base, "__delitem__"));
    if (!Emit(v) || !EmitReal(key)) return false;
    Op(Opcode::CALL, 1);
    Op(Opcode::POP_TOP);
  }
  for (auto& [key, value] : stores) {
    if (!store(key, value)) return false;
  }
  return true;
}

}  // namespace thirdbook
