// Functions of the standard library that are traced in another form (thirdbook/_standard).
//
// In: a callable. Out: the Python function that says the same in what the tracer knows. Invariant: a name
// alone is no proof: the callable is the library's own, by the module that its code belongs to or by its C
// type.
#include <cstring>

#include "interpret/trace.h"

namespace thirdbook {

namespace {

struct Model {
  const char* of;      // module.name of a Python function, type.name of a method, or a type
  const char* module;  // below thirdbook._standard
  const char* name;
  bool takes_callable = false;  // the callable itself comes first
  PyObject* function = nullptr;
};
Model models[] = {
    {"copy.deepcopy", "copying", "deepcopy"},
    {"object.__reduce_ex__", "copying", "reduced"},
    {"reprlib.recursive_repr.<locals>.decorating_function.<locals>.wrapper", "texts", "shown", true},
    {"re.Pattern.sub", "texts", "substituted"},
    {"_json.Encoder", "texts", "encoder"},
    {"logging.Logger._log", "logs", "log"},
    {"BaseException.add_note", "texts", "noted"},
    {"", "texts", "percent"},  // PercentModel
};

PyObject* FunctionOf(Model& model) {
  if (model.function == nullptr) {
    PyRef module =
        PyRef::Steal(PyImport_ImportModule((std::string("thirdbook._standard.") + model.module).c_str()));
    model.function = module ? PyObject_GetAttrString(module.get(), model.name) : nullptr;
    PyErr_Clear();
  }
  return model.function;
}

// Empty: no callable of these kinds.
std::string NameOf(PyObject* o) {
  if (PyFunction_Check(o)) {
    auto* function = reinterpret_cast<PyFunctionObject*>(o);
    PyObject* module = PyDict_GetItemString(function->func_globals, "__name__");
    const char* text = module != nullptr && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
    const char* name = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(function->func_code)->co_qualname);
    PyErr_Clear();
    return text != nullptr && name != nullptr ? std::string(text) + "." + name : std::string();
  }
  if (PyType_Check(o)) {  // only names of types in C have a module in them
    const char* name = reinterpret_cast<PyTypeObject*>(o)->tp_name;
    return std::strchr(name, '.') != nullptr ? name : "";
  }
  if (Py_TYPE(o) != &PyMethodDescr_Type) return "";
  auto* descriptor = reinterpret_cast<PyDescrObject*>(o);
  return std::string(descriptor->d_type->tp_name) + "." + PyUnicode_AsUTF8(descriptor->d_name);
}

}  // namespace

PyObject* Trace::PercentModel() { return FunctionOf(models[std::size(models) - 1]); }

PyObject* Trace::StandardModel(PyObject* callable, bool* takes_callable) {
  const std::string name = NameOf(callable);
  for (Model& model : models) {
    if (name != model.of || name.empty()) continue;
    *takes_callable = model.takes_callable;
    return FunctionOf(model);
  }
  return nullptr;
}

}  // namespace thirdbook
