// Calls of functools.lru_cache's and functools.cache's wrappers.
//
//   hit   ──▶ what the cache holds, as an input of the trace; the replay makes the call, which counts it
//   miss  ──▶ the function, traced; the replay puts its result into the cache as the wrapper itself would
//   full  ──▶ the entry that goes is the oldest: one of those that the trace has not asked for, else the
//             first of those that it has (CacheUse)
//
// In: a wrapper that was there and a call, or its cache_info or cache_clear. Out: the result. Invariant: the
// wrapper's own code keeps its table, order and counts; only how it gets at the function is exchanged while a
// result is put in. Keys whose hash or equality are user code break, and so does asking for an entry that may
// have been among those that went.
#include <algorithm>
#include <cstring>

#include "interpret/builtins.h"
#include "interpret/containers.h"
#include "interpret/trace.h"

namespace thirdbook {

namespace {

// Where a wrapper keeps its function, and an entry of a bounded one its result: found by looking for what a
// cache made for that must hold. Negative: not found, and there is no model.
struct Layout {
  PyTypeObject* type = nullptr;
  Py_ssize_t function = -1, result = -1;
};

PyObject*& Word(PyObject* o, Py_ssize_t offset) {
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + offset);
}

Py_ssize_t Find(PyObject* o, PyObject* wanted) {
  Py_ssize_t found = -1;
  for (Py_ssize_t at = sizeof(PyObject);
       at + static_cast<Py_ssize_t>(sizeof(PyObject*)) <= Py_TYPE(o)->tp_basicsize; at += sizeof(PyObject*)) {
    if (Word(o, at) != wanted) continue;
    if (found >= 0) return -1;
    found = at;
  }
  return found;
}

// The table and the mark between positional and named arguments, in the order in which a wrapper shows what
// it refers to: entries, table, function, mark.
struct Parts {
  PyObject* table = nullptr;
  PyObject* function = nullptr;
  PyObject* mark = nullptr;
};

int Visit(PyObject* o, void* to) {
  Parts& parts = *static_cast<Parts*>(to);
  if (parts.table == nullptr) {
    if (PyDict_CheckExact(o)) parts.table = o;
  } else if (parts.function == nullptr) {
    parts.function = o;
  } else if (parts.mark == nullptr) {
    parts.mark = o;
  }
  return 0;
}

const Layout& CacheLayout() {
  static const Layout layout = [] {
    Layout found;
    PyRef module = PyRef::Steal(PyImport_ImportModule("functools"));
    PyRef decorator = module ? PyRef::Steal(PyObject_CallMethod(module.get(), "lru_cache", "i", 1)) : PyRef();
    PyRef function =
        PyRef::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__new__"));
    PyRef wrapper =
        decorator && function ? PyRef::Steal(PyObject_CallOneArg(decorator.get(), function.get())) : PyRef();
    PyRef result = wrapper ? PyRef::Steal(PyObject_CallOneArg(
                                 wrapper.get(), reinterpret_cast<PyObject*>(&PyBaseObject_Type)))
                           : PyRef();
    PyErr_Clear();
    if (!result) return found;
    Parts parts;
    Py_TYPE(wrapper.get())->tp_traverse(wrapper.get(), Visit, &parts);
    found.function = Find(wrapper.get(), function.get());
    PyObject *key, *entry;
    Py_ssize_t position = 0;
    if (parts.table != nullptr && PyDict_Next(parts.table, &position, &key, &entry) != 0)
      found.result = Find(entry, result.get());
    if (found.function >= 0 && found.result >= 0 && parts.function == function.get())
      found.type = Py_TYPE(wrapper.get());
    return found;
  }();
  return layout;
}

// The shape of a call: (whether types count, the names of the last arguments).
PyObject* KeyOf(PyObject* wrapper, PyObject* shape, PyObject* const* args, Py_ssize_t nargs) {
  const bool typed = PyTuple_GET_ITEM(shape, 0) == Py_True;
  PyObject* names = PyTuple_GET_ITEM(shape, 1);
  const Py_ssize_t named = PyTuple_GET_SIZE(names), positional = nargs - named;
  if (!typed && nargs == 1 && named == 0 && (PyUnicode_CheckExact(args[0]) || PyLong_CheckExact(args[0])))
    return Py_NewRef(args[0]);
  PyRef key = PyRef::Steal(PyList_New(0));
  for (Py_ssize_t i = 0; i < positional; i++) PyList_Append(key.get(), args[i]);
  if (named > 0) {
    Parts parts;
    Py_TYPE(wrapper)->tp_traverse(wrapper, Visit, &parts);
    PyList_Append(key.get(), parts.mark);
  }
  for (Py_ssize_t i = 0; i < named; i++) {
    PyList_Append(key.get(), PyTuple_GET_ITEM(names, i));
    PyList_Append(key.get(), args[positional + i]);
  }
  for (Py_ssize_t i = 0; typed && i < nargs; i++)
    PyList_Append(key.get(), reinterpret_cast<PyObject*>(Py_TYPE(args[i])));
  return PyList_AsTuple(key.get());
}

// What the cache holds under a key; borrowed, null: nothing, or an exception.
PyObject* Held(PyObject* wrapper, PyObject* key) {
  Parts parts;
  Py_TYPE(wrapper)->tp_traverse(wrapper, Visit, &parts);
  PyObject* entry = parts.table != nullptr ? PyDict_GetItemWithError(parts.table, key) : nullptr;
  const bool bounded = entry != nullptr && strcmp(Py_TYPE(entry)->tp_name, "functools._lru_list_elem") == 0;
  return bounded ? Word(entry, CacheLayout().result) : entry;
}

// (wrapper, shape, *args): what is held, or a KeyError.
PyObject* Peek(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  PyRef key = PyRef::Steal(KeyOf(args[0], args[1], args + 2, nargs - 2));
  PyObject* held = key ? Held(args[0], key.get()) : nullptr;
  if (held == nullptr && PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_KeyError, "not in the cache");
  return Py_XNewRef(held);
}

PyObject* Holds(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  PyRef key = PyRef::Steal(KeyOf(args[0], args[1], args + 2, nargs - 2));
  PyObject* held = key ? Held(args[0], key.get()) : nullptr;
  return held == nullptr && PyErr_Occurred() != nullptr ? nullptr : PyBool_FromLong(held != nullptr);
}

// (wrapper, shape, *args): how many entries are older than the one that is held.
PyObject* Rank(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  PyRef key = PyRef::Steal(KeyOf(args[0], args[1], args + 2, nargs - 2));
  Parts parts;
  Py_TYPE(args[0])->tp_traverse(args[0], Visit, &parts);
  PyObject* entry = key && parts.table != nullptr ? PyDict_GetItemWithError(parts.table, key.get()) : nullptr;
  if (entry == nullptr) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_KeyError, "not in the cache");
    return nullptr;
  }
  struct Search {
    PyObject *key, *type, *before;
    long seen = 0;
  } search{nullptr, reinterpret_cast<PyObject*>(Py_TYPE(entry)), nullptr};
  PyObject *held, *at;
  Py_ssize_t position = 0;
  while (PyDict_Next(parts.table, &position, &held, &at) != 0) {
    if (at == entry) search.key = held;
  }
  // The wrapper's type, then key, result and type of each entry, oldest use first.
  auto visit = [](PyObject* o, void* to) {
    auto* s = static_cast<Search*>(to);
    const bool is_key =
        s->before != nullptr && PyType_Check(s->before) && (s->seen == 0 || s->before == s->type);
    if (is_key && o == s->key) return 1;
    if (o == s->type) s->seen++;
    s->before = o;
    return 0;
  };
  if (Py_TYPE(args[0])->tp_traverse(args[0], visit, &search) == 0) search.seen = 0;
  return PyLong_FromLong(search.seen);
}

PyObject* CallWrapper(PyObject* wrapper, PyObject* shape, PyObject* const* args, Py_ssize_t nargs) {
  PyObject* names = PyTuple_GET_ITEM(shape, 1);
  const Py_ssize_t named = PyTuple_GET_SIZE(names);
  return PyObject_Vectorcall(wrapper, args, static_cast<size_t>(nargs - named), named > 0 ? names : nullptr);
}

// (wrapper, shape, *args): the call, of which the result is known.
PyObject* Use(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return CallWrapper(args[0], args[1], args + 2, nargs - 2);
}

PyObject* Given(PyObject* result, PyObject*, PyObject*) {
  if (result != nullptr) return Py_NewRef(result);
  PyErr_SetString(PyExc_LookupError, "the traced function has raised");
  return nullptr;
}

PyObject* CallWith(PyObject* result, PyObject* const* args, Py_ssize_t nargs) {
  static PyMethodDef method = {"given", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Given)),
                               METH_VARARGS | METH_KEYWORDS, nullptr};
  PyRef given = PyRef::Steal(PyCFunction_NewEx(&method, result, nullptr));
  if (!given) return nullptr;
  PyObject*& place = Word(args[0], CacheLayout().function);
  PyObject* function = place;
  place = given.get();
  PyObject* made = CallWrapper(args[0], args[1], args + 2, nargs);
  place = function;
  return made;
}

// (wrapper, shape, *args, result): the call of a function that gives this result.
PyObject* Fill(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  return CallWith(args[nargs - 1], args, nargs - 3);
}

// (wrapper, shape, *args): the call of a function that raises.
PyObject* Miss(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  PyRef made = PyRef::Steal(CallWith(nullptr, args, nargs - 2));
  if (!made && PyErr_ExceptionMatches(PyExc_LookupError)) PyErr_Clear();
  return PyErr_Occurred() == nullptr ? Py_NewRef(Py_None) : nullptr;
}

enum CacheFunction { kPeek, kHolds, kRank, kUse, kFill, kMiss };
PyObject* Function(CacheFunction which) {
#define TB_FAST(function) \
  reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function)), METH_FASTCALL, nullptr
  static PyMethodDef methods[] = {{"cached", TB_FAST(Peek)},     {"is_cached", TB_FAST(Holds)},
                                  {"cache_rank", TB_FAST(Rank)}, {"cache_hit", TB_FAST(Use)},
                                  {"cache_fill", TB_FAST(Fill)}, {"cache_miss", TB_FAST(Miss)}};
#undef TB_FAST
  static PyObject* functions[std::size(methods)] = {};
  PyObject*& function = functions[which];
  if (function == nullptr) function = PyCFunction_NewEx(&methods[which], nullptr, nullptr);
  return function;
}

}  // namespace

bool IsCacheWrapperType(PyTypeObject* type) {
  return strcmp(type->tp_name, "functools._lru_cache_wrapper") == 0 && CacheLayout().type == type;
}

// The call's shape as `shape`; false: its wrapper does not say whether types count.
static bool ShapeOfCall(PyObject* wrapper, PyObject* kwnames, PyRef* shape) {
  PyRef parameters = PyRef::Steal(PyObject_CallMethod(wrapper, "cache_parameters", nullptr));
  PyObject* typed = parameters && PyDict_Check(parameters.get())
                        ? PyDict_GetItemString(parameters.get(), "typed")
                        : nullptr;
  PyErr_Clear();
  if (typed != Py_True && typed != Py_False) return false;
  PyRef names = kwnames != nullptr ? PyRef::Borrow(kwnames) : PyRef::Steal(PyTuple_New(0));
  *shape = PyRef::Steal(PyTuple_Pack(2, typed, names.get()));
  return static_cast<bool>(*shape);
}

Var Trace::CallCached(Var wrapper, const std::vector<Var>& args_in, PyObject* kwnames) {
  PyObject* o = wrapper->value.get();
  PyRef shape;
  if (!ShapeOfCall(o, kwnames, &shape)) return Break("a cache of an unusual kind is called");
  CacheUse& use = cached_[o];
  if (!use.recent) use.recent = PyRef::Steal(PyDict_New());
  std::vector<Var> args = {Look(wrapper), Const(shape.get())};
  std::vector<PyObject*> values, constants = {o, shape.get()};
  for (Var a : args_in) {
    a = Look(a);
    args.push_back(a);
    // What this trace has asked for may be meant: then the value matters.
    const bool open = a->kind == VariableKind::kScalar && a->value && PyDict_GET_SIZE(use.recent.get()) == 0;
    if (PyTypeObject* base = BaseContainer(a->type); base != nullptr && base == a->type && !open) {
      PyRef empty = PyRef::Steal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(base)));
      if (!empty || PyObject_Hash(empty.get()) == -1) return RaiseFromPython();
    }
    PyObject* value = open                                     ? a->value.get()
                      : a->kind == VariableKind::kObject       ? a->value.get()
                      : IsValue(a) || a->type == &PyTuple_Type ? ConstValue(a)
                                                               : nullptr;
    if (failure_ != Failure::kNone) return nullptr;
    if (value == nullptr || !IsSafeKey(value))
      return Break({"a cache is asked with a '", a->type->tp_name, "'"}, BreakKind::kUserHash);
    values.push_back(value);
    constants.push_back(value);
  }
  const Py_ssize_t count = static_cast<Py_ssize_t>(values.size());
  PyRef key = PyRef::Steal(KeyOf(o, shape.get(), values.data(), count));
  if (!key) return RaiseFromPython();
  std::vector<SourceId> operands;
  bool symbolic = true;
  for (Var a : args) {
    operands.push_back(SourceOf(a));
    symbolic = symbolic && operands.back().defined();
  }
  auto call = [&](CacheFunction function, const char* name) {
    Source s{SourceKind::kCall};
    s.object = ObjectOf(Function(function));
    s.operands = operands;
    s.name = name;
    return sources_.Intern(std::move(s));
  };
  PyRef info;
  Var now = CacheInfoNow(args[0], &info);
  if (now == nullptr) return nullptr;
  PyObject* most = PyTuple_GET_ITEM(info.get(), 2);
  const Py_ssize_t size = most == Py_None ? -1 : PyLong_AsSsize_t(most);
  const bool all_recent = size >= 0 && PyDict_GET_SIZE(use.recent.get()) >= size;
  PyObject* here = PyDict_GetItemWithError(use.recent.get(), key.get());
  PyObject* held = here != nullptr || all_recent || use.cleared ? nullptr : Held(o, key.get());
  if (PyErr_Occurred() != nullptr) return RaiseFromPython();
  if (held != nullptr && use.evicted > 0) {
    // It is still there when as many as went were older than it, and not asked for meanwhile.
    PyRef rank = PyRef::Steal(Rank(nullptr, constants.data(), static_cast<Py_ssize_t>(constants.size())));
    if (!rank) return RaiseFromPython();
    Var older = Compare(Py_GE, Scalar(&PyLong_Type, call(kRank, "cache_rank"), rank.release()),
                        ConstSteal(PyLong_FromSsize_t(use.evicted + use.found)));
    const int truth = older != nullptr && symbolic ? Truth(older) : -1;
    if (truth == 0 || (truth < 0 && failure_ == Failure::kNone))
      return Break("an entry is asked for that a full cache may have let go of", BreakKind::kKeptByPython);
    if (truth < 0) return nullptr;
  }
  auto touch = [&](Var result) {  // the key is now the last one
    PyObject* recent = cached_[o].recent.get();
    PyRef element = PyRef::Steal(ElementShadow(result));
    if (PyDict_DelItem(recent, key.get()) != 0) PyErr_Clear();
    return element && PyDict_SetItem(recent, key.get(), element.get()) == 0;
  };
  if (here != nullptr || (held != nullptr && symbolic)) {
    Var result = here != nullptr ? FromShadow(here) : Lazy(held, call(kPeek, "cached"));
    if (here == nullptr) items_reached_.push_back(result);
    const bool open = std::ranges::any_of(args, [](Var a) { return a->kind == VariableKind::kScalar; });
    use.open = use.open || open;
    if (!open && !touch(result)) return RaiseFromPython();
    if (here == nullptr) use.found++;
    use.hits++;
    AddEffect(Fixed(Function(kUse)), std::move(args), {}, "cache hit");
    return result;
  }
  for (size_t i = 0; i < args.size(); i++) {
    if (!Specialize(args[i])) return nullptr;
    operands[i] = SourceOf(args[i]);
    if (!operands[i].defined()) return Break("a cache is asked with something new", BreakKind::kUserHash);
  }
  if (!all_recent && !use.cleared) GuardTruth(call(kHolds, "is_cached"), false, "not cached");
  Parts parts;
  Py_TYPE(o)->tp_traverse(o, Visit, &parts);
  Var result = Call(Fixed(parts.function), args_in, kwnames);
  if (result == nullptr) {
    if (failure_ != Failure::kRaise) return nullptr;
    Var raised = TakeRaised();
    use.misses++;
    AddEffect(Fixed(Function(kMiss)), std::move(args), {}, "cache miss");
    return Raise(raised);
  }
  CacheUse& after = cached_[o];  // the function may have used this cache, and others
  bool fits = size < 0 || (after.cleared && after.added < size);
  if (!fits && !after.cleared && after.evicted == 0) {
    Var taken = GetItem(now, ConstSteal(PyLong_FromLong(3)));
    Var enough = taken != nullptr ? Compare(Py_LT, taken, ConstSteal(PyLong_FromSsize_t(size - after.added)))
                                  : nullptr;
    const int truth = enough != nullptr ? Truth(enough) : -1;
    if (truth < 0) return nullptr;
    fits = truth == 1;
  }
  if (fits) {
    after.added++;
  } else if (size > 0) {
    if (after.open) return Break("an entry of a full cache is exchanged", BreakKind::kKeptByPython);
    if (!DropsQuietly(o, wrapper->source)) return nullptr;
    after.evicted++;
    PyObject *oldest, *unused;
    Py_ssize_t position = 0;
    if (PyDict_GET_SIZE(after.recent.get()) >= size &&
        PyDict_Next(after.recent.get(), &position, &oldest, &unused) != 0)
      PyDict_DelItem(after.recent.get(), PyRef::Borrow(oldest).get());
  }
  after.misses++;
  if (size != 0 && !touch(result)) return RaiseFromPython();
  args.push_back(result);
  AddEffect(Fixed(Function(kFill)), std::move(args), {}, "cache miss");
  return result;
}

// What it says of itself before the replay.
Var Trace::CacheInfoNow(Var wrapper, PyRef* info) {
  PyTypeObject* type = Py_TYPE(wrapper->value.get());
  static PyObject* name = PyUnicode_InternFromString("cache_info");
  *info = PyRef::Steal(PyObject_CallMethodNoArgs(wrapper->value.get(), name));
  if (!*info) return RaiseFromPython();
  keep_alive_.push_back(*info);
  return Lazy(info->get(), Expression(SourceKind::kCall, {wrapper->source},
                                      ObjectOf(TypeLookup(type, name, false)), "cache_info"));
}

// cache_info() with what the trace has done so far; cache_clear().
Var Trace::CacheMethod(Var wrapper, PyObject* descriptor, const char* name) {
  const bool clear = strcmp(name, "cache_clear") == 0;
  if (!clear && strcmp(name, "cache_info") != 0) return nullptr;
  CacheUse& use = cached_[wrapper->value.get()];
  if (clear) {
    if (!DropsQuietly(wrapper->value.get(), wrapper->source)) return nullptr;
    use = CacheUse{};
    use.cleared = true;
    AddEffect(Fixed(descriptor), {wrapper}, {}, name);
    return None();
  }
  PyRef info;
  Var now = CacheInfoNow(wrapper, &info);
  if (now == nullptr) return nullptr;
  const Py_ssize_t more[] = {use.hits, use.misses, 0, use.added};
  std::vector<Var> items;
  for (long i = 0; i < 4; i++) {
    Var added = ConstSteal(PyLong_FromSsize_t(more[i]));
    Var part = use.cleared && i != 2 ? added : GetItem(now, ConstSteal(PyLong_FromLong(i)));
    if (part != nullptr && part != added && more[i] != 0) part = BinaryOp(0, part, added);
    if (part == nullptr) return nullptr;
    items.push_back(part);
  }
  Var made = NewTuple(std::move(items));
  made->type = Py_TYPE(info.get());
  return made;
}

}  // namespace thirdbook
