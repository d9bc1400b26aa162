// State that belongs to a thread or a context: threading.local objects and context variables.
//
// In: an existing local or ContextVar. Out: for a local, the dict that the running thread has in it, which is
// traced like any dict that was there; for a ContextVar, its value as a source, and sets and resets as
// effects that leave their token where the program wants it. Invariant: reading makes nothing: a thread that
// has not used the local yet gets its dict (and its __init__) from the real access, after a break.
#include "interpret/trace.h"

namespace thirdbook {

namespace {

PyCFunction OneArgument(PyObject* (*f)(PyObject*, PyObject*)) { return f; }

PyTypeObject* LocalType() {
  static PyTypeObject* type = [] {
    PyRef module = PyRef::Steal(PyImport_ImportModule("_thread"));
    PyObject* found = module ? PyObject_GetAttrString(module.get(), "_local") : nullptr;
    PyErr_Clear();
    return reinterpret_cast<PyTypeObject*>(found);
  }();
  return type;
}

// A local holds a dict a thread, under a key that the thread has; asking the local for its __dict__ would
// make a missing one.
PyObject* ThreadDict(PyObject*, PyObject* local) {
  struct Search {
    PyObject *key, *found;
  } search{PyThreadState_Get()->threading_local_key, nullptr};
  if (search.key != nullptr) {
    Py_TYPE(local)->tp_traverse(
        local,
        [](PyObject* child, void* state) {
          Search* s = static_cast<Search*>(state);
          PyObject* own = PyDict_CheckExact(child) ? PyDict_GetItemWithError(child, s->key) : nullptr;
          if (own != nullptr && PyDict_CheckExact(own)) s->found = own;
          return 0;
        },
        &search);
    PyErr_Clear();
  }
  if (search.found == nullptr) PyErr_SetString(PyExc_AttributeError, "not used in this thread");
  return Py_XNewRef(search.found);
}

// What stands for a ContextVar that has no value.
PyObject* NoValue() {
  static PyObject* none = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return none;
}

PyObject* ContextValue(PyObject*, PyObject* var) {
  PyObject* value = nullptr;
  return PyContextVar_Get(var, NoValue(), &value) < 0 ? nullptr : value;
}

PyObject* ContextDefault(PyObject*, PyObject* var) {
  PyObject* value = nullptr;
  if (PyContextVar_Get(var, nullptr, &value) < 0) return nullptr;
  return value != nullptr ? value : Py_NewRef(NoValue());
}

PyMethodDef kMethods[] = {
    {"thread_dict", OneArgument(ThreadDict), METH_O, "thread_dict(local): of this thread."},
    {"context_value", OneArgument(ContextValue), METH_O, "context_value(var): what was set in this context."},
    {"context_default", OneArgument(ContextDefault), METH_O,
     "context_default(var): of one that has no value."},
};
enum Reader { kThreadDict, kContextValue, kContextDefault };

PyObject* ReaderFunction(Reader which) {
  static PyObject* functions[3] = {};
  if (functions[which] == nullptr) functions[which] = PyCFunction_NewEx(&kMethods[which], nullptr, nullptr);
  return functions[which];
}

PyObject* ValueName() {
  static PyObject* name = PyUnicode_InternFromString("value");
  return name;
}

}  // namespace

bool Trace::IsThreadLocal(Var v) {
  return v->kind == VariableKind::kObject && LocalType() != nullptr &&
         PyType_IsSubtype(v->type, LocalType()) != 0;
}

static Var Reading(Trace& t, Var of, Reader which) {
  PyObject* (*const kRead[])(PyObject*, PyObject*) = {ThreadDict, ContextValue, ContextDefault};
  PyRef value = PyRef::Steal(kRead[which](nullptr, of->value.get()));
  if (!value) {
    PyErr_Clear();
    return nullptr;
  }
  return t.Lazy(value.get(), t.Expression(SourceKind::kCall, {of->source}, t.ObjectOf(ReaderFunction(which)),
                                          kMethods[which].ml_name));
}

Var Trace::ThreadLocalDict(Var local) {
  Var dict = Reading(*this, local, kThreadDict);
  return dict != nullptr ? Look(dict)
                         : Break({"a '", local->type->tp_name, "' is used for the first time in this thread"},
                                 BreakKind::kKeptByPython);
}

// object.__getattribute__ with the thread's dict for the instance's.
Var Trace::ThreadLocalGetAttr(Var local, PyObject* name) {
  Var dict = ThreadLocalDict(local);
  if (dict == nullptr) return nullptr;
  if (PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) return dict;
  PyObject* found = TypeLookup(local->type, name, true);
  bool plain = found != nullptr && Py_TYPE(found)->tp_descr_get == nullptr;
  if (found != nullptr && Py_TYPE(found)->tp_descr_set != nullptr)
    return BindDescriptor(found, local, local->type, name);
  Var present = BuiltinContains(dict, Const(name));
  int truth = present != nullptr ? Truth(present) : -1;
  if (truth < 0) return nullptr;
  if (truth == 1) return BuiltinGetItem(dict, Const(name));
  if (plain) return AttributeValue(found, local->type, name);
  if (found != nullptr) return BindDescriptor(found, local, local->type, name);
  return RaiseMissingAttribute(local, name);
}

bool Trace::ThreadLocalSetAttr(Var local, PyObject* name, Var value) {
  PyObject* found = TypeLookup(local->type, name, true);
  if ((found != nullptr && Py_TYPE(found)->tp_descr_set != nullptr) ||
      PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) {
    Break({"attribute '", PyUnicode_AsUTF8(name), "' of a '", local->type->tp_name,
           "' is set through a descriptor"});
    return false;
  }
  Var dict = ThreadLocalDict(local);
  if (dict == nullptr) return false;
  if (BuiltinSetItem(dict, Const(name), value)) return true;
  if (value == nullptr && RaisedMatches(PyExc_KeyError)) {
    TakeRaised();
    RaiseMissingAttribute(local, name);
  }
  return false;
}

// ---- context variables
// --------------------------------------------------------------------------------------------------------

Var Trace::OldContextValue(Var token) {
  Var old = token->items[1];
  if (old->kind != VariableKind::kObject || old->value.get() != NoValue()) return old;
  return Break("the old value of a token is read that has none", BreakKind::kKeptByPython);
}

// get, set, reset. Null without failure: no model.
Var Trace::ContextVarMethod(PyObject* descriptor, const char* method, const std::vector<Var>& args) {
  Var var = Look(args[0]);
  if (!PyContextVar_CheckExact(var->value.get())) return nullptr;
  bool deleted;
  Var now = var->FindAttribute(ValueName(), &deleted);  // as set in this trace
  auto without_value = [&](Var v) { return v->kind == VariableKind::kObject && v->value.get() == NoValue(); };
  auto read = [&](Reader which) -> Var {
    Var v = Reading(*this, var, which);
    if (v == nullptr) return Break("a context variable that cannot be read");
    if (v->value.get() != NoValue()) return v;
    AddGuard(GuardKind::kIdentity, v->source, NoValue(), "not set");
    return Fixed(NoValue());
  };
  if (now == nullptr && !deleted) now = read(kContextValue);
  if (now == nullptr && !deleted) return nullptr;
  if (strcmp(method, "get") == 0 && args.size() <= 2) {
    if (now != nullptr && !without_value(now)) return now;
    if (args.size() == 2) return args[1];
    Var value = read(kContextDefault);
    if (value == nullptr || !without_value(value)) return value;
    return Raise(MakeException(PyExc_LookupError, {var}));
  }
  bool set = strcmp(method, "set") == 0;
  if (args.size() != 2 || (!set && strcmp(method, "reset") != 0)) return nullptr;
  Var token = set ? New(&PyContextToken_Type) : Look(args[1]);
  if (!set && token->finished && token->type == &PyContextToken_Type)
    return Break("a token of a context variable is used twice", BreakKind::kPythonRaises);
  if (!set && (token->kind != VariableKind::kNew || token->type != &PyContextToken_Type || token->finished ||
               token->items[0] != var))
    return nullptr;
  if (now != nullptr && now->source.defined() && now->value && !DropsQuietly(now->value.get(), now->source))
    return nullptr;
  AddEffect(Fixed(descriptor), {var, set ? args[1] : token}, {}, set ? "ContextVar.set" : "ContextVar.reset");
  ledger_.mutable_rows().back().source = sources_.Print(var->source);
  Var next = args[1];
  if (set) {
    token->items = {var, now};
    token->made_by_effect = true;
    writes_.back().result = token;
  } else {
    token->finished = true;
    next = token->items[1];
  }
  var->attributes.clear();
  var->attributes.emplace_back(PyRef::Borrow(ValueName()), next);
  return set ? token : None();
}

}  // namespace thirdbook
