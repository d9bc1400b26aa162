// The table of array libraries, and the row of thirdbook.Tensor.
#include "python/array_adapter.h"

#include <cstring>
#include <vector>

#include "python/numpy_array.h"
#include "python/py_ref.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

bool ReadTensor(PyObject* o, ArrayView* view) {
  if (!IsTensor(o) || !AsTensor(o).defined()) return false;
  const Tensor& tensor = AsTensor(o);
  view->meta = tensor.meta();
  // Elements on a device share memory with what has the same storage.
  const Storage* storage = tensor.storage().get();
  const bool in_memory = storage->device_id() < 0;
  view->low = in_memory ? static_cast<const char*>(storage->data()) : reinterpret_cast<const char*>(storage);
  view->high = view->low + (in_memory ? storage->bytes() : 1);
  if (reinterpret_cast<TensorObject*>(o)->requires_grad) view->flags = kRequiresGrad;
  return true;
}

bool MatchesTensor(PyObject* o, const TensorMeta& meta, int flags) {
  if (!IsTensor(o)) return false;
  const TensorMeta& now = AsTensor(o).meta();
  return now.dtype == meta.dtype && now.sizes == meta.sizes && now.strides == meta.strides &&
         now.offset == meta.offset && now.device == meta.device &&
         reinterpret_cast<TensorObject*>(o)->requires_grad == ((flags & kRequiresGrad) != 0);
}

bool BorrowTensor(PyObject* o, Tensor* reuse) {
  if (!IsTensor(o)) return false;
  *reuse = AsTensor(o);
  return true;
}

PyTypeObject* TypeOfTensors(DType, bool) { return TensorType; }
bool NoDType(PyObject*) { return false; }
PyObject* NoModel(PyObject*) { return nullptr; }
PyObject* NoOperation(const char*) { return nullptr; }

// The tracer knows tensors' operations itself: they are the graph's.
const ArrayAdapter kTensor = {"thirdbook",   ReadTensor, MatchesTensor, BorrowTensor,
                              TypeOfTensors, NoDType,    nullptr,       nullptr,
                              nullptr,       nullptr,    NoModel,       NoOperation};

const ArrayAdapter* numpy_library = nullptr;
// Every library at hand; a further one is a further row.
std::vector<const ArrayAdapter*> libraries = {&kTensor};

bool IsForeignArray(PyTypeObject* type) {
  for (; type != nullptr && type != &PyBaseObject_Type; type = type->tp_base) {
    if (std::strcmp(type->tp_name, "numpy.ndarray") == 0 || std::strcmp(type->tp_name, "numpy.generic") == 0)
      return true;
  }
  return false;
}

PyObject* ViewOf(PyObject*, PyObject* args) {
  PyObject *array, *sizes, *strides;
  long long offset;
  if (!PyArg_ParseTuple(args, "OO!O!L:_array_view", &array, &PyTuple_Type, &sizes, &PyTuple_Type, &strides,
                        &offset))
    return nullptr;
  ArrayView view;
  const ArrayAdapter* library = ReadArray(array, &view);
  if (library == nullptr || library->view == nullptr) {
    PyErr_SetString(PyExc_TypeError, "a view of an array that cannot be read");
    return nullptr;
  }
  view.meta.sizes.clear();
  view.meta.strides.clear();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes) && i < PyTuple_GET_SIZE(strides); i++) {
    view.meta.sizes.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i)));
    view.meta.strides.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(strides, i)));
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  view.meta.offset = offset;
  return library->view(array, view.meta);
}

PyMethodDef kMethods[] = {{"_array_view", ViewOf, METH_VARARGS, "Another array over the memory of an array."},
                          {nullptr, nullptr, 0, nullptr}};

}  // namespace

const ArrayAdapter* TensorLibrary() { return &kTensor; }
const ArrayAdapter* NumpyLibrary() { return numpy_library; }

void FindArrayLibraries() {
  static bool tried = false;
  if (tried) return;
  static PyObject* name = PyUnicode_InternFromString("numpy");
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* module = PyDict_GetItemWithError(modules, name);
  if (module == nullptr) return;
  // Half imported while its own import runs.
  PyRef ready = PyRef::Steal(PyObject_GetAttrString(module, "ufunc"));
  PyErr_Clear();
  if (!ready) return;
  tried = true;
  numpy_library = ConnectNumpy();
  if (numpy_library != nullptr) libraries.push_back(numpy_library);
}

const ArrayAdapter* ReadArray(PyObject* object, ArrayView* view) {
  for (const ArrayAdapter* library : libraries) {
    *view = ArrayView();
    if (library->read(object, view)) return library;
  }
  return nullptr;
}

bool MatchesArray(PyObject* object, const TensorMeta& meta, int flags) {
  for (const ArrayAdapter* library : libraries) {
    if (library->matches(object, meta, flags)) return true;
  }
  return false;
}

bool IsForeignDType(PyObject* object) { return numpy_library != nullptr && numpy_library->is_dtype(object); }

bool SharesMemory(const ArrayView& a, const ArrayView& b) { return a.low < b.high && b.low < a.high; }

std::string Unreadable(PyObject* object) {
  if (!IsForeignArray(Py_TYPE(object))) return "";
  std::string what = std::string("a '") + Py_TYPE(object)->tp_name + "'";
  PyRef dtype = PyRef::Steal(PyObject_GetAttrString(object, "dtype"));
  PyRef text = PyRef::Steal(dtype ? PyObject_Str(dtype.get()) : nullptr);
  if (text) what += std::string(" of ") + PyUnicode_AsUTF8(text.get());
  PyErr_Clear();
  return what;
}

bool InitArrayAdapters(PyObject* module) { return PyModule_AddFunctions(module, kMethods) == 0; }

}  // namespace thirdbook
