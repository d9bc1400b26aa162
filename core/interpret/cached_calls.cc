// Calls of functools.lru_cache's and functools.cache's wrappers.
//
//   hit   ──▶ what the cache holds, as an input of the trace; the replay makes the call, which counts it
//   miss  ──▶ the function, traced; the replay puts its result into the cache as the wrapper itself would
//
// In: a wrapper that was there and a call. Out: the result. Invariant: the wrapper's own code keeps its
// table, order and counts; only how it gets at the function is exchanged while a result is put in. Keys whose
// hash or equality are user code, and entries that a full cache would let go of, break.
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

// (wrapper): how many entries find a place before one must go; None: any number.
PyObject* Room(PyObject*, PyObject* const* args, Py_ssize_t) {
  PyRef info = PyRef::Steal(PyObject_CallMethod(args[0], "cache_info", nullptr));
  if (!info) return nullptr;
  PyObject* most = PyTuple_GET_ITEM(info.get(), 2);
  return most == Py_None ? Py_NewRef(most) : PyNumber_Subtract(most, PyTuple_GET_ITEM(info.get(), 3));
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

enum CacheFunction { kPeek, kHolds, kRoom, kUse, kFill, kMiss };
PyObject* Function(CacheFunction which) {
#define TB_FAST(function) \
  reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function)), METH_FASTCALL, nullptr
  static PyMethodDef methods[] = {{"cached", TB_FAST(Peek)},     {"is_cached", TB_FAST(Holds)},
                                  {"cache_room", TB_FAST(Room)}, {"cache_hit", TB_FAST(Use)},
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
  PyRef& filled = cached_[o];
  if (!filled) filled = PyRef::Steal(PyDict_New());
  std::vector<Var> args = {Look(wrapper), Const(shape.get())};
  std::vector<PyObject*> values;
  for (Var a : args_in) {
    a = Look(a);
    args.push_back(a);
    // What this trace has put in may be meant: then the value matters.
    const bool open = a->kind == VariableKind::kScalar && a->value && PyDict_GET_SIZE(filled.get()) == 0;
    PyObject* value = open                                     ? a->value.get()
                      : a->kind == VariableKind::kObject       ? a->value.get()
                      : IsValue(a) || a->type == &PyTuple_Type ? ConstValue(a)
                                                               : nullptr;
    if (failure_ != Failure::kNone) return nullptr;
    if (value == nullptr || !IsSafeKey(value))
      return Break({"a cache is asked with a '", a->type->tp_name, "'"}, BreakKind::kUserHash);
    values.push_back(value);
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
  PyObject* here = PyDict_GetItemWithError(filled.get(), key.get());
  PyObject* held = here == nullptr ? Held(o, key.get()) : nullptr;
  if (PyErr_Occurred() != nullptr) return RaiseFromPython();
  if (here != nullptr || (held != nullptr && symbolic)) {
    Var result = here != nullptr ? FromShadow(here) : Lazy(held, call(kPeek, "cached"));
    if (here == nullptr) items_reached_.push_back(result);
    AddEffect(Fixed(Function(kUse)), std::move(args), {}, "cache hit");
    return result;
  }
  for (size_t i = 0; i < args.size(); i++) {
    if (!Specialize(args[i])) return nullptr;
    operands[i] = SourceOf(args[i]);
    if (!operands[i].defined()) return Break("a cache is asked with something new", BreakKind::kUserHash);
  }
  GuardTruth(call(kHolds, "is_cached"), false, "not cached");
  Parts parts;
  Py_TYPE(o)->tp_traverse(o, Visit, &parts);
  Var result = Call(Fixed(parts.function), args_in, kwnames);
  if (result == nullptr) {
    if (failure_ != Failure::kRaise) return nullptr;
    Var raised = TakeRaised();
    AddEffect(Fixed(Function(kMiss)), std::move(args), {}, "cache miss");
    return Raise(raised);
  }
  // An entry that must go may die, and what it was is asked no more.
  PyRef now = PyRef::Steal(Room(nullptr, &o, 1));
  if (!now) return RaiseFromPython();
  if (now.get() != Py_None) {
    const SourceId room =
        Expression(SourceKind::kCall, {wrapper->source}, ObjectOf(Function(kRoom)), "cache_room");
    Var enough = Compare(Py_GT, Scalar(&PyLong_Type, room, now.release()),
                         ConstSteal(PyLong_FromSsize_t(PyDict_GET_SIZE(filled.get()))));
    const int fits = enough != nullptr ? Truth(enough) : -1;
    if (fits < 0) return nullptr;
    if (fits == 0) return Break("an entry of a full cache is exchanged", BreakKind::kKeptByPython);
  }
  PyRef element = PyRef::Steal(ElementShadow(result));
  if (!element || PyDict_SetItem(filled.get(), key.get(), element.get()) != 0) return RaiseFromPython();
  args.push_back(result);
  AddEffect(Fixed(Function(kFill)), std::move(args), {}, "cache miss");
  return result;
}

}  // namespace thirdbook
