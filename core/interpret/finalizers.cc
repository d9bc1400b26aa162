// See finalizers.h.
#include "interpret/finalizers.h"

#include "python/py_ref.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

constexpr int kMaxVisited = 1000;
constexpr int kMaxDepth = 12;

bool IsWatched(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_weaklistoffset == 0) return false;
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + type->tp_weaklistoffset) != nullptr;
}

bool IsSuspended(PyObject* generator) {
  PyRef state = PyRef::Steal(PyObject_GetAttrString(generator, "gi_suspended"));
  PyErr_Clear();
  return state.get() == Py_True && PyGen_CheckExact(generator);
}

// Types whose exact instances are quiet whatever they hold.
bool IsQuietType(PyTypeObject* type) {
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type || type == &PyBool_Type ||
         type == Py_TYPE(Py_None) || type == &PyBytes_Type || type == TensorType || type == &PyType_Type ||
         PyType_IsSubtype(type, &PyType_Type) != 0 || type == &PyModule_Type || type == &PyCode_Type ||
         type == &PyRange_Type || type == &PyCFunction_Type || PyType_IsSubtype(type, &PyModule_Type) != 0;
}

struct Search {
  int left = kMaxVisited;
  int depth = 0;
};

// tp_traverse's convention: not 0 ends the traversal (a loud object was found).
int VisitObject(PyObject* o, void* state) {
  Search* search = static_cast<Search*>(state);
  PyTypeObject* type = Py_TYPE(o);
  if (search->left-- <= 0 || search->depth >= kMaxDepth || IsQuietType(type)) return 0;
  if (PyGen_CheckExact(o)) return IsSuspended(o) ? 1 : 0;
  if (PyFunction_Check(o)) {  // its globals outlive it
    const auto* f = reinterpret_cast<PyFunctionObject*>(o);
    for (PyObject* part : {f->func_closure, f->func_defaults, f->func_kwdefaults, f->func_dict}) {
      if (part != nullptr && VisitObject(part, state) != 0) return 1;
    }
    return 0;
  }
  if (type->tp_finalize != nullptr || type->tp_del != nullptr || IsWatched(o)) return 1;
  if (type->tp_traverse == nullptr || !PyObject_IS_GC(o)) return 0;
  search->depth++;
  int found = type->tp_traverse(o, VisitObject, state);
  search->depth--;
  return found;
}

}  // namespace

bool DiesQuietly(PyObject* o) {
  Search search;
  return VisitObject(o, &search) == 0;
}

}  // namespace thirdbook
