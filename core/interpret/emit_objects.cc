// Makes the new objects that escape. See emit.h.
//
// In: New variables and tensors. Out: instructions that push the object and keep it in a slot. Invariant: an
// object is made once; contents that may refer back to it are filled in afterwards (FillPending), so cycles
// work; no __init__, __setattr__ or __hash__ written in Python runs here.
#include <algorithm>

#include "interpret/builtins.h"
#include "interpret/emit.h"
#include "python/set_layout.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

// The nearest base whose __new__ is built in: the one that CPython lets make `type`.
PyTypeObject* BuiltInMaker(PyTypeObject* type) {
  PyRef name = PyRef::Steal(PyUnicode_InternFromString("__new__"));
  while (type->tp_base != nullptr) {
    PyRef found = PyRef::Steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name.get()));
    if (found && PyCFunction_Check(found.get())) return type;
    PyErr_Clear();
    type = type->tp_base;
  }
  return type;
}

PyObject* ArrayViewFunction() {
  static PyObject* function = [] {
    PyRef module = PyRef::Steal(PyImport_ImportModule("thirdbook._core"));
    return PyObject_GetAttrString(module.get(), "_array_view");
  }();
  return function;
}

// Row-major or column-major without gaps: memory that can be taken as one buffer.
bool IsDense(const TensorMeta& meta) {
  TensorMeta mirrored = meta;
  std::reverse(mirrored.sizes.begin(), mirrored.sizes.end());
  std::reverse(mirrored.strides.begin(), mirrored.strides.end());
  return meta.IsContiguous() || mirrored.IsContiguous();
}

PyObject* TypesAttribute(const char* name) {
  PyRef module = PyRef::Steal(PyImport_ImportModule("types"));
  return PyObject_GetAttrString(module.get(), name);
}

}  // namespace

void Emitter::StoreSlot(Var v) {
  v->emitted_slot = NewTemp();
  Op(Opcode::COPY, 1);
  Op(Opcode::STORE_FAST, v->emitted_slot);
}

bool Emitter::EmitReal(PyObject* o) {
  Var v = t_.FromShadow(o);
  if (v == nullptr) {
    t_.ClearFailure();
    return Fail(-1, std::string("an object of type ") + Py_TYPE(o)->tp_name + " cannot be made again");
  }
  return Emit(v);
}

bool Emitter::Build(Var v) {
  if (v->emitting > 0) return Fail(v, "an object that contains itself through a tuple");
  Nesting nesting;
  if (Nesting::Deep()) return FailTooDeep(v);
  if (v->made_by_effect) return Fail(v, "what an effect gives is needed before the effect");
  v->emitting++;
  bool ok;
  if (v->dict_of != nullptr) {
    ok = Emit(v->dict_of);
    Op(Opcode::LOAD_ATTR, NameIndex("__dict__") << 1);
  } else if (v->type == &PyTuple_Type || (PyType_IsSubtype(v->type, &PyTuple_Type) != 0 && !v->value)) {
    bool plain = v->type == &PyTuple_Type;
    if (!plain) {
      CallConst(MethodOf(BuiltInMaker(v->type), "__new__"));
      LoadClass(v->type);
    }
    ok = true;
    for (Var item : v->items) ok = ok && Emit(item);
    Op(Opcode::BUILD_TUPLE, static_cast<int32_t>(v->items.size()));
    if (!plain) Op(Opcode::CALL, 2);
    if (ok) StoreSlot(v);
    if (ok && !v->attributes.empty()) pending_fills_.push_back(v);
  } else if (v->shadow && BaseContainer(v->type) != nullptr) {
    ok = BuildContainer(v);
  } else if (v->function != nullptr) {
    ok = BuildFunction(v);
  } else if (v->type == &PyCell_Type) {
    CallConst(reinterpret_cast<PyObject*>(&PyCell_Type));
    Op(Opcode::CALL, 0);
    StoreSlot(v);
    pending_fills_.push_back(v);
    ok = true;
  } else if (v->type == &PyMethod_Type) {
    Var function = t_.Look(v->items[0]);
    if (function->type == &PyFunction_Type || function->kind == VariableKind::kNew) {
      CallConst(reinterpret_cast<PyObject*>(&PyMethod_Type));
      ok = Emit(function) && Emit(v->items[1]);
      Op(Opcode::CALL, 2);
    } else {
      // By the descriptor itself: the object's class may have another method of that name.
      PyObject* f = function->value.get();
      bool binds = Py_TYPE(f) == &PyMethodDescr_Type || Py_TYPE(f) == &PyWrapperDescr_Type || IsOpFunction(f);
      PyRef bind = binds ? PyRef::Steal(PyObject_GetAttrString(f, "__get__")) : PyRef();
      CallConst(bind ? bind.get() : reinterpret_cast<PyObject*>(&PyMethod_Type));
      ok = (bind || Emit(function)) && Emit(v->items[1]);
      Op(Opcode::CALL, bind ? 1 : 2);
    }
    if (ok) StoreSlot(v);
  } else if (v->type == &PySlice_Type) {
    ok = Emit(v->items[0]) && Emit(v->items[1]) && Emit(v->items[2]);
    Op(Opcode::BUILD_SLICE, 3);
    if (ok) StoreSlot(v);
  } else if (v->type == &PySuper_Type) {
    CallConst(reinterpret_cast<PyObject*>(&PySuper_Type));
    ok = Emit(v->items[0]) && Emit(v->items[1]);
    Op(Opcode::CALL, 2);
    if (ok) StoreSlot(v);
  } else if (v->generator != nullptr || v->construct_callable != nullptr ||
             (v->value && PyIter_Check(v->value.get()))) {
    ok = BuildIterator(v);
    if (ok && !v->attributes.empty()) pending_fills_.push_back(v);
  } else if (PyType_IsSubtype(v->type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) != 0) {
    ok = BuildException(v);
  } else if (!v->value && v->type != &PyTraceBack_Type) {
    ok = BuildInstance(v);
  } else {
    ok = Fail(v, std::string("an object of type ") + v->type->tp_name + " cannot be made again");
  }
  v->emitting--;
  return ok;
}

bool Emitter::FillPending() {
  while (!pending_fills_.empty()) {
    Var v = pending_fills_.back();
    pending_fills_.pop_back();
    if (v->type == &PyCell_Type) {
      if (v->items.empty() || v->items[0] == nullptr) continue;
      if (!Emit(v->items[0])) return false;
      Op(Opcode::LOAD_FAST, v->emitted_slot);
      Op(Opcode::STORE_ATTR, NameIndex("cell_contents"));
      continue;
    }
    if (v->shadow && BaseContainer(v->type) != nullptr && !FillContainer(v)) return false;
    if (!FillAttributes(v)) return false;
  }
  return true;
}

bool Emitter::FillAttributes(Var v) {
  if (v->function != nullptr || v->type == &PyCell_Type) return true;
  for (auto& [name, value] : v->attributes) {
    if (value == nullptr) continue;
    if (!StoreAttribute(v, name.get(), value)) return false;
  }
  return true;
}

// object.name = value, by the base rules: no __setattr__, property or descriptor of the user's runs.
bool Emitter::StoreAttribute(Var object, PyObject* name, Var value) {
  static PyObject* setattr_name = PyUnicode_InternFromString("__setattr__");
  static PyObject* object_setattr = MethodOf(&PyBaseObject_Type, "__setattr__");
  PyTypeObject* type =
      object->kind == VariableKind::kTensor && object->value ? Py_TYPE(object->value.get()) : object->type;
  PyObject* found = t_.TypeLookup(type, name, false);
  bool is_class = object->kind == VariableKind::kObject && PyType_Check(object->value.get());
  bool shadowed = !is_class && found != nullptr && Py_TYPE(found)->tp_descr_set != nullptr &&
                  Py_TYPE(found) != &PyMemberDescr_Type && Py_TYPE(found) != &PyGetSetDescr_Type;
  if (shadowed) {  // written through __dict__
    if (!Emit(value) || !Emit(object)) return false;
    Op(Opcode::LOAD_ATTR, NameIndex("__dict__") << 1);
    LoadConst(name);
    Op(Opcode::STORE_SUBSCR);
    return true;
  }
  PyObject* hook = t_.TypeLookup(type, setattr_name, false);
  if (hook != nullptr && PyFunction_Check(hook)) {
    static PyObject* type_setattr = MethodOf(&PyType_Type, "__setattr__");
    CallConst(is_class ? type_setattr : object_setattr);
    if (!Emit(object)) return false;
    LoadConst(name);
    if (!Emit(value)) return false;
    Op(Opcode::CALL, 3);
    Op(Opcode::POP_TOP);
    return true;
  }
  if (!Emit(value) || !Emit(object)) return false;
  Op(Opcode::STORE_ATTR, NameIndex(name));
  return true;
}

bool Emitter::BuildInstance(Var v) {
  CallConst(MethodOf(&PyBaseObject_Type, "__new__"));
  LoadClass(v->type);
  Op(Opcode::CALL, 1);
  StoreSlot(v);
  pending_fills_.push_back(v);
  return true;
}

bool Emitter::BuildFunction(Var v) {
  FunctionState& f = *v->function;
  static PyObject* function_type = TypesAttribute("FunctionType");
  bool same_globals = t_.Look(f.globals)->value.get() == t_.frame_view().globals;
  for (Var cell : f.closure) {
    if (t_.Look(cell)->kind == VariableKind::kNew && t_.Look(cell)->emitted_slot < 0) {
      if (!Emit(cell)) return false;
      Op(Opcode::POP_TOP);
    }
  }
  auto closure = [&] {
    for (Var cell : f.closure) {
      if (!Emit(cell)) return false;
    }
    Op(Opcode::BUILD_TUPLE, static_cast<int32_t>(f.closure.size()));
    return true;
  };
  if (same_globals) {
    if (!f.closure.empty() && !closure()) return false;
    LoadConst(reinterpret_cast<PyObject*>(f.code));
    Op(Opcode::MAKE_FUNCTION);
    if (!f.closure.empty()) Op(Opcode::SET_FUNCTION_ATTRIBUTE, 8);
  } else {
    CallConst(function_type);
    LoadConst(reinterpret_cast<PyObject*>(f.code));
    if (!Emit(f.globals)) return false;
    LoadConst(Py_None);
    LoadConst(Py_None);
    if (f.closure.empty()) {
      LoadConst(Py_None);
    } else if (!closure()) {
      return false;
    }
    Op(Opcode::CALL, 5);
  }
  StoreSlot(v);
  const std::pair<Var, const char*> parts[] = {{f.defaults, "__defaults__"},
                                               {f.kwdefaults, "__kwdefaults__"},
                                               {f.annotate, "__annotate__"},
                                               {f.annotations, "__annotations__"}};
  for (const auto& [part, name] : parts) {
    if (part == nullptr) continue;
    if (!Emit(part)) return false;
    Op(Opcode::LOAD_FAST, v->emitted_slot);
    Op(Opcode::STORE_ATTR, NameIndex(name));
  }
  for (auto& [name, value] : v->attributes) {
    if (value == nullptr) continue;
    if (!Emit(value)) return false;
    Op(Opcode::LOAD_FAST, v->emitted_slot);
    Op(Opcode::STORE_ATTR, NameIndex(name.get()));
  }
  return true;
}

bool Emitter::BuildIterator(Var v) {
  if (v->generator == nullptr && (v->edits_seen < 0 || t_.EditsBelow(v) != v->edits_seen))
    return Fail(v, "a container was changed under its iterator, which outlives the traced code");
  if (v->generator != nullptr && v->construct_callable == nullptr)
    return Fail(v, "a generator that is suspended in an exception handler outlives the traced code");
  if (IsMadeByCall(v)) {
    // What it iterates must be complete before it is made.
    bool complete = true;
    for (Var arg : v->construct_args) {
      if (t_.Look(arg)->kind != VariableKind::kNew) continue;
      if (!Emit(arg)) return false;
      Op(Opcode::POP_TOP);
      complete = false;
    }
    if (!complete && !FillPending()) return false;
    if (!Emit(v->construct_callable)) return false;
    Op(Opcode::PUSH_NULL);
    for (Var arg : v->construct_args) {
      if (!Emit(arg)) return false;
    }
    int32_t count = static_cast<int32_t>(v->construct_args.size() + v->construct_kwargs.size());
    if (v->construct_kwargs.empty()) {
      Op(Opcode::CALL, count);
    } else {
      PyRef names = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(v->construct_kwargs.size())));
      for (size_t i = 0; i < v->construct_kwargs.size(); i++) {
        if (!Emit(v->construct_kwargs[i].second)) return false;
        PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i),
                         Py_NewRef(v->construct_kwargs[i].first.get()));
      }
      LoadConst(names.get());
      Op(Opcode::CALL_KW, count);
    }
    StoreSlot(v);
    if (v->finished && v->generator != nullptr) {
      CallConst(MethodOf(&PyGen_Type, "close"));
    } else if (IsSuspended(v)) {
      CallConst(PyDict_GetItemString(PyEval_GetBuiltins(), "next"));
    } else {
      return true;
    }
    Op(Opcode::LOAD_FAST, v->emitted_slot);
    Op(Opcode::CALL, 1);
    Op(Opcode::POP_TOP);
    return true;
  }
  PyRef reduced = PyRef::Steal(PyObject_CallMethod(v->value.get(), "__reduce__", nullptr));
  if (!reduced || !PyTuple_Check(reduced.get()) || PyTuple_GET_SIZE(reduced.get()) < 2) {
    PyErr_Clear();
    return Fail(v, std::string("a ") + v->type->tp_name + " that has been moved outlives the traced code");
  }
  keep_.push_back(reduced);
  PyObject* callable = PyTuple_GET_ITEM(reduced.get(), 0);
  PyObject* args = PyTuple_GET_ITEM(reduced.get(), 1);
  // What it makes must be of the same type.
  PyRef again = PyRef::Steal(PyObject_Call(callable, args, nullptr));
  bool same = again && Py_TYPE(again.get()) == Py_TYPE(v->value.get());
  PyErr_Clear();
  if (!same)
    return Fail(v, std::string("a ") + v->type->tp_name + " that has been moved outlives the traced code");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
    if (!EmitReal(PyTuple_GET_ITEM(args, i))) return false;
    Op(Opcode::POP_TOP);
  }
  if (!FillPending()) return false;
  // A subclass may have its own way to be iterated, which was not asked.
  PyObject* first = PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : nullptr;
  Var container = first != nullptr && IsContainerType(Py_TYPE(first)) ? t_.FromShadow(first) : nullptr;
  if (container != nullptr && container->type != Py_TYPE(first)) {
    const bool back = callable == reinterpret_cast<PyObject*>(&PyReversed_Type);
    callable = MethodOf(Py_TYPE(first), back ? "__reversed__" : "__iter__");
  }
  CallConst(callable);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
    if (!EmitReal(PyTuple_GET_ITEM(args, i))) return false;
  }
  Op(Opcode::CALL, static_cast<int32_t>(PyTuple_GET_SIZE(args)));
  StoreSlot(v);
  PyObject* over = PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : nullptr;
  bool nothing = over != nullptr && ((PyList_CheckExact(over) && PyList_GET_SIZE(over) == 0) ||
                                     (PyTuple_CheckExact(over) && PyTuple_GET_SIZE(over) == 0));
  if (nothing && PyTuple_GET_SIZE(reduced.get()) == 2) {  // exhausted, and remembers it
    CallConst(PyDict_GetItemString(PyEval_GetBuiltins(), "next"));
    Op(Opcode::LOAD_FAST, v->emitted_slot);
    LoadConst(Py_None);
    Op(Opcode::CALL, 2);
    Op(Opcode::POP_TOP);
  }
  if (PyTuple_GET_SIZE(reduced.get()) > 2 && PyTuple_GET_ITEM(reduced.get(), 2) != Py_None) {
    late_states_.emplace_back(v, PyTuple_GET_ITEM(reduced.get(), 2));
    if (replayed_) return EmitLateStates();
  }
  return true;
}

// A generator that is suspended is made again of a function of the rest of it, which begins at that `yield`,
// and moved on to there. Sets what it is made of; a generator for which there is no such function keeps
// nothing.
void Emitter::ContinueSuspended(Var v) {
  const SymbolicFrame& frame = *v->generator;
  const std::vector<uint8_t>& kinds = frame.parts->local_kinds;
  v->construct_callable = nullptr;
  v->construct_args.clear();
  v->construct_kwargs.clear();
  if (!frame.handled.empty()) return;
  Var next = t_.New(&PyFunction_Type);
  next->function = std::make_unique<FunctionState>();
  next->function->globals = frame.globals;
  ResumePoint point;
  point.target = frame.pc - 1;
  for (size_t slot = 0; slot < kinds.size(); slot++) {
    Var held = frame.locals[slot];
    if ((kinds[slot] & (kLocalCell | kLocalFree)) != 0) {
      next->function->closure.push_back(held);
    } else if (held != nullptr) {
      point.bound_locals.push_back(static_cast<int32_t>(slot));
      v->construct_args.push_back(held);
    }
  }
  for (Var held : frame.stack) {
    point.stack_is_null.push_back(held->kind == VariableKind::kNull);
    if (held->kind != VariableKind::kNull) v->construct_args.push_back(held);
  }
  point.stack_is_null.push_back(false);
  v->construct_args.push_back(t_.None());  // is yielded once more
  PyRef code = PyRef::Steal(reinterpret_cast<PyObject*>(MakeResumeCode(frame.code, point)));
  PyErr_Clear();
  if (!code) return;
  keep_.push_back(code);
  next->function->code = reinterpret_cast<PyCodeObject*>(code.get());
  v->construct_callable = next;
}

// An iterator's position is cut to the length of what it goes through, which the replay may still extend.
bool Emitter::EmitLateStates() {
  for (const auto& [iterator, state] : late_states_) {
    Op(Opcode::LOAD_FAST, iterator->emitted_slot);
    Op(Opcode::LOAD_ATTR, (NameIndex("__setstate__") << 1) | 1);
    if (!EmitReal(state)) return false;
    Op(Opcode::CALL, 1);
    Op(Opcode::POP_TOP);
  }
  late_states_.clear();
  return true;
}

bool Emitter::BuildException(Var v) {
  if (v->raised || v->context != nullptr)
    return Fail(v, "an exception that was raised outlives the traced code");
  if (v->value) return Fail(v, "an exception made by a built-in function outlives the traced code");
  if (!PyType_HasFeature(v->type, Py_TPFLAGS_HEAPTYPE)) {
    CallConst(reinterpret_cast<PyObject*>(v->type));
    for (Var item : v->items) {
      if (!Emit(item)) return false;
    }
    Op(Opcode::CALL, static_cast<int32_t>(v->items.size()));
  } else {
    CallConst(MethodOf(reinterpret_cast<PyTypeObject*>(PyExc_BaseException), "__new__"));
    LoadClass(v->type);
    for (Var item : v->items) {
      if (!Emit(item)) return false;
    }
    Op(Opcode::CALL, static_cast<int32_t>(v->items.size()) + 1);
  }
  StoreSlot(v);
  pending_fills_.push_back(v);
  return true;
}

bool Emitter::BuildTensor(Var v) {
  TensorBase* base = v->tensor->base;
  const bool foreign = base->form.adapter != nullptr;
  const TensorMeta& made = foreign ? base->made : base->meta;
  auto whole = [&] {
    if (!foreign) return t_.IsWhole(v);
    return v->tensor->meta.sizes == made.sizes && v->tensor->meta.strides == made.strides &&
           v->tensor->meta.offset == made.offset;
  };
  int32_t base_slot = -1;
  if (base->input == nullptr) {
    for (size_t i = 0; i < output_bases_.size(); i++) {
      if (output_bases_[i] == base) base_slot = output_slots_[i];
    }
    if (base_slot < 0) return Fail(v, "internal: a tensor that is no output of the graph");
    if ((!base->taken || base->form.scalar) && whole()) {
      base->taken = true;
      v->emitted_slot = base_slot;
      if (!v->attributes.empty()) pending_fills_.push_back(v);
      Op(Opcode::LOAD_FAST, base_slot);
      return true;
    }
  }
  if (v->tensor->form.adapter != nullptr) {
    for (size_t i = 0; i < v->tensor->meta.sizes.size(); i++) {
      if (v->tensor->meta.strides[i] == 0 && v->tensor->meta.sizes[i] > 1)
        return Fail(v, "an array that repeats its elements outlives the traced code");
    }
    if (!IsDense(made)) return Fail(v, "a view of an array with gaps outlives the traced code");
  }
  CallConst(v->tensor->form.adapter != nullptr ? ArrayViewFunction() : TensorOperation("as_strided"));
  if (base_slot >= 0) {
    Op(Opcode::LOAD_FAST, base_slot);
  } else if (!Emit(base->input)) {
    return false;
  }
  std::vector<Var> parts = t_.LayoutOf(v);
  const size_t rank = v->tensor->meta.sizes.size();
  for (size_t first : {size_t{0}, rank}) {
    Var tuple = t_.NewTuple(
        {parts.begin() + static_cast<long>(first), parts.begin() + static_cast<long>(first + rank)});
    PyObject* constant = t_.TryConst(tuple);
    if (constant != nullptr) {
      LoadConst(constant);
      continue;
    }
    for (Var part : tuple->items) {
      if (part->kind == VariableKind::kScalar) CountSource(part->source);
      if (!Emit(part)) return false;
    }
    Op(Opcode::BUILD_TUPLE, static_cast<int32_t>(rank));
  }
  if (parts.back()->kind == VariableKind::kScalar) CountSource(parts.back()->source);
  if (!Emit(parts.back())) return false;
  Op(Opcode::CALL, 4);
  StoreSlot(v);
  if (!v->attributes.empty()) pending_fills_.push_back(v);
  return true;
}

}  // namespace thirdbook
