// Items, length, membership and iteration of any object; generators. See trace.h.
//
// In: a variable. Out: a variable or a failure; Next gives nullptr without failure at the end. Invariant: a
// generator's frame is interpreted symbolically between its yields; iterators of built-in types are CPython's
// own over shadows.
#include "interpret/builtins.h"
#include "interpret/trace.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

bool IsTupleLike(Var v) {
  return !IsValue(v) && v->type != nullptr && PyType_IsSubtype(v->type, &PyTuple_Type) != 0;
}

}  // namespace

// The items of a tuple (or subclass) that is New or was there before.
static bool TupleItems(Trace& t, Var v, std::vector<Var>* out) {
  if (v->kind == VariableKind::kNew) {
    *out = v->items;
    return true;
  }
  Py_ssize_t n = PyTuple_GET_SIZE(v->value.get());
  t.GuardLength(v->source, n);
  for (Py_ssize_t i = 0; i < n; i++) {
    Var index = t.ConstSteal(PyLong_FromSsize_t(i));
    out->push_back(t.Lazy(PyTuple_GET_ITEM(v->value.get(), i),
                          t.Expression(SourceKind::kItem, {v->source, t.ObjectSource(index->value.get())})));
  }
  return true;
}

Var Trace::GetItem(Var object, Var key_in) {
  Var o = Look(object);
  Var key = Look(key_in);
  if (o->kind == VariableKind::kTensor) return TensorGetItem(o, key);
  if (IsValue(o)) {
    static PyObject* getitem = [] {
      PyRef module = PyRef::Steal(PyImport_ImportModule("operator"));
      return PyObject_GetAttrString(module.get(), "getitem");
    }();
    if (IsValue(key) && o->type != nullptr) {
      if (o->kind == VariableKind::kConst && PyTuple_CheckExact(o->value.get()) &&
          key->kind == VariableKind::kScalar) {
        // A table read at a place that later calls may change.
        Py_ssize_t n = PyTuple_GET_SIZE(o->value.get());
        Py_ssize_t i =
            key->value && PyLong_CheckExact(key->value.get()) ? PyLong_AsSsize_t(key->value.get()) : n;
        PyErr_Clear();
        if (i < 0) i += n;
        if (i >= 0 && i < n) return ItemAt(o, key, PyTuple_GET_ITEM(o->value.get(), i));
        if (ConstValue(key) == nullptr) return nullptr;
      }
      return CallPure(getitem, {o, key}, nullptr, true);
    }
    PyObject* container = ConstValue(o);
    if (container == nullptr) return nullptr;
    PyRef k = SliceOrShadow(key);
    if (!k) return failure_ != Failure::kNone ? nullptr : RaiseFromPython();
    return ConstSteal(PyObject_GetItem(container, k.get()));
  }
  if (IsTupleLike(o)) {
    static PyObject* name = PyUnicode_InternFromString("__getitem__");
    PyObject* found = TypeLookup(o->type, name, true);
    if (found != nullptr && PyFunction_Check(found)) return Call(NewMethod(Fixed(found), o), {key});
    std::vector<Var> items;
    if (o->kind == VariableKind::kObject && IsValue(key) && key->value &&
        PyLong_CheckExact(key->value.get())) {
      Py_ssize_t i = PyLong_AsSsize_t(key->value.get()), n = PyTuple_GET_SIZE(o->value.get());
      PyErr_Clear();
      Py_ssize_t at = i < 0 ? i + n : i;
      if (at >= 0 && at < n) return ItemAt(o, key, PyTuple_GET_ITEM(o->value.get(), at));
    }
    if (o->kind == VariableKind::kNew && key->kind == VariableKind::kConst &&
        PyLong_CheckExact(key->value.get())) {
      size_t at = PyLong_AsSize_t(key->value.get());
      PyErr_Clear();
      if (at < o->items.size()) return o->items[at];
    }
    if (!TupleItems(*this, o, &items)) return nullptr;
    if (key->type == &PySlice_Type ||
        (key->kind == VariableKind::kConst && PySlice_Check(key->value.get()))) {
      PyRef slice = key->kind == VariableKind::kConst ? key->value : SliceOrShadow(key);
      if (!slice) return failure_ != Failure::kNone ? nullptr : RaiseFromPython();
      Py_ssize_t start, stop, step;
      if (PySlice_Unpack(slice.get(), &start, &stop, &step) < 0) return RaiseFromPython();
      Py_ssize_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(items.size()), &start, &stop, step);
      if (o->type == &PyTuple_Type && step == 1 && count == static_cast<Py_ssize_t>(items.size())) return o;
      std::vector<Var> chosen;
      for (Py_ssize_t i = 0; i < count; i++) chosen.push_back(items[static_cast<size_t>(start + i * step)]);
      return NewTuple(std::move(chosen));
    }
    Var index = IndexOf(key);
    if (index == nullptr) return nullptr;
    PyObject* k = ConstValue(index);
    if (k == nullptr) return nullptr;
    if (!PyLong_Check(k)) {
      return RaiseNew(PyExc_TypeError,
                      {"tuple indices must be integers or slices, not ", Py_TYPE(k)->tp_name});
    }
    Py_ssize_t i = PyLong_AsSsize_t(k);
    PyErr_Clear();
    Py_ssize_t at = i < 0 ? i + static_cast<Py_ssize_t>(items.size()) : i;
    if (at < 0 || at >= static_cast<Py_ssize_t>(items.size()))
      return RaiseNew(PyExc_IndexError, "tuple index out of range");
    return items[static_cast<size_t>(at)];
  }
  if (o->dict_of != nullptr) return DictOfMethod(o, "__getitem__", {o, key}, nullptr);
  static PyObject* getitem_name = PyUnicode_InternFromString("__getitem__");
  static PyObject* class_getitem = PyUnicode_InternFromString("__class_getitem__");
  PyObject* found = TypeLookup(o->type, getitem_name, true);
  if (found != nullptr && PyFunction_Check(found)) return Call(NewMethod(Fixed(found), o), {key});
  if (IsContainer(o)) return BuiltinGetItem(o, key);
  if (o->kind == VariableKind::kObject && PyType_Check(o->value.get())) {
    if (found != nullptr && strcmp(Py_TYPE(o->value.get())->tp_name, "EnumType") != 0)
      return Break("a class is subscripted");
    if (strcmp(Py_TYPE(o->value.get())->tp_name, "EnumType") == 0) {
      PyObject* k = ConstValue(key);
      if (k == nullptr) return nullptr;
      PyRef member = PyRef::Steal(PyObject_GetItem(o->value.get(), k));
      return member ? Fixed(member.get()) : RaiseFromPython();
    }
    // list[int]
    PyObject* maker = TypeLookup(reinterpret_cast<PyTypeObject*>(o->value.get()), class_getitem, true);
    PyObject* k = maker != nullptr && Py_TYPE(maker) == &PyClassMethodDescr_Type ? TryConst(key) : nullptr;
    if (k != nullptr) return ConstSteal(PyObject_GetItem(o->value.get(), k));
    return Break("a class is subscripted");
  }
  if (found != nullptr) {
    if (Var plain = PlainValue(o)) return CallMethodDescriptor(found, {plain, key}, nullptr);
    return Break({"'", o->type->tp_name, "' object is subscripted"});
  }
  return RaiseNew(PyExc_TypeError, {"'", o->type->tp_name, "' object is not subscriptable"});
}

bool Trace::SetItem(Var object, Var key, Var value) {
  Var o = Look(object);
  if (o->kind == VariableKind::kTensor) {
    if (value == nullptr) {
      Break("an item of a tensor is deleted");
      return false;
    }
    return TensorSetItem(o, Look(key), value);
  }
  const char* method = value != nullptr ? "__setitem__" : "__delitem__";
  if (o->dict_of != nullptr) {
    std::vector<Var> args = {o, key};
    if (value != nullptr) args.push_back(value);
    return DictOfMethod(o, method, args, nullptr) != nullptr;
  }
  if (IsValue(o)) {
    RaiseNew(PyExc_TypeError, {"'", o->type->tp_name, "' object does not support item ",
                               (value != nullptr ? "assignment" : "deletion")});
    return false;
  }
  PyRef name = PyRef::Steal(PyUnicode_InternFromString(method));
  PyObject* found = TypeLookup(o->type, name.get(), true);
  keep_alive_.push_back(name);
  if (found != nullptr && PyFunction_Check(found)) {
    std::vector<Var> args = {key};
    if (value != nullptr) args.push_back(value);
    return Call(NewMethod(Fixed(found), o), args) != nullptr;
  }
  if (IsContainer(o) && found != nullptr) return BuiltinSetItem(o, key, value);
  if (found == nullptr) {
    RaiseNew(PyExc_TypeError, {"'", o->type->tp_name,
                               (value != nullptr ? "' object does not support item assignment"
                                                 : "' object doesn't support item deletion")});
    return false;
  }
  Break({"an item of a '", o->type->tp_name, "' object is set"});
  return false;
}

Var Trace::Contains(Var container, Var item) {
  Var o = CurrentView(Look(container));
  if (o == nullptr) return nullptr;
  Var x = Look(item);
  if (IsValue(o)) {
    static PyObject* contains = [] {
      PyRef module = PyRef::Steal(PyImport_ImportModule("operator"));
      return PyObject_GetAttrString(module.get(), "contains");
    }();
    if (IsValue(x)) return CallPure(contains, {o, x}, nullptr, true);
    PyObject* value = ConstValue(o);
    PyRef shadow = PyRef::Steal(ArgumentShadow(x));
    if (value == nullptr || !shadow) return failure_ != Failure::kNone ? nullptr : RaiseFromPython();
    int found = PySequence_Contains(value, shadow.get());
    if (failure_ != Failure::kNone) return nullptr;
    return found < 0 ? RaiseFromPython() : Bool(found == 1);
  }
  if (o->dict_of != nullptr) return DictOfMethod(o, "__contains__", {o, x}, nullptr);
  Var method = nullptr;
  static PyObject* name = PyUnicode_InternFromString("__contains__");
  PyObject* found = o->kind == VariableKind::kTensor ? nullptr : TypeLookup(o->type, name, true);
  if (found != nullptr && PyFunction_Check(found)) {
    method = Call(NewMethod(Fixed(found), o), {x});
    if (method == nullptr) return nullptr;
    return ToBool(method);
  }
  if (IsContainer(o)) return BuiltinContains(o, x);
  if (o->kind == VariableKind::kTensor)
    return Break("membership in a tensor is asked", BreakKind::kValuesNeeded);
  if (o->kind == VariableKind::kObject && strcmp(o->type->tp_name, "EnumType") == 0) {
    PyObject* k = x->kind == VariableKind::kObject ? x->value.get() : ConstValue(x);
    if (k == nullptr) return nullptr;
    int r = PySequence_Contains(o->value.get(), k);
    return r < 0 ? RaiseFromPython() : Bool(r == 1);
  }
  if (Var plain = PlainValue(o)) return Contains(plain, x);
  // Iteration, comparing by identity and then equality.
  Var it = GetIter(o);
  if (it == nullptr) return nullptr;
  while (true) {
    Var element = Next(it);
    if (element == nullptr) return failure_ != Failure::kNone ? nullptr : Bool(false);
    if (Look(element) == x) return Bool(true);
    Var equal = Compare(Py_EQ, element, x);
    int truth = equal != nullptr ? Truth(equal) : -1;
    if (truth != 0) return truth < 0 ? nullptr : Bool(true);
  }
}

Var Trace::Length(Var v) {
  v = Look(v);
  if (v->kind == VariableKind::kConst) {
    Py_ssize_t n = PyObject_Size(v->value.get());
    return n < 0 ? RaiseFromPython() : ConstSteal(PyLong_FromSsize_t(n));
  }
  if (v->kind == VariableKind::kScalar && !v->value && v->type == &PyUnicode_Type)
    return Scalar(&PyLong_Type, Expression(SourceKind::kLength, {v->source}), nullptr);
  if (v->kind == VariableKind::kScalar) {
    static PyObject* len = PyDict_GetItemString(PyEval_GetBuiltins(), "len");
    return CallPure(len, {v}, nullptr, true);
  }
  if (v->kind == VariableKind::kTensor) {
    if (v->tensor->meta.sizes.empty() && IsForeign(v)) return Break("len() of a 0-d array");
    if (v->tensor->meta.sizes.empty()) return RaiseNew(PyExc_TypeError, "len() of a 0-d tensor");
    return SizeAt(v, 0);
  }
  static PyObject* name = PyUnicode_InternFromString("__len__");
  if (v->dict_of != nullptr) return DictOfMethod(v, "__len__", {v}, nullptr);
  PyObject* found = TypeLookup(v->type, name, true);
  if (found != nullptr && PyFunction_Check(found)) {
    Var n = Call(NewMethod(Fixed(found), v), {});
    if (n == nullptr) return nullptr;
    if (Look(n)->type != &PyLong_Type)
      return Break("__len__ gave something that is no int", BreakKind::kPythonRaises);
    return n;
  }
  if (IsTupleLike(v)) {
    std::vector<Var> items;
    if (!TupleItems(*this, v, &items)) return nullptr;
    return ConstSteal(PyLong_FromSsize_t(static_cast<Py_ssize_t>(items.size())));
  }
  if (IsContainer(v)) return BuiltinLength(v);
  if (Var dict = ViewedDict(v)) return BuiltinLength(dict);
  if (v->kind == VariableKind::kNew && v->value) {
    Py_ssize_t n = PyObject_Size(v->value.get());
    return n < 0 ? RaiseFromPython() : ConstSteal(PyLong_FromSsize_t(n));
  }
  if (v->kind == VariableKind::kObject && strcmp(v->type->tp_name, "EnumType") == 0)
    return ConstSteal(PyLong_FromSsize_t(PyObject_Size(v->value.get())));
  if (found != nullptr) {
    if (Var plain = PlainValue(v)) return Length(plain);
    return Break({"len() of a '", v->type->tp_name, "'"});
  }
  return RaiseNew(PyExc_TypeError, {"object of type '", v->type->tp_name, "' has no len()"});
}

// ---- iteration
// ------------------------------------------------------------------------------------------------------------

static Var RealIterator(Trace& t, PyObject* iterator_stolen) {
  if (iterator_stolen == nullptr) return t.RaiseFromPython();
  PyRef holder = PyRef::Steal(iterator_stolen);
  return t.FromShadow(iterator_stolen);
}

// Whether an iterator over such a container notices a change of its contents; a list's goes by position.
static bool NoticesChanges(Var v) {
  PyTypeObject* base = BaseContainer(v->type);
  return base != nullptr && base != &PyList_Type && base != &PyFrozenSet_Type;
}

int Trace::EditsBelow(Var iterator) {
  int edits = 0;
  for (Var arg : iterator->construct_args) {
    Var v = Look(arg);
    if (!NoticesChanges(v) || v->edits == 0) continue;
    if (v->kind == VariableKind::kObject) return -1;  // it is made before the changes are replayed
    edits += v->edits;
  }
  return edits;
}

void Trace::MarkMoved(Var v) {
  Nesting nesting;
  if (Nesting::Deep()) return;  // too deep to be made again anyway
  while (v->forward != nullptr) v = v->forward;
  if (v->kind == VariableKind::kNew && v->value && PyIter_Check(v->value.get())) {
    if (v->advanced) return;
    v->advanced = true;
    for (Var arg : v->construct_args) MarkMoved(arg);
    return;
  }
  if (v->kind != VariableKind::kNew && v->kind != VariableKind::kObject) return;
  PyObject* shadow = v->shadow.get();
  if (shadow == nullptr || !(PyList_Check(shadow) || PyTuple_Check(shadow))) return;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(shadow); i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(shadow, i);
    if (IsProxy(item) || !(PyIter_Check(item) || PyList_CheckExact(item) || PyTuple_CheckExact(item)))
      continue;
    auto known = shadows_.find(item);
    if (known != shadows_.end() && known->second != v) MarkMoved(known->second);
  }
}

Var Trace::GetIter(Var object) {
  Var v = CurrentView(Look(object));
  if (v == nullptr) return nullptr;
  if (v->kind == VariableKind::kNew &&
      (v->generator != nullptr || (v->value && PyIter_Check(v->value.get()))))
    return v;
  if (IsValue(v)) {
    PyObject* value = ConstValue(v);
    return value == nullptr ? nullptr : RealIterator(*this, PyObject_GetIter(value));
  }
  if (v->kind == VariableKind::kTensor) {
    if (v->tensor->meta.sizes.empty() && IsForeign(v)) return Break("iteration over a 0-d array");
    if (v->tensor->meta.sizes.empty()) return RaiseNew(PyExc_TypeError, "iteration over a 0-d tensor");
    if (ConstValue(SizeAt(v, 0)) == nullptr) return nullptr;
    PyRef list = PyRef::Steal(PyList_New(0));
    for (int64_t i = 0; i < v->tensor->meta.sizes[0]; i++) {
      Var item = TensorGetItem(v, ConstSteal(PyLong_FromLongLong(i)));
      if (item == nullptr) return nullptr;
      PyRef element = PyRef::Steal(ElementShadow(item));
      PyList_Append(list.get(), element.get());
    }
    return RealIterator(*this, PyObject_GetIter(list.get()));
  }
  static PyObject* name = PyUnicode_InternFromString("__iter__");
  if (v->dict_of != nullptr) return DictOfMethod(v, "__iter__", {v}, nullptr);
  PyObject* found = TypeLookup(v->type, name, true);
  if (found != nullptr && PyFunction_Check(found)) return Call(NewMethod(Fixed(found), v), {});
  if (IsTupleLike(v)) {
    std::vector<Var> items;
    if (!TupleItems(*this, v, &items)) return nullptr;
    PyRef tuple = PyRef::Steal(ElementShadow(NewTuple(items)));
    return tuple ? RealIterator(*this, PyObject_GetIter(tuple.get())) : RaiseFromPython();
  }
  if (IsContainer(v)) {
    if (!EnsureShadow(v)) return nullptr;
    Var it = RealIterator(*this, PyObject_GetIter(v->shadow.get()));
    if (it != nullptr && NoticesChanges(v)) {
      static PyObject* iter = PyDict_GetItemString(PyEval_GetBuiltins(), "iter");
      it->construct_callable = Fixed(iter);
      it->construct_args = {v};
      it->edits_seen = EditsBelow(it);
    }
    return it;
  }
  if (v->kind == VariableKind::kNew && v->value) return RealIterator(*this, PyObject_GetIter(v->value.get()));
  if (v->kind == VariableKind::kObject && strcmp(v->type->tp_name, "EnumType") == 0) {
    PyRef members = PyRef::Steal(PySequence_List(v->value.get()));
    if (!members) return RaiseFromPython();
    PyRef list = PyRef::Steal(PyList_New(0));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(members.get()); i++) {
      PyRef element = PyRef::Steal(ElementShadow(Fixed(PyList_GET_ITEM(members.get(), i))));
      PyList_Append(list.get(), element.get());
    }
    return RealIterator(*this, PyObject_GetIter(list.get()));
  }
  if (v->kind == VariableKind::kObject && PyIter_Check(v->value.get())) return v;
  if (found == nullptr) {
    static PyObject* getitem = PyUnicode_InternFromString("__getitem__");
    PyObject* item_method = TypeLookup(v->type, getitem, true);
    if (item_method != nullptr && PyFunction_Check(item_method)) {
      // The old sequence protocol: 0, 1, 2... until IndexError.
      PyRef proxy = PyRef::Steal(MakeProxy(v));
      return RealIterator(*this, PySeqIter_New(proxy.get()));
    }
    if (item_method == nullptr)
      return RaiseNew(PyExc_TypeError, {"'", v->type->tp_name, "' object is not iterable"});
  }
  if (Var plain = PlainValue(v)) return GetIter(plain);
  return Break({"a '", v->type->tp_name, "' object is iterated"});
}

Var Trace::Next(Var iterator) {
  Var v = Look(iterator);
  if (v->generator != nullptr) {
    v->advanced = true;
    return SendGenerator(v, None(), nullptr);
  }
  if (v->kind == VariableKind::kNew && v->value && PyIter_Check(v->value.get())) {
    MarkMoved(v);
    PyRef value = PyRef::Steal(PyIter_Next(v->value.get()));
    if (failure_ != Failure::kNone) {
      if (failure_ != Failure::kFatal) PyErr_Clear();
      return nullptr;
    }
    if (!value) return PyErr_Occurred() != nullptr ? RaiseFromPython() : nullptr;
    return FromShadow(value.get());
  }
  if (IsHandedInIterator(v)) return NextHandedIn(v, true);
  static PyObject* name = PyUnicode_InternFromString("__next__");
  PyObject* found =
      v->type != nullptr && v->kind != VariableKind::kTensor ? TypeLookup(v->type, name, true) : nullptr;
  if (found != nullptr && PyFunction_Check(found)) {
    Var value = Call(NewMethod(Fixed(found), v), {});
    if (value == nullptr && RaisedMatches(PyExc_StopIteration)) {
      Var stop = TakeRaised();
      generator_result_ = stop->items.empty() ? None() : stop->items[0];
      return nullptr;
    }
    return value;
  }
  if (found == nullptr)
    return RaiseNew(PyExc_TypeError, {"'", v->type->tp_name, "' object is not an iterator"});
  return Break({"a '", v->type->tp_name, "' that was there before the call is moved on"},
               BreakKind::kKeptByPython);
}

bool Trace::Iterate(Var iterable, std::vector<Var>* out) {
  Var v = Look(iterable);
  static PyObject* name = PyUnicode_InternFromString("__iter__");
  if (IsTupleLike(v)) {
    PyObject* found = TypeLookup(v->type, name, true);
    if (found == nullptr || !PyFunction_Check(found)) return TupleItems(*this, v, out);
  }
  Var it = GetIter(v);
  if (it == nullptr) return false;
  while (true) {
    Var item = Next(it);
    if (item == nullptr) return failure_ == Failure::kNone;
    out->push_back(item);
    if (out->size() > 100000) {
      Break("an iterable gives more than 100,000 items", BreakKind::kLimit);
      return false;
    }
  }
}

// ---- generators
// -------------------------------------------------------------------------------------------------------------

bool IsSuspended(Var v) {
  return v->generator != nullptr && v->advanced && !v->finished && v->generator->pc != 0;
}

bool IsMadeByCall(Var v) {
  return v->construct_callable != nullptr && (!v->advanced || v->generator != nullptr);
}

Var Trace::SendGenerator(Var generator, Var value, Var exception) {
  SymbolicFrame* frame = generator->generator.get();
  generator_result_ = nullptr;
  if (generator->finished || frame == nullptr) {
    if (exception != nullptr) return Raise(exception);
    return nullptr;
  }
  for (SymbolicFrame* f : frame_stack_) {
    if (f == frame) return RaiseNew(PyExc_ValueError, "generator already executing");
  }
  const bool started = IsSuspended(generator);
  if (!started && value != nullptr && !Look(value)->IsConst(Py_None)) {
    return RaiseNew(PyExc_TypeError, "can't send non-None value to a just-started generator");
  }
  generator->advanced = true;
  if (depth_ >= 90) return Break("generators are nested too deep", BreakKind::kLimit);
  frame->caller = current_frame();
  depth_++;
  frame_stack_.push_back(frame);
  if (started) {
    if (value != nullptr) frame->stack.push_back(value);
  }
  RunResult result;
  if (exception != nullptr) {
    if (!started) {
      frame_stack_.pop_back();
      depth_--;
      generator->finished = true;
      return Raise(exception);
    }
    frame->stack.push_back(None());
    result = ThrowInto(*frame, exception);
  } else {
    result = Run(*frame);
  }
  frame_stack_.pop_back();
  depth_--;
  switch (result) {
    case RunResult::kYielded: return returned_;
    case RunResult::kReturned:
      generator->finished = true;
      generator_result_ = returned_;
      return nullptr;
    case RunResult::kFailed:
      generator->finished = true;
      if (RaisedMatches(PyExc_StopIteration)) {
        // PEP 479
        TakeRaised();
        return RaiseNew(PyExc_RuntimeError, "generator raised StopIteration");
      }
      return nullptr;
  }
  return nullptr;
}

Var Trace::CloseGenerator(Var generator) {
  SymbolicFrame* frame = generator->generator.get();
  if (generator->finished || frame == nullptr) return None();
  if (!generator->advanced || frame->pc == 0) {
    generator->finished = true;
    generator->advanced = true;
    return None();
  }
  Var v = SendGenerator(generator, nullptr, MakeException(PyExc_GeneratorExit, {}));
  if (v != nullptr) return RaiseNew(PyExc_RuntimeError, "generator ignored GeneratorExit");
  if (failure_ == Failure::kNone) return generator_result_ != nullptr ? generator_result_ : None();
  if (RaisedMatches(PyExc_GeneratorExit) || RaisedMatches(PyExc_StopIteration)) {
    ClearFailure();
    return None();
  }
  return nullptr;
}

}  // namespace thirdbook
