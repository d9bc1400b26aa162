// Callable objects of the standard library's C code: functools.partial, operator.itemgetter, attrgetter and
// methodcaller; what the tracer calls when it meets them. See trace.h.
//
// In: such an object, made in this trace or there before, and the arguments of a call. Out: the call that it
// stands for. Invariant: a partial's parts are reached through it and guarded; the others cannot be changed
// and are guarded by identity.
#include "interpret/builtins.h"
#include "interpret/trace.h"
#include "python/frame_hook.h"

namespace thirdbook {

namespace {

PyTypeObject* TypeNamed(const char* module_name, const char* name) {
  PyRef module = PyRef::Steal(PyImport_ImportModule(module_name));
  PyObject* type = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
  PyErr_Clear();
  return reinterpret_cast<PyTypeObject*>(type);
}

PyTypeObject* ItemGetter() {
  static PyTypeObject* type = TypeNamed("_operator", "itemgetter");
  return type;
}
PyTypeObject* AttrGetter() {
  static PyTypeObject* type = TypeNamed("_operator", "attrgetter");
  return type;
}
PyTypeObject* MethodCaller() {
  static PyTypeObject* type = TypeNamed("_operator", "methodcaller");
  return type;
}

}  // namespace

PyTypeObject* PartialType() {
  static PyTypeObject* type = TypeNamed("_functools", "partial");
  return type;
}

bool IsGetterType(PyTypeObject* type) {
  return type == ItemGetter() || type == AttrGetter() || type == MethodCaller();
}

// A new one; null without failure when the type is none of these or the arguments are unusual.
Var Trace::MakeCallable(Var type_var, const std::vector<Var>& args, PyObject* kwnames) {
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(Look(type_var)->value.get());
  if ((type != PartialType() && !IsGetterType(type)) || args.empty()) return nullptr;
  if (type != PartialType() && type != MethodCaller() && kwnames != nullptr) return nullptr;
  Var v = New(type);
  v->construct_callable = type_var;
  const size_t named = kwnames != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
  for (size_t i = 0; i < args.size(); i++) {
    Var arg = Look(args[i]);
    if (type == AttrGetter() || (type == MethodCaller() && i == 0)) {
      PyObject* name = ConstValue(arg);
      if (name == nullptr || !PyUnicode_Check(name)) return nullptr;
      arg = Const(name);
    }
    if (type == PartialType() && strcmp(arg->type->tp_name, "_functools._PlaceholderType") == 0)
      return nullptr;
    const size_t positional = args.size() - named;
    if (i < positional) {
      v->construct_args.push_back(arg);
    } else {
      PyObject* name = PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i - positional));
      v->construct_kwargs.emplace_back(PyRef::Borrow(name), arg);
    }
  }
  if (type != PartialType()) return v;
  // A partial of a partial is one of its function.
  Var function = v->construct_args[0];
  if (function->type == PartialType() && function->attributes.empty()) {
    std::vector<Var> inner;
    std::vector<std::pair<PyRef, Var>> named_args;
    if (!PartialParts(function, &inner, &named_args)) return nullptr;
    inner.insert(inner.end(), v->construct_args.begin() + 1, v->construct_args.end());
    v->construct_args = std::move(inner);
    AddKeywords(&named_args, v->construct_kwargs);
    v->construct_kwargs = std::move(named_args);
  }
  Var looked = Look(v->construct_args[0]);
  static PyObject* call_name = PyUnicode_InternFromString("__call__");
  if (looked->type != &PyFunction_Type && TypeLookup(looked->type, call_name, true) == nullptr)
    return RaiseNew(PyExc_TypeError, "the first argument must be callable");
  return v;
}

// Later keywords take the place of earlier ones of the same name.
void Trace::AddKeywords(std::vector<std::pair<PyRef, Var>>* to,
                        const std::vector<std::pair<PyRef, Var>>& more) {
  for (const auto& [name, value] : more) {
    size_t i = 0;
    while (i < to->size() && PyUnicode_Compare((*to)[i].first.get(), name.get()) != 0) i++;
    if (i < to->size()) {
      (*to)[i].second = value;
    } else {
      to->emplace_back(name, value);
    }
  }
}

// The function and arguments of a partial; false: failure.
bool Trace::PartialParts(Var partial, std::vector<Var>* args, std::vector<std::pair<PyRef, Var>>* kwargs) {
  if (partial->kind == VariableKind::kNew) {
    *args = partial->construct_args;
    *kwargs = partial->construct_kwargs;
    return true;
  }
  auto part = [&](const char* name) -> Var {
    PyRef key = PyRef::Steal(PyUnicode_InternFromString(name));
    keep_alive_.push_back(key);
    PyObject* descriptor = TypeLookup(PartialType(), key.get(), false);
    return descriptor != nullptr ? BindDescriptor(descriptor, partial, PartialType(), key.get()) : nullptr;
  };
  Var function = part("func"), positional = part("args"), named = part("keywords");
  if (function == nullptr || positional == nullptr || named == nullptr) return false;
  args->push_back(function);
  if (!Iterate(positional, args)) return false;
  named = Look(named);
  if (!EnsureShadow(named)) return false;
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(named->shadow.get(), &position, &key, &value) != 0) {
    Var v = FromShadow(value);
    if (v == nullptr || !PyUnicode_Check(key)) return false;
    kwargs->emplace_back(PyRef::Borrow(key), v);
  }
  return true;
}

// Calls one of these objects, or a compiled function. *handled is false when `c` is something else.
Var Trace::CallCallable(Var c, const std::vector<Var>& args, PyObject* kwnames, bool* handled) {
  *handled = true;
  if (c->kind == VariableKind::kObject) {
    PyObject* target = CompiledTarget(c->value.get());
    if (target != nullptr) {  // traced as part of this function
      static PyObject* name = PyUnicode_InternFromString("__wrapped__");
      PyObject* descriptor = TypeLookup(c->type, name, false);
      Var function = descriptor != nullptr ? BindDescriptor(descriptor, c, c->type, name) : nullptr;
      return function != nullptr ? Call(function, args, kwnames) : nullptr;
    }
  }
  if (c->kind == VariableKind::kObject && IsCacheWrapperType(c->type)) return CallCached(c, args, kwnames);
  if (c->type == PartialType()) {
    std::vector<Var> all;
    std::vector<std::pair<PyRef, Var>> named, more;
    if (!PartialParts(c, &all, &named)) {
      return failure_ != Failure::kNone ? nullptr
                                        : Break("a partial with keywords that are no text is called");
    }
    Var function = all[0];
    all.erase(all.begin());
    const size_t count = kwnames != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
    const size_t positional = args.size() - count;
    all.insert(all.end(), args.begin(), args.begin() + static_cast<long>(positional));
    for (size_t i = 0; i < count; i++)
      more.emplace_back(PyRef::Borrow(PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i))),
                        args[positional + i]);
    AddKeywords(&named, more);
    PyRef names = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(named.size())));
    for (size_t i = 0; i < named.size(); i++) {
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), Py_NewRef(named[i].first.get()));
      all.push_back(named[i].second);
    }
    return Call(function, all, names.get());
  }
  if (!IsGetterType(c->type)) {
    *handled = false;
    return nullptr;
  }
  std::vector<Var> parts = c->construct_args;
  std::vector<std::pair<PyRef, Var>> named = c->construct_kwargs;
  if (c->kind == VariableKind::kObject) {
    PyRef reduced = PyRef::Steal(PyObject_CallMethod(c->value.get(), "__reduce__", nullptr));
    if (!reduced) return RaiseFromPython();
    keep_alive_.push_back(reduced);
    if (PyTuple_GET_ITEM(reduced.get(), 0) != reinterpret_cast<PyObject*>(c->type))
      return Break("an operator.methodcaller with keywords is called", BreakKind::kNoModel);
    PyObject* items = PyTuple_GET_ITEM(reduced.get(), 1);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++)
      parts.push_back(Fixed(PyTuple_GET_ITEM(items, i)));
  }
  if (args.size() != 1 || kwnames != nullptr)
    return Break({c->type->tp_name, " is called with other than one argument"}, BreakKind::kPythonRaises);
  if (c->type == MethodCaller()) {
    Var method = GetAttr(args[0], ConstValue(parts[0]));
    if (method == nullptr) return nullptr;
    std::vector<Var> all(parts.begin() + 1, parts.end());
    PyRef names = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(named.size())));
    for (size_t i = 0; i < named.size(); i++) {
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), Py_NewRef(named[i].first.get()));
      all.push_back(named[i].second);
    }
    return Call(method, all, names.get());
  }
  std::vector<Var> results;
  for (Var part : parts) {
    Var v = c->type == ItemGetter() ? GetItem(args[0], part) : GetDotted(args[0], ConstValue(part));
    if (v == nullptr) return nullptr;
    results.push_back(v);
  }
  return results.size() == 1 ? results[0] : NewTuple(std::move(results));
}

// object.a.b for "a.b".
Var Trace::GetDotted(Var object, PyObject* path) {
  PyRef dot = PyRef::Steal(PyUnicode_FromString("."));
  PyRef names = PyRef::Steal(PyUnicode_Split(path, dot.get(), -1));
  if (!names) return RaiseFromPython();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names.get()) && object != nullptr; i++) {
    PyObject* name = Py_NewRef(PyList_GET_ITEM(names.get(), i));
    PyUnicode_InternInPlace(&name);
    keep_alive_.push_back(PyRef::Steal(name));
    object = GetAttr(object, name);
  }
  return object;
}

// Function and object of a bound method.
std::pair<Var, Var> Trace::MethodParts(Var method) {
  if (method->kind == VariableKind::kNew) return {method->items[0], method->items[1]};
  auto part = [&](PyObject* value, FunctionPart which, const char* name) {
    return Lazy(value, PartOfFunction(method->source, which, name));
  };
  PyObject* o = method->value.get();
  Var self = part(PyMethod_GET_SELF(o), FunctionPart::kMethodSelf, "__self__");
  return {part(PyMethod_GET_FUNCTION(o), FunctionPart::kMethodFunction, "__func__"), self};
}

}  // namespace thirdbook
