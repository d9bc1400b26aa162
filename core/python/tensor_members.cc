// Properties and methods of Tensor that only read or set metadata; the tracer answers most of them from what
// it knows.
//
// In: a tensor object. Out: Python values. Invariant: nothing here computes on elements except item, tolist
// and __setstate__.
#include <cstddef>

#include "python/tensor_internal.h"

namespace thirdbook {
namespace {

TensorObject* Self(PyObject* self) { return reinterpret_cast<TensorObject*>(self); }

PyObject* IntTuple(const Sizes& values) {
  PyRef result = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  if (!result) return nullptr;
  for (size_t i = 0; i < values.size(); ++i) {
    PyObject* item = PyLong_FromLongLong(values[i]);
    if (item == nullptr) return nullptr;
    PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), item);
  }
  return result.release();
}

// The dimension that an argument names, wrapped; false with IndexError set.
bool WrapDim(PyObject* object, int64_t rank, const char* method, int64_t* dim) {
  if (!AsInt(object, dim)) {
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_TypeError, "%s(): argument 'dim' must be int, not %s", method,
                   Py_TYPE(object)->tp_name);
    }
    return false;
  }
  int64_t bound = rank > 0 ? rank : 1;
  if (rank == 0) {
    PyErr_Format(PyExc_IndexError, "dimension specified as %lld but tensor has no dimensions",
                 static_cast<long long>(*dim));
    return false;
  }
  if (*dim < -bound || *dim >= bound) {
    PyErr_Format(
        PyExc_IndexError, "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
        static_cast<long long>(-bound), static_cast<long long>(bound - 1), static_cast<long long>(*dim));
    return false;
  }
  if (*dim < 0) *dim += bound;
  return true;
}

// size(dim=None), stride(dim=None)
PyObject* PerDimension(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                       const char* method, bool sizes) {
  PyObject* dim_object = nargs > 0 ? args[0] : Py_None;
  if (kwnames != nullptr && PyTuple_GET_SIZE(kwnames) == 1 && nargs == 0 &&
      PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "dim") == 0) {
    dim_object = args[0];
  } else if (nargs > 1 || (kwnames != nullptr && PyTuple_GET_SIZE(kwnames) > 0)) {
    return PyErr_Format(PyExc_TypeError, "%s() takes one argument: dim", method);
  }
  const TensorMeta& meta = AsTensor(self).meta();
  if (dim_object == Py_None) return sizes ? MakeSize(meta.sizes) : IntTuple(meta.strides);
  int64_t dim;
  if (!WrapDim(dim_object, meta.rank(), method, &dim)) return nullptr;
  return PyLong_FromLongLong((sizes ? meta.sizes : meta.strides)[static_cast<size_t>(dim)]);
}
PyObject* SizeMethod(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return PerDimension(self, args, nargs, kwnames, "size", true);
}
PyObject* StrideMethod(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return PerDimension(self, args, nargs, kwnames, "stride", false);
}

PyObject* Dim(PyObject* self, PyObject*) { return PyLong_FromLongLong(AsTensor(self).meta().rank()); }
PyObject* Numel(PyObject* self, PyObject*) { return PyLong_FromLongLong(AsTensor(self).meta().numel()); }
PyObject* Item(PyObject* self, PyObject*) { return ItemOf(AsTensor(self)); }
PyObject* ToListMethod(PyObject* self, PyObject*) { return ToList(AsTensor(self)); }
PyObject* StorageOffset(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(AsTensor(self).meta().offset);
}
PyObject* DataPtr(PyObject* self, PyObject*) {
  const Tensor& tensor = AsTensor(self);
  const Status status = tensor.ToHost();
  if (!status.ok()) return RaiseStatus(status);
  return PyLong_FromVoidPtr(tensor.meta().numel() == 0 ? nullptr : tensor.data());
}
PyObject* StoragePtr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(AsTensor(self).storage().get()); }
PyObject* StorageBytes(PyObject* self, PyObject*) {
  return PyLong_FromSize_t(AsTensor(self).storage()->bytes());
}
PyObject* IsContiguousMethod(PyObject* self, PyObject* const*, Py_ssize_t, PyObject*) {
  return PyBool_FromLong(AsTensor(self).meta().IsContiguous());
}
PyObject* ElementSize(PyObject* self, PyObject*) { return PyLong_FromLong(ItemSize(AsTensor(self).dtype())); }
PyObject* IsFloatingPoint(PyObject* self, PyObject*) {
  return PyBool_FromLong(IsFloating(AsTensor(self).dtype()));
}
PyObject* IsComplexMethod(PyObject*, PyObject*) { Py_RETURN_FALSE; }
PyObject* IsSameStorage(PyObject* self, PyObject* other) {
  return PyBool_FromLong(IsTensor(other) && AsTensor(self).storage() == AsTensor(other).storage());
}
// set_(source): this object becomes another name for source's memory.
PyObject* SetMethod(PyObject* self, PyObject* source) {
  if (!IsTensor(source))
    return PyErr_Format(PyExc_TypeError, "set_() takes a Tensor, not %s", Py_TYPE(source)->tp_name);
  Self(self)->tensor = AsTensor(source);
  return Py_NewRef(self);
}

bool SetRequiresGrad(PyObject* self, bool value) {
  if (value && !IsFloating(AsTensor(self).dtype())) {
    PyErr_SetString(PyExc_RuntimeError, "only Tensors of floating point dtype can require gradients");
    return false;
  }
  Self(self)->requires_grad = value;
  return true;
}
PyObject* RequiresGradMethod(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  Py_ssize_t given = nargs + (kwnames != nullptr ? PyTuple_GET_SIZE(kwnames) : 0);
  if (given > 1) return PyErr_Format(PyExc_TypeError, "requires_grad_() takes one argument: requires_grad");
  PyObject* value = given == 1 ? args[0] : Py_True;
  if (!PyBool_Check(value)) {
    return PyErr_Format(PyExc_TypeError,
                        "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not %s",
                        Py_TYPE(value)->tp_name);
  }
  return SetRequiresGrad(self, value == Py_True) ? Py_NewRef(self) : nullptr;
}

// ---- properties

PyObject* GetShape(PyObject* self, void*) { return MakeSize(AsTensor(self).sizes()); }
PyObject* GetDType(PyObject* self, void*) { return Py_NewRef(DTypeObject(AsTensor(self).dtype())); }
PyObject* GetDevice(PyObject* self, void*) { return Py_NewRef(DeviceObject(AsTensor(self).meta().device)); }
PyObject* GetNdim(PyObject* self, void*) { return Dim(self, nullptr); }
PyObject* GetItemSize(PyObject* self, void*) { return ElementSize(self, nullptr); }
PyObject* GetNbytes(PyObject* self, void*) {
  const Tensor& tensor = AsTensor(self);
  return PyLong_FromLongLong(tensor.meta().numel() * ItemSize(tensor.dtype()));
}
PyObject* GetRequiresGrad(PyObject* self, void*) { return PyBool_FromLong(Self(self)->requires_grad); }
int SetRequiresGradProperty(PyObject* self, PyObject* value, void*) {
  if (value == nullptr || !PyBool_Check(value)) {
    PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
    return -1;
  }
  return SetRequiresGrad(self, value == Py_True) ? 0 : -1;
}
PyObject* GetGrad(PyObject* self, void*) {
  return Py_NewRef(Self(self)->grad != nullptr ? Self(self)->grad : Py_None);
}
int SetGrad(PyObject* self, PyObject* value, void*) {
  if (value == nullptr || value == Py_None) {
    Py_CLEAR(Self(self)->grad);
    return 0;
  }
  if (!IsTensor(value)) {
    PyErr_Format(PyExc_TypeError, "assigned grad expected to be a Tensor or None but got grad of %R",
                 Py_TYPE(value));
    return -1;
  }
  if (value == self) {
    PyErr_SetString(PyExc_RuntimeError, "can't assign Variable as its own grad");
    return -1;
  }
  if (AsTensor(value).sizes() != AsTensor(self).sizes()) {
    PyErr_SetString(PyExc_RuntimeError, "assigned grad has data of a different size");
    return -1;
  }
  if (AsTensor(value).dtype() != AsTensor(self).dtype()) {
    PyErr_SetString(PyExc_RuntimeError, "assigned grad has data of a different type");
    return -1;
  }
  Py_XSETREF(Self(self)->grad, Py_NewRef(value));
  return 0;
}
PyObject* GetData(PyObject* self, void*) { return WrapTensor(AsTensor(self)); }
int SetData(PyObject* self, PyObject* value, void*) {
  if (value == nullptr || !IsTensor(value)) {
    PyErr_SetString(PyExc_TypeError, "Variable data has to be a tensor");
    return -1;
  }
  Self(self)->tensor = AsTensor(value);
  return 0;
}
PyObject* GetTrue(PyObject*, void*) { Py_RETURN_TRUE; }
PyObject* GetFalse(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* GetNone(PyObject*, void*) { Py_RETURN_NONE; }

}  // namespace

#define TB_FASTCALL(function) \
  reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL | METH_KEYWORDS
PyMethodDef tensor_methods[] = {
    {"size", TB_FASTCALL(SizeMethod), "size(dim=None)\n\nThe sizes, or one of them."},
    {"stride", TB_FASTCALL(StrideMethod), "stride(dim=None)\n\nThe strides in elements, or one of them."},
    {"dim", Dim, METH_NOARGS, "The number of dimensions."},
    {"ndimension", Dim, METH_NOARGS, "The number of dimensions."},
    {"numel", Numel, METH_NOARGS, "The number of elements."},
    {"nelement", Numel, METH_NOARGS, "The number of elements."},
    {"item", Item, METH_NOARGS, "The only element as a Python number; RuntimeError when there are more."},
    {"tolist", ToListMethod, METH_NOARGS, "The elements as nested lists; a number for a 0-d tensor."},
    {"storage_offset", StorageOffset, METH_NOARGS, "Where the first element is in the storage, in elements."},
    {"data_ptr", DataPtr, METH_NOARGS, "The address of the first element; 0 when there is none."},
    {"_storage_id", StoragePtr, METH_NOARGS, nullptr},
    {"_storage_nbytes", StorageBytes, METH_NOARGS, nullptr},
    {"is_contiguous", TB_FASTCALL(IsContiguousMethod), "Whether the elements lie row-major without gaps."},
    {"element_size", ElementSize, METH_NOARGS, "Bytes per element."},
    {"is_floating_point", IsFloatingPoint, METH_NOARGS, "Whether the dtype is floating."},
    {"is_complex", IsComplexMethod, METH_NOARGS, "Always False."},
    {"_shares_storage", IsSameStorage, METH_O, nullptr},
    {"set_", SetMethod, METH_O, "set_(source)\n\nMakes this tensor share source's memory and sizes."},
    {"requires_grad_", TB_FASTCALL(RequiresGradMethod), "Sets requires_grad; RuntimeError for integers."},
    {nullptr, nullptr, 0, nullptr},
};
#undef TB_FASTCALL

PyGetSetDef tensor_getset[] = {
    {"shape", GetShape, nullptr, "The sizes, a torch.Size.", nullptr},
    {"dtype", GetDType, nullptr, "The type of the elements.", nullptr},
    {"device", GetDevice, nullptr, "Where the elements are.", nullptr},
    {"ndim", GetNdim, nullptr, "The number of dimensions.", nullptr},
    {"itemsize", GetItemSize, nullptr, "Bytes per element.", nullptr},
    {"nbytes", GetNbytes, nullptr, "Bytes of all elements.", nullptr},
    {"requires_grad", GetRequiresGrad, SetRequiresGradProperty, "Whether gradients are wanted.", nullptr},
    {"grad", GetGrad, SetGrad, "None, or a tensor that was assigned.", nullptr},
    {"data", GetData, SetData, "The same memory without requires_grad.", nullptr},
    {"is_leaf", GetTrue, nullptr, "Always True: there is no autograd yet.", nullptr},
    {"grad_fn", GetNone, nullptr, "Always None: there is no autograd yet.", nullptr},
    {"is_cuda", GetFalse, nullptr, nullptr, nullptr},
    {"is_cpu", GetTrue, nullptr, nullptr, nullptr},
    {"is_sparse", GetFalse, nullptr, nullptr, nullptr},
    {"is_quantized", GetFalse, nullptr, nullptr, nullptr},
    {"is_nested", GetFalse, nullptr, nullptr, nullptr},
    {"is_meta", GetFalse, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace thirdbook
