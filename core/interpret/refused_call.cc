// Calls whose arguments do not fit: the TypeError that CPython raises.
//
// In: a function and the shape of a call. Out: the exception in the trace. Invariant: CPython's own binding
// words it; the function that is called for real has the signature and no body.
#include "interpret/trace.h"

namespace thirdbook {

namespace {

// The code with nothing in it but its signature; new reference.
PyObject* SignatureOnly(PyCodeObject* code) {
  static PyObject* empty = Py_CompileString("None", "", Py_eval_input);
  if (empty == nullptr) return nullptr;
  PyRef kwargs = PyRef::Steal(PyDict_New());
  for (const char* name : {"co_code", "co_consts", "co_linetable", "co_exceptiontable", "co_stacksize"}) {
    PyRef value = PyRef::Steal(PyObject_GetAttrString(empty, name));
    if (!value || PyDict_SetItemString(kwargs.get(), name, value.get()) != 0) return nullptr;
  }
  PyRef none = PyRef::Steal(PyTuple_New(0));
  PyDict_SetItemString(kwargs.get(), "co_freevars", none.get());
  PyDict_SetItemString(kwargs.get(), "co_cellvars", none.get());
  const int keep = CO_OPTIMIZED | CO_NEWLOCALS | CO_VARARGS | CO_VARKEYWORDS;
  PyRef flags = PyRef::Steal(PyLong_FromLong(code->co_flags & keep));
  PyDict_SetItemString(kwargs.get(), "co_flags", flags.get());
  PyRef replace = PyRef::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(code), "replace"));
  return replace ? PyObject_Call(replace.get(), none.get(), kwargs.get()) : nullptr;
}

}  // namespace

// `ndefaults`: how many of the last positional parameters have a default; `kwdefaults`: a dict or null.
std::nullptr_t Trace::RaiseRefusedCall(PyCodeObject* code, PyObject* qualname, size_t ndefaults,
                                       PyObject* kwdefaults, size_t positional, PyObject* kwnames) {
  PyRef signature = PyRef::Steal(SignatureOnly(code));
  PyRef globals = PyRef::Steal(PyDict_New());
  PyRef function = signature ? PyRef::Steal(PyFunction_New(signature.get(), globals.get())) : PyRef();
  if (!function) return RaiseFromPython();
  auto nones = [](size_t n) {
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(n));
    for (size_t i = 0; i < n; i++) PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), Py_NewRef(Py_None));
    return PyRef::Steal(tuple);
  };
  if (ndefaults > 0) PyFunction_SetDefaults(function.get(), nones(ndefaults).get());
  if (kwdefaults != nullptr) {
    PyRef copy = PyRef::Steal(PyDict_New());
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(kwdefaults, &position, &key, &value) != 0) PyDict_SetItem(copy.get(), key, Py_None);
    PyFunction_SetKwDefaults(function.get(), copy.get());
  }
  if (qualname != nullptr) PyObject_SetAttrString(function.get(), "__qualname__", qualname);
  const size_t named = kwnames != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
  PyRef values = nones(positional + named);
  PyRef result = PyRef::Steal(PyObject_Vectorcall(
      function.get(), reinterpret_cast<PyTupleObject*>(values.get())->ob_item, positional, kwnames));
  if (!result) return RaiseFromPython();
  return Break("the arguments do not fit a function in an unusual way", BreakKind::kPythonRaises);
}

// f(**{"k": 1}, **{"k": 2}): CPython's own code finds it before the call and words it.
std::nullptr_t Trace::RaiseTwiceGiven(Var callable, PyObject* keyword) {
  Var c = Look(callable);
  if (c->kind == VariableKind::kNew && c->type == &PyMethod_Type) c = Look(c->items[0]);
  PyObject* o = c->kind == VariableKind::kObject ? c->value.get() : nullptr;
  const bool known = o != nullptr && (PyFunction_Check(o) || PyType_CheckExact(o) || PyCFunction_Check(o)) &&
                     c->attributes.empty() && PyUnicode_CheckExact(keyword);
  if (!known) return Break("a keyword argument is given twice", BreakKind::kPythonRaises);
  PyRef names = PyRef::Steal(Py_BuildValue("{sOs{OO}}", "f", o, "k", keyword, Py_None));
  PyRef none =
      names ? PyRef::Steal(PyRun_String("f(**k, **k)", Py_eval_input, names.get(), names.get())) : PyRef();
  return RaiseFromPython();
}

}  // namespace thirdbook
