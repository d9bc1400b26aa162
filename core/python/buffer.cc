// The buffer protocol, both ways, without copying: memoryview(t) and NumPy see a tensor's memory; a tensor
// sees an array's.
//
// In: objects with a buffer of a known element format. Out: tensors over their memory. Invariant: whoever
// looks keeps the memory alive, a tensor through its Storage's release function, an exported buffer through a
// reference to the Storage.
#include <cstring>

#include "python/tensor_internal.h"

namespace thirdbook {
namespace {

// What an exported buffer needs until it is released.
struct Export {
  std::shared_ptr<Storage> storage;
  std::vector<Py_ssize_t> shape, strides;
};

const char* FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kBool: return "?";
    case DType::kUInt8: return "B";
    case DType::kInt32: return "i";
    case DType::kInt64: return sizeof(long) == 8 ? "l" : "q";
    case DType::kFloat32: return "f";
    case DType::kFloat64: return "d";
  }
  return "B";
}

std::optional<DType> DTypeOfFormat(const char* format, Py_ssize_t itemsize) {
  if (format == nullptr) return DType::kUInt8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == '\0' || format[1] != '\0') return std::nullopt;
  switch (*format) {
    case '?': return DType::kBool;
    case 'B': return DType::kUInt8;
    case 'f': return DType::kFloat32;
    case 'd': return DType::kFloat64;
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      if (itemsize == 4) return DType::kInt32;
      if (itemsize == 8) return DType::kInt64;
      return std::nullopt;
    default: return std::nullopt;
  }
}

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const Tensor& tensor = AsTensor(self);
  const TensorMeta& meta = tensor.meta();
  view->obj = nullptr;
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !meta.IsContiguous()) {
    PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous");
    return -1;
  }
  if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && meta.rank() > 1) {
    PyErr_SetString(PyExc_BufferError, "the tensor is not Fortran-contiguous");
    return -1;
  }
  if (((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
       (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS) &&
      !meta.IsContiguous()) {
    PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous");
    return -1;
  }
  const Status status = tensor.ToHost();
  if (!status.ok()) {
    RaiseStatus(status);
    return -1;
  }
  tensor.storage()->SetExported();
  auto* exported = new Export{tensor.storage(), {}, {}};
  Py_ssize_t itemsize = ItemSize(meta.dtype);
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    exported->shape.push_back(static_cast<Py_ssize_t>(meta.sizes[i]));
    exported->strides.push_back(static_cast<Py_ssize_t>(meta.strides[i]) * itemsize);
  }
  view->buf = tensor.data();
  view->len = static_cast<Py_ssize_t>(meta.numel()) * itemsize;
  view->itemsize = itemsize;
  view->readonly = 0;
  view->ndim = static_cast<int>(meta.rank());
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(FormatOf(meta.dtype)) : nullptr;
  view->shape = (flags & PyBUF_ND) == PyBUF_ND ? exported->shape.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = exported;
  view->obj = Py_NewRef(self);
  return 0;
}

void ReleaseBuffer(PyObject*, Py_buffer* view) {
  delete static_cast<Export*>(view->internal);
  view->internal = nullptr;
}

bool HasNegativeStride(const Py_buffer& view) {
  for (int i = 0; i < view.ndim; ++i) {
    if (view.strides[i] < 0) return true;
  }
  return false;
}

// Fills meta from a buffer; false with an exception set.
bool MetaOf(const Py_buffer& view, PyObject* object, TensorMeta* meta) {
  auto dtype = DTypeOfFormat(view.format, view.itemsize);
  if (!dtype) {
    PyErr_Format(PyExc_TypeError,
                 "can't convert %s with elements of format '%s'. The only supported types are: float64, "
                 "float32, int64, int32, uint8, and bool.",
                 Py_TYPE(object)->tp_name, view.format);
    return false;
  }
  if (HasNegativeStride(view)) {
    PyErr_SetString(
        PyExc_ValueError,
        "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
        "currently "
        "supported. (You can probably work around this by making a copy of your array  with array.copy().) ");
    return false;
  }
  meta->dtype = *dtype;
  for (int i = 0; i < view.ndim; ++i) {
    if (view.strides[i] % view.itemsize != 0) {
      PyErr_SetString(
          PyExc_ValueError,
          "given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
          "reallocate the memory.");
      return false;
    }
    meta->sizes.push_back(view.shape[i]);
    meta->strides.push_back(view.strides[i] / view.itemsize);
  }
  if (reinterpret_cast<uintptr_t>(view.buf) % static_cast<uintptr_t>(view.itemsize) != 0) {
    PyErr_SetString(PyExc_ValueError,
                    "the memory of the given array is not aligned. Copy it to reallocate the memory.");
    return false;
  }
  return true;
}

size_t ExtentBytes(const TensorMeta& meta) {
  if (meta.numel() == 0) return 0;
  int64_t last = 0;
  for (size_t i = 0; i < meta.sizes.size(); ++i) last += (meta.sizes[i] - 1) * meta.strides[i];
  return static_cast<size_t>(last + 1) * static_cast<size_t>(ItemSize(meta.dtype));
}

std::shared_ptr<Storage> KeepBuffer(Py_buffer* view, size_t bytes) {
  return Storage::Wrap(view->buf, bytes, [view] {
    PyGILState_STATE state = PyGILState_Ensure();
    PyBuffer_Release(view);
    delete view;
    PyGILState_Release(state);
  });
}

// from_numpy(array), and from any object with a buffer.
PyObject* FromBuffer(PyObject*, PyObject* object) {
  if (IsTensor(object) || !PyObject_CheckBuffer(object)) {
    return PyErr_Format(PyExc_TypeError, "expected np.ndarray (got %s)", Py_TYPE(object)->tp_name);
  }
  Tensor tensor;
  if (!TensorFromBuffer(object, &tensor)) return nullptr;
  return WrapTensor(std::move(tensor));
}

// frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False)
PyObject* FromRawBuffer(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"buffer", "dtype", "count", "offset", "requires_grad", nullptr};
  PyObject *object, *dtype_object = Py_None;
  long long count = -1, offset = 0;
  int requires_grad = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OLLp:frombuffer", const_cast<char**>(keywords), &object,
                                   &dtype_object, &count, &offset, &requires_grad)) {
    return nullptr;
  }
  DType dtype;
  if (!AsDTypeOrPythonType(dtype_object, &dtype))
    return PyErr_Format(PyExc_TypeError, "frombuffer(): argument 'dtype' must be torch.dtype");
  auto* view = new Py_buffer;
  if (PyObject_GetBuffer(object, view, PyBUF_WRITABLE) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(object, view, PyBUF_SIMPLE) < 0) {
      delete view;
      return nullptr;
    }
  }
  auto storage = KeepBuffer(view, static_cast<size_t>(view->len));
  if (storage == nullptr) return PyErr_NoMemory();
  long long length = view->len, size = ItemSize(dtype);
  if (length == 0 || count == 0)
    return PyErr_Format(PyExc_ValueError, "both buffer length (%lld) and count (%lld) must not be 0", length,
                        count);
  if (offset < 0 || offset >= length) {
    return PyErr_Format(
        PyExc_ValueError,
        "offset (%lld bytes) must be non-negative and no greater than buffer length (%lld bytes) minus 1",
        offset, length);
  }
  if (count < 0 && (length - offset) % size != 0) {
    return PyErr_Format(
        PyExc_ValueError,
        "buffer length (%lld bytes) after offset (%lld bytes) must be a multiple of element size (%lld)",
        length, offset, size);
  }
  long long elements = count < 0 ? (length - offset) / size : count;
  if (elements > (length - offset) / size) {
    return PyErr_Format(
        PyExc_ValueError,
        "requested buffer length (%lld * %lld bytes) after offset (%lld bytes) must not be greater than "
        "actual buffer length (%lld bytes)",
        elements, size, offset, length);
  }
  if ((reinterpret_cast<uintptr_t>(view->buf) + static_cast<uintptr_t>(offset)) %
              static_cast<uintptr_t>(size) !=
          0 ||
      offset % size != 0) {
    return PyErr_Format(PyExc_ValueError, "offset (%lld bytes) must keep elements of %lld bytes aligned",
                        offset, size);
  }
  TensorMeta meta = ContiguousMeta(dtype, {elements});
  meta.offset = offset / size;
  PyObject* made = WrapTensor(Tensor(std::move(storage), std::move(meta)));
  if (made != nullptr) reinterpret_cast<TensorObject*>(made)->requires_grad = requires_grad != 0;
  return made;
}

PyMethodDef module_functions[] = {
    {"from_numpy", FromBuffer, METH_O,
     "from_numpy(array, /)\n--\n\nA tensor over the array's memory (any object with a buffer)."},
    {"frombuffer", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(FromRawBuffer)),
     METH_VARARGS | METH_KEYWORDS,
     "frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False)\n\nA 1-d tensor over raw "
     "memory."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyType_Slot buffer_slots[2] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(ReleaseBuffer)},
};

bool IsArray(PyObject* object) {
  for (PyTypeObject* type = Py_TYPE(object); type != nullptr; type = type->tp_base) {
    if (std::strcmp(type->tp_name, "numpy.ndarray") == 0) return true;
    if (type == &PyBaseObject_Type || type == &PyLong_Type || type == &PyFloat_Type) break;
  }
  return false;
}

bool TensorFromBuffer(PyObject* object, Tensor* out) {
  auto* view = new Py_buffer;
  if (PyObject_GetBuffer(object, view, PyBUF_STRIDES | PyBUF_FORMAT | PyBUF_WRITABLE) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(object, view, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
      delete view;
      return false;
    }
  }
  TensorMeta meta;
  if (!MetaOf(*view, object, &meta)) {
    PyBuffer_Release(view);
    delete view;
    return false;
  }
  auto storage = KeepBuffer(view, ExtentBytes(meta));
  if (storage == nullptr) {
    PyErr_NoMemory();
    return false;
  }
  *out = Tensor(std::move(storage), std::move(meta));
  return true;
}

bool InitBuffer(PyObject* module) { return PyModule_AddFunctions(module, module_functions) == 0; }

}  // namespace thirdbook
