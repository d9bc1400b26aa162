// Python data to elements and back: torch.tensor(data), tolist, item, numbers as weak operands.
//
// In: numbers, nested sequences, arrays, tensors inside sequences. Out: fresh contiguous tensors; Python
// bool, int, float. Invariant: dtype inference is PyTorch's (bool < int < float, floats become the default
// dtype), and a number that does not fit raises.
#include <cmath>
#include <cstring>
#include <limits>

#include "python/tensor_internal.h"
#include "tensor/kernels.h"

namespace thirdbook {
namespace {

constexpr int kMaxDepth = 64;

bool IsSequence(PyObject* object) {
  return PyList_Check(object) || PyTuple_Check(object) ||
         (PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object) &&
          !PyDict_Check(object) && !IsTensor(object));
}

bool IsNumpyScalar(PyObject* object) {
  const char* name = Py_TYPE(object)->tp_name;
  return std::strncmp(name, "numpy.", 6) == 0 && !IsArray(object) && PyObject_CheckBuffer(object);
}

// The number behind a NumPy scalar; a new reference to the object itself for other numbers.
PyRef PlainNumber(PyObject* object) {
  if (IsNumpyScalar(object)) return PyRef::Steal(PyObject_CallMethod(object, "item", nullptr));
  return PyRef::Borrow(object);
}

PyObject* InvalidType(PyObject* object) {
  return PyErr_Format(PyExc_TypeError, "new(): invalid data type '%s'", Py_TYPE(object)->tp_name);
}

// Follows first elements to find the sizes.
bool FindSizes(PyObject* data, Sizes* sizes) {
  PyRef at = PyRef::Borrow(data);
  while (IsSequence(at.get()) && !IsNumpyScalar(at.get())) {
    Py_ssize_t length = PySequence_Size(at.get());
    if (length < 0) return false;
    sizes->push_back(length);
    if (sizes->size() > kMaxDepth) {
      PyErr_Format(PyExc_ValueError, "too many dimensions '%s'", Py_TYPE(at.get())->tp_name);
      return false;
    }
    if (length == 0) return true;
    at = PyRef::Steal(PySequence_GetItem(at.get(), 0));
    if (!at) return false;
  }
  if (PyUnicode_Check(at.get())) {
    if (sizes->empty()) {
      InvalidType(at.get());
    } else {
      PyErr_Format(PyExc_ValueError, "too many dimensions '%s'", Py_TYPE(at.get())->tp_name);
    }
    return false;
  }
  return true;
}

// The dtype of the numbers in `data`; nullopt with an exception set. Empty sequences say nothing (*found
// stays).
bool InferDType(PyObject* data, std::optional<DType>* found) {
  std::optional<DType> dtype;
  if (PyBool_Check(data)) {
    dtype = DType::kBool;
  } else if (PyLong_Check(data)) {
    dtype = DType::kInt64;
  } else if (IsTensor(data)) {
    dtype = AsTensor(data).dtype();
  } else if (IsNumpyScalar(data) || IsArray(data)) {
    Tensor tensor;
    if (!TensorFromBuffer(data, &tensor)) return false;
    dtype = tensor.dtype();
  } else if (PyFloat_Check(data)) {
    dtype = DefaultDType();
  } else if (IsSequence(data)) {
    Py_ssize_t length = PySequence_Size(data);
    if (length < 0) return false;
    for (Py_ssize_t i = 0; i < length; ++i) {
      PyRef item = PyRef::Steal(PySequence_GetItem(data, i));
      if (!item || !InferDType(item.get(), found)) return false;
    }
    return true;
  } else if (PyUnicode_Check(data) || PyComplex_Check(data)) {
    return InvalidType(data) != nullptr;
  } else {
    PyErr_Format(PyExc_RuntimeError, "Could not infer dtype of %s", Py_TYPE(data)->tp_name);
    return false;
  }
  *found = *found ? Promote(**found, *dtype) : dtype;
  return true;
}

bool Overflows(DType dtype) {
  PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow",
               std::string(DTypeName(dtype)).c_str());
  return false;
}

bool StoreInt(int64_t value, DType dtype, char* at) {
  switch (dtype) {
    case DType::kBool: *reinterpret_cast<bool*>(at) = value != 0; return true;
    case DType::kUInt8:
      if (value < -255 || value > 255) return Overflows(dtype);
      *reinterpret_cast<uint8_t*>(at) = static_cast<uint8_t>(value);
      return true;
    case DType::kInt32:
      if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
        return Overflows(dtype);
      *reinterpret_cast<int32_t*>(at) = static_cast<int32_t>(value);
      return true;
    case DType::kInt64: *reinterpret_cast<int64_t*>(at) = value; return true;
    case DType::kFloat32: *reinterpret_cast<float*>(at) = static_cast<float>(value); return true;
    case DType::kFloat64: *reinterpret_cast<double*>(at) = static_cast<double>(value); return true;
  }
  return false;
}

bool StoreFloat(double value, DType dtype, char* at) {
  switch (dtype) {
    case DType::kBool: *reinterpret_cast<bool*>(at) = value != 0; return true;
    case DType::kFloat32: *reinterpret_cast<float*>(at) = static_cast<float>(value); return true;
    case DType::kFloat64: *reinterpret_cast<double*>(at) = value; return true;
    case DType::kUInt8:
    case DType::kInt32:
    case DType::kInt64: break;
  }
  if (!(std::fabs(value) < 9223372036854775808.0)) return Overflows(DType::kInt64);
  return StoreInt(static_cast<int64_t>(value), dtype, at);
}

bool Store(PyObject* object, DType dtype, char* at) {
  PyRef number = IsTensor(object) ? PyRef() : PlainNumber(object);
  if (IsTensor(object)) {
    if (AsTensor(object).meta().numel() != 1) {
      PyErr_SetString(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
      return false;
    }
    number = PyRef::Steal(ItemOf(AsTensor(object)));
  }
  if (!number) return false;
  if (PyFloat_Check(number.get())) return StoreFloat(PyFloat_AS_DOUBLE(number.get()), dtype, at);
  if (!PyLong_Check(number.get())) {
    if (IsSequence(number.get())) {
      PyErr_Format(PyExc_TypeError, "'%s' object cannot be interpreted as a number",
                   Py_TYPE(number.get())->tp_name);
      return false;
    }
    return InvalidType(number.get()) != nullptr;
  }
  if (IsFloating(dtype)) {
    double value = PyLong_AsDouble(number.get());
    if (value == -1.0 && PyErr_Occurred()) return false;
    return StoreFloat(value, dtype, at);
  }
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow != 0) {
    PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
    return false;
  }
  return StoreInt(value, dtype, at);
}

bool StoreAll(PyObject* data, const Sizes& sizes, size_t depth, DType dtype, char** at) {
  if (depth == sizes.size()) {
    if (!Store(data, dtype, *at)) return false;
    *at += ItemSize(dtype);
    return true;
  }
  if (!IsSequence(data)) {
    PyErr_SetString(PyExc_TypeError, "not a sequence");
    return false;
  }
  Py_ssize_t length = PySequence_Size(data);
  if (length < 0) return false;
  if (length != sizes[depth]) {
    PyErr_Format(PyExc_ValueError, "expected sequence of length %lld at dim %zu (got %zd)",
                 static_cast<long long>(sizes[depth]), depth, length);
    return false;
  }
  for (Py_ssize_t i = 0; i < length; ++i) {
    PyRef item = PyRef::Steal(PySequence_GetItem(data, i));
    if (!item || !StoreAll(item.get(), sizes, depth + 1, dtype, at)) return false;
  }
  return true;
}

bool CopyOf(const Tensor& source, std::optional<DType> dtype, Tensor* out) {
  auto fresh = Tensor::Empty(dtype.value_or(source.dtype()), source.sizes());
  if (!fresh.ok()) return RaiseStatus(fresh.status()) != nullptr;
  Status status = CopyInto(*fresh, source);
  if (!status.ok()) return RaiseStatus(status) != nullptr;
  *out = std::move(*fresh);
  return true;
}

PyObject* ListOf(const Tensor& tensor, size_t depth, int64_t element) {
  const TensorMeta& meta = tensor.meta();
  if (depth == meta.sizes.size()) return ElementToPython(tensor, element);
  PyRef list = PyRef::Steal(PyList_New(static_cast<Py_ssize_t>(meta.sizes[depth])));
  if (!list) return nullptr;
  for (int64_t i = 0; i < meta.sizes[depth]; ++i) {
    PyObject* item = ListOf(tensor, depth + 1, element + i * meta.strides[depth]);
    if (item == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item);
  }
  return list.release();
}

// tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)
PyObject* MakeTensor(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"data", "dtype", "device", "requires_grad", "pin_memory", nullptr};
  PyObject *data, *dtype_object = Py_None, *device_object = Py_None;
  int requires_grad = 0, pin_memory = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOpp:tensor", const_cast<char**>(keywords), &data,
                                   &dtype_object, &device_object, &requires_grad, &pin_memory)) {
    return nullptr;
  }
  Device device;
  if (!AsDevice(device_object, &device)) return nullptr;
  std::optional<DType> dtype;
  DType given;
  if (dtype_object != Py_None) {
    if (!AsDTypeOrPythonType(dtype_object, &given)) {
      return PyErr_Format(PyExc_TypeError, "tensor(): argument 'dtype' must be torch.dtype, not %s",
                          Py_TYPE(dtype_object)->tp_name);
    }
    dtype = given;
  }
  Tensor tensor;
  if (!TensorFromData(data, dtype, &tensor)) return nullptr;
  TensorMeta meta = tensor.meta();
  meta.device = device;
  tensor = tensor.WithMeta(std::move(meta));
  if (requires_grad && !IsFloating(tensor.dtype())) {
    return PyErr_Format(PyExc_RuntimeError,
                        "Only Tensors of floating point and complex dtype can require gradients");
  }
  PyObject* made = WrapTensor(std::move(tensor));
  if (made != nullptr) reinterpret_cast<TensorObject*>(made)->requires_grad = requires_grad != 0;
  return made;
}

// A number or NumPy scalar as a plain Python number, and the dtype that result_type gives it.
PyObject* ResultTypePy(PyObject*, PyObject* args) {
  if (PyTuple_GET_SIZE(args) == 0)
    return PyErr_Format(PyExc_TypeError, "result_type() takes tensors or numbers");
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* item = PyTuple_GET_ITEM(args, i);
    Tensor tensor;
    if (IsTensor(item)) {
      tensor = AsTensor(item);
    } else if (!IsNumber(item)) {
      return PyErr_Format(PyExc_TypeError, "result_type() takes tensors or numbers, not %s",
                          Py_TYPE(item)->tp_name);
    } else if (!WeakFromNumber(item, &tensor)) {
      return nullptr;
    }
    tensors.push_back(std::move(tensor));
  }
  std::vector<const TensorMeta*> metas;
  for (const Tensor& tensor : tensors) metas.push_back(&tensor.meta());
  return Py_NewRef(DTypeObject(ResultType(metas)));
}

PyMethodDef module_functions[] = {
    {"tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(MakeTensor)),
     METH_VARARGS | METH_KEYWORDS,
     "A fresh tensor with a copy of `data`: a number, nested sequences, an array, a tensor."},
    {"result_type", ResultTypePy, METH_VARARGS,
     "result_type(*operands)\n--\n\nThe dtype of an operation on them."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool IsNumber(PyObject* object) {
  return PyLong_Check(object) || PyFloat_Check(object) || IsNumpyScalar(object);
}

bool WeakFromNumber(PyObject* object, Tensor* out) {
  if (PyFloat_Check(object)) {
    *out = Tensor::WeakFloat(PyFloat_AS_DOUBLE(object));
    return true;
  }
  PyRef number = PlainNumber(object);
  if (!number) return false;
  if (PyBool_Check(number.get())) {
    *out = Tensor::WeakBool(number.get() == Py_True);
  } else if (PyFloat_Check(number.get())) {
    *out = Tensor::WeakFloat(PyFloat_AS_DOUBLE(number.get()));
  } else if (PyLong_Check(number.get())) {
    int64_t value = PyLong_AsLongLong(number.get());
    if (value == -1 && PyErr_Occurred()) return false;
    *out = Tensor::WeakInt(value);
  } else {
    PyErr_Format(PyExc_TypeError, "%s is not a real number", Py_TYPE(object)->tp_name);
    return false;
  }
  if (out->defined()) return true;
  PyErr_NoMemory();
  return false;
}

PyObject* ElementToPython(const Tensor& tensor, int64_t element) {
  const char* at = static_cast<const char*>(tensor.storage()->data()) + element * ItemSize(tensor.dtype());
  switch (tensor.dtype()) {
    case DType::kBool: return PyBool_FromLong(*reinterpret_cast<const bool*>(at));
    case DType::kUInt8: return PyLong_FromLong(*reinterpret_cast<const uint8_t*>(at));
    case DType::kInt32: return PyLong_FromLong(*reinterpret_cast<const int32_t*>(at));
    case DType::kInt64: return PyLong_FromLongLong(*reinterpret_cast<const int64_t*>(at));
    case DType::kFloat32: return PyFloat_FromDouble(static_cast<double>(*reinterpret_cast<const float*>(at)));
    case DType::kFloat64: return PyFloat_FromDouble(*reinterpret_cast<const double*>(at));
  }
  Py_UNREACHABLE();
}

PyObject* ItemOf(const Tensor& tensor) {
  int64_t count = tensor.meta().numel();
  const Status status = tensor.ToHost();
  if (!status.ok()) return RaiseStatus(status);
  if (count == 1) return ElementToPython(tensor, tensor.meta().offset);
  return PyErr_Format(PyExc_RuntimeError, "a Tensor with %lld elements cannot be converted to Scalar",
                      static_cast<long long>(count));
}

PyObject* ToList(const Tensor& tensor) {
  const Status status = tensor.ToHost();
  if (!status.ok()) return RaiseStatus(status);
  return ListOf(tensor, 0, tensor.meta().offset);
}

bool TensorFromData(PyObject* data, std::optional<DType> dtype, Tensor* out) {
  if (IsTensor(data)) return CopyOf(AsTensor(data), dtype, out);
  if (IsArray(data)) {
    Tensor shared;
    return TensorFromBuffer(data, &shared) && CopyOf(shared, dtype, out);
  }
  Sizes sizes;
  if (!FindSizes(data, &sizes)) return false;
  if (!dtype && !InferDType(data, &dtype)) return false;
  auto fresh = Tensor::Empty(dtype.value_or(DefaultDType()), sizes);
  if (!fresh.ok()) return RaiseStatus(fresh.status()) != nullptr;
  char* at = fresh->data<char>();
  if (!StoreAll(data, sizes, 0, fresh->dtype(), &at)) return false;
  *out = std::move(*fresh);
  return true;
}

bool InitTensorData(PyObject* module) { return PyModule_AddFunctions(module, module_functions) == 0; }

}  // namespace thirdbook
