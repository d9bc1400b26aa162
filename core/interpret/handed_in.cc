// Iterators and dict views that were there before the call: traced by what they say of themselves, moved on
// at the replay.
//
// In: an existing iterator of a built-in type. Out: its next element as a variable; the iterator itself is
// moved at the replay, as often and in the order in which the program did. The parts that `__reduce__` gives
// (what is iterated, the position, functions) are sources, so a position that grows from call to call is no
// reason to compile again.
//
//   list, tuple, str, reversed list   element [position + k] of what is iterated; exhausted past its length
//   range                             start + step * k of the rest
//   dict and set                      element k of the list of the rest
//   enumerate                         the inner iterator's next, numbered
//   zip, map, filter                  nothing of their own: the inner iterators move, functions are traced
//
// Invariant: moving an iterator at the replay runs no user code; where it would there is a break.
#include "interpret/trace.h"

namespace thirdbook {

namespace {

enum class IteratorKind : uint8_t {
  kNone,
  kSequence,
  kReverse,
  kRange,
  kRest,
  kRestOfItems,
  kEnumerate,
  kZip,
  kMap,
  kFilter
};

// What a long loop adds up is an expression that grows with each element.
constexpr Py_ssize_t kMaxMoves = 400;
constexpr long kState = 100;  // _iterator_part's number of the state that __reduce__ gives last

IteratorKind KindOf(PyTypeObject* type) {
  static const std::unordered_map<PyTypeObject*, IteratorKind>& kinds = *[] {
    auto* table = new std::unordered_map<PyTypeObject*, IteratorKind>();
    static const std::pair<const char*, IteratorKind> kExamples[] = {
        {"iter([])", IteratorKind::kSequence},
        {"iter(())", IteratorKind::kSequence},
        {"iter('')", IteratorKind::kSequence},
        {"iter('\\u0439')", IteratorKind::kSequence},
        {"reversed([])", IteratorKind::kReverse},
        {"iter(range(0))", IteratorKind::kRange},
        {"iter({})", IteratorKind::kRest},
        {"iter({}.values())", IteratorKind::kRest},
        {"iter({}.items())", IteratorKind::kRestOfItems},
        {"iter(set())", IteratorKind::kRest},
        {"enumerate(())", IteratorKind::kEnumerate},
        {"zip()", IteratorKind::kZip},
        {"map(len, ())", IteratorKind::kMap},
        {"filter(None, ())", IteratorKind::kFilter}};
    PyRef scope = PyRef::Steal(PyDict_New());
    PyDict_SetItemString(scope.get(), "__builtins__", PyEval_GetBuiltins());
    for (const auto& [text, kind] : kExamples) {
      PyRef example = PyRef::Steal(PyRun_String(text, Py_eval_input, scope.get(), scope.get()));
      if (example) table->emplace(Py_TYPE(example.get()), kind);
    }
    PyErr_Clear();
    return table;
  }();
  auto it = kinds.find(type);
  return it != kinds.end() ? it->second : IteratorKind::kNone;
}

// New reference or nullptr with an exception set.
PyObject* PartOf(PyObject* iterator, long which) {
  if (KindOf(Py_TYPE(iterator)) == IteratorKind::kNone) {
    PyErr_SetString(PyExc_TypeError, "_iterator_part() of an unknown iterator");
    return nullptr;
  }
  PyRef reduced = PyRef::Steal(PyObject_CallMethod(iterator, "__reduce__", nullptr));
  if (!reduced) return nullptr;
  if (which == kState) {
    return PyTuple_GET_SIZE(reduced.get()) > 2 && PyTuple_GET_ITEM(reduced.get(), 2) != Py_None
               ? Py_NewRef(PyTuple_GET_ITEM(reduced.get(), 2))
               : PyLong_FromLong(0);
  }
  PyObject* part = PyTuple_GetItem(PyTuple_GET_ITEM(reduced.get(), 1), which);
  return Py_XNewRef(part);
}

PyObject* IteratorPart(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  long which = nargs == 2 ? PyLong_AsLong(args[1]) : -1;
  return which < 0 ? nullptr : PartOf(args[0], which);
}

PyObject* Advance(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  long count = nargs == 2 ? PyLong_AsLong(args[1]) : -1;
  for (long i = 0; i < count; i++) {
    PyRef item = PyRef::Steal(Py_TYPE(args[0])->tp_iternext(args[0]));
    if (item) continue;
    if (PyErr_Occurred() != nullptr && !PyErr_ExceptionMatches(PyExc_StopIteration)) return nullptr;
    PyErr_Clear();
  }
  Py_RETURN_NONE;
}

PyCFunction Fast(PyObject* (*f)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

PyObject* PartFunction() {
  static PyMethodDef method = {"part", Fast(IteratorPart), METH_FASTCALL,
                               "part(iterator, number): of its __reduce__()."};
  static PyObject* function = PyCFunction_NewEx(&method, nullptr, nullptr);
  return function;
}

PyObject* AdvanceFunction() {
  static PyMethodDef method = {"_advance", Fast(Advance), METH_FASTCALL,
                               "_advance(iterator, count): moves it on, at most to its end."};
  static PyObject* function = PyCFunction_NewEx(&method, nullptr, nullptr);
  return function;
}

// The dict or set behind its iterator or view; borrowed.
PyObject* ContainerBehind(PyObject* o) {
  PyObject* found = nullptr;
  Py_TYPE(o)->tp_traverse(
      o,
      [](PyObject* child, void* out) {
        if (PyDict_Check(child) || PyAnySet_Check(child)) *static_cast<PyObject**>(out) = child;
        return 0;
      },
      &found);
  return found;
}

}  // namespace

bool Trace::IsHandedInIterator(Var v) {
  return v->kind == VariableKind::kObject && KindOf(v->type) != IteratorKind::kNone;
}

SourceId Trace::IteratorPartSource(Var iterator, long which) {
  PyRef number = PyRef::Steal(PyLong_FromLong(which));
  keep_alive_.push_back(number);
  return Expression(SourceKind::kCall, {iterator->source, ObjectSource(number.get())},
                    ObjectOf(PartFunction()), "part");
}

Var Trace::IteratorPartOf(Var iterator, long which) {
  PyRef value = PyRef::Steal(PartOf(iterator->value.get(), which));
  if (!value) {
    PyErr_Clear();
    return Break({"a '", iterator->type->tp_name, "' that cannot go on is moved"}, BreakKind::kKeptByPython);
  }
  keep_alive_.push_back(value);
  return Lazy(value.get(), IteratorPartSource(iterator, which));
}

// The ledger: moves of the same iterator one after the other are one entry.
void Trace::NoteAdvance(Var iterator) {
  Mutation& row = ledger_.Row("iterator " + sources_.Print(iterator->source), MutationKind::kValueExisting);
  row.source = sources_.Print(iterator->source);
  row.operation = "next";
  row.after = std::to_string(++iterator->moves_noted) + " on";
  ledger_.AddSite(row, CurrentSite());
  Var advance = Fixed(AdvanceFunction());
  auto count_of = [&](long n) { return ConstSteal(PyLong_FromLong(n)); };
  if (!writes_.empty() && writes_.back().target == advance && writes_.back().args[0] == iterator) {
    Var& count = writes_.back().args[1];
    count = count_of(PyLong_AsLong(count->value.get()) + 1);
    return;
  }
  size_t index = 0;
  while (&ledger_.rows()[index] != &row) index++;
  writes_.push_back({Write::Kind::kEffect, advance, PyRef(), {iterator, count_of(1)}, {}, index});
}

// Element `at` of what is iterated, or nullptr without failure past its end.
Var Trace::ElementOf(Var sequence, Var at, bool backwards) {
  Var length = Length(sequence);
  if (length == nullptr) return nullptr;
  Var inside = backwards ? Compare(Py_GE, at, ConstSteal(PyLong_FromLong(0))) : Compare(Py_LT, at, length);
  int truth = inside != nullptr ? Truth(inside) : -1;
  if (truth == 1 && backwards) {
    inside = Compare(Py_LT, at, length);
    truth = inside != nullptr ? Truth(inside) : -1;
  }
  return truth == 1 ? GetItem(sequence, at) : nullptr;
}

Var Trace::RestElement(Var iterator, bool items) {
  PyObject* container = ContainerBehind(iterator->value.get());
  auto known = known_.find(container);
  if (known != known_.end()) {
    for (const Write& w : writes_) {
      if (w.target == known->second)
        return Break({"a '", iterator->type->tp_name, "' is moved after its container was changed"},
                     BreakKind::kKeptByPython);
    }
  }
  PyRef rest = PyRef::Steal(PartOf(iterator->value.get(), 0));
  if (!rest) {
    PyErr_Clear();
    return Break({"a '", iterator->type->tp_name, "' that cannot go on is moved"}, BreakKind::kKeptByPython);
  }
  keep_alive_.push_back(rest);
  SourceId part = IteratorPartSource(iterator, 0);
  Py_ssize_t n = PyList_GET_SIZE(rest.get()), at = iterator->moves;
  Var length = Scalar(&PyLong_Type, Expression(SourceKind::kLength, {part}), PyLong_FromSsize_t(n));
  Var index = ConstSteal(PyLong_FromSsize_t(at));
  Var inside = Compare(Py_LT, index, length);
  if (inside == nullptr || Truth(inside) != 1) return nullptr;
  auto item_of = [&](SourceId of, Var key) {
    return Expression(SourceKind::kItem, {of, ObjectSource(key->value.get())});
  };
  PyObject* element = PyList_GET_ITEM(rest.get(), at);
  SourceId source = item_of(part, index);
  if (!items) return Lazy(element, source);
  std::vector<Var> pair;
  for (long i = 0; i < 2; i++)
    pair.push_back(Lazy(PyTuple_GET_ITEM(element, i), item_of(source, ConstSteal(PyLong_FromLong(i)))));
  return NewTuple(std::move(pair));
}

Var Trace::RangeElement(Var iterator) {
  PyRef range = PyRef::Steal(PartOf(iterator->value.get(), 0));
  if (!range) return RaiseFromPython();
  SourceId part = IteratorPartSource(iterator, 0);
  static PyObject* getters[2] = {nullptr, nullptr};
  static const char* const kNames[] = {"start", "step"};
  auto field = [&](int i) {
    if (getters[i] == nullptr) {
      PyRef module = PyRef::Steal(PyImport_ImportModule("operator"));
      getters[i] = PyObject_CallMethod(module.get(), "attrgetter", "s", kNames[i]);
    }
    return Scalar(&PyLong_Type, Expression(SourceKind::kCall, {part}, ObjectOf(getters[i]), kNames[i]),
                  PyObject_GetAttrString(range.get(), kNames[i]));
  };
  static PyObject* len = PyDict_GetItemString(PyEval_GetBuiltins(), "len");
  Var length = Scalar(&PyLong_Type, Expression(SourceKind::kCall, {part}, ObjectOf(len), "len"),
                      PyLong_FromSsize_t(PyObject_Size(range.get())));
  Var at = ConstSteal(PyLong_FromSsize_t(iterator->moves));
  Var inside = Compare(Py_LT, at, length);
  if (inside == nullptr || Truth(inside) != 1) return nullptr;
  Var step = field(1);
  if (!Specialize(step)) return nullptr;
  Var offset = BinaryOp(5, step, at);
  return offset == nullptr ? nullptr : iterator->moves == 0 ? field(0) : BinaryOp(0, field(0), offset);
}

// nullptr without failure: exhausted. `note`: the ledger moves this iterator; false for one that another
// iterator moves.
Var Trace::NextHandedIn(Var v, bool note) {
  IteratorKind kind = KindOf(v->type);
  auto inner = [&](size_t i) -> Var {
    Var part = IteratorPartOf(v, static_cast<long>(i));
    return part != nullptr ? Look(part) : nullptr;
  };
  if (kind == IteratorKind::kZip || kind == IteratorKind::kMap || kind == IteratorKind::kFilter) {
    PyRef reduced = PyRef::Steal(PyObject_CallMethod(v->value.get(), "__reduce__", nullptr));
    if (!reduced) return RaiseFromPython();
    if (!note || PyTuple_GET_SIZE(reduced.get()) > 2)
      return Break({"a strict or nested '", v->type->tp_name, "' that was there before is moved on"},
                   BreakKind::kKeptByPython);
    size_t first = kind == IteratorKind::kZip ? 0 : 1;
    size_t n = static_cast<size_t>(PyTuple_GET_SIZE(PyTuple_GET_ITEM(reduced.get(), 1)));
    Var function = first == 1 ? inner(0) : nullptr;
    if (failure_ != Failure::kNone || n == first) return nullptr;
    while (true) {
      std::vector<Var> items;
      for (size_t i = first; i < n; i++) {
        Var u = inner(i);
        Var item = u != nullptr ? Next(u) : nullptr;
        if (item == nullptr) return nullptr;
        items.push_back(item);
      }
      if (kind == IteratorKind::kZip) return NewTuple(std::move(items));
      if (kind == IteratorKind::kMap) return Call(function, items);
      Var kept = function->IsConst(Py_None) ? items[0] : Call(function, items);
      int truth = kept != nullptr ? Truth(kept) : -1;
      if (truth != 0) return truth == 1 ? items[0] : nullptr;
    }
  }
  if (v->finished) return nullptr;
  if (v->moves >= kMaxMoves)
    return Break("an iterator that was there before is moved many times", BreakKind::kLimit);
  Var item = nullptr;
  switch (kind) {
    case IteratorKind::kSequence:
    case IteratorKind::kReverse: {
      Var sequence = inner(0), position = IteratorPartOf(v, kState);
      if (sequence == nullptr || position == nullptr) return nullptr;
      bool back = kind == IteratorKind::kReverse;
      Var moves = ConstSteal(PyLong_FromSsize_t(v->moves));
      Var at = v->moves == 0 ? Look(position) : BinaryOp(back ? 10 : 0, position, moves);
      if (at == nullptr) return nullptr;
      item = ElementOf(sequence, at, back);
      break;
    }
    case IteratorKind::kRange: item = RangeElement(v); break;
    case IteratorKind::kRest: item = RestElement(v, false); break;
    case IteratorKind::kRestOfItems: item = RestElement(v, true); break;
    case IteratorKind::kEnumerate: {
      Var u = inner(0), number = IteratorPartOf(v, 1);
      if (u == nullptr || number == nullptr) return nullptr;
      if (!IsHandedInIterator(u))
        return Break({"an enumerate over a '", u->type->tp_name, "' that was there before is moved on"},
                     BreakKind::kKeptByPython);
      item = NextHandedIn(u, false);
      if (item == nullptr) break;
      Var moves = ConstSteal(PyLong_FromSsize_t(v->moves));
      Var n = v->moves == 0 ? number : BinaryOp(0, number, moves);
      item = n != nullptr ? NewTuple({n, item}) : nullptr;
      break;
    }
    default: return Break("an iterator of an unknown type is moved on", BreakKind::kInternal);
  }
  if (failure_ != Failure::kNone) return nullptr;
  v->moves++;
  if (item == nullptr) v->finished = true;
  if (note) NoteAdvance(v);
  return item;
}

// ---- views
// ----------------------------------------------------------------------------------------------------------------

// The dict of a view that was there before; nullptr without failure: not such a view.
Var Trace::ViewedDict(Var v) {
  bool view = v->kind == VariableKind::kObject &&
              (v->type == &PyDictKeys_Type || v->type == &PyDictValues_Type || v->type == &PyDictItems_Type);
  if (!view) return nullptr;
  static PyMethodDef method = {"viewed",
                               [](PyObject*, PyObject* o) { return Py_XNewRef(ContainerBehind(o)); }, METH_O,
                               "viewed(view): its dict."};
  static PyObject* function = PyCFunction_NewEx(&method, nullptr, nullptr);
  return Look(Lazy(ContainerBehind(v->value.get()),
                   Expression(SourceKind::kCall, {v->source}, ObjectOf(function), "viewed")));
}

// The same view on the dict as the trace knows it.
Var Trace::CurrentView(Var v) {
  Var dict = ViewedDict(v);
  if (dict == nullptr) return v;
  const char* method = v->type == &PyDictKeys_Type     ? "keys"
                       : v->type == &PyDictValues_Type ? "values"
                                                       : "items";
  PyRef name = PyRef::Steal(PyUnicode_InternFromString(method));
  Var view = CallMethodDescriptor(TypeLookup(&PyDict_Type, name.get(), false), {dict}, nullptr);
  return view != nullptr ? Look(view) : nullptr;
}

}  // namespace thirdbook
