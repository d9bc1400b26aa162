// Python's view of element types, sizes and devices: `dtype` singletons, `Size`, `device`.
//
// In: core values (DType, Sizes, Device). Out: Python objects that print, compare and pickle as PyTorch's.
// Invariant: there is one dtype object per DType, so that identity comparison is dtype comparison.
#include <structmember.h>

#include <cstring>

#include "python/tensor_internal.h"

namespace thirdbook {
namespace {

struct DTypeObjectStruct {
  PyObject_HEAD DType dtype;
};

struct DeviceObjectStruct {
  PyObject_HEAD Device device;
  int index;  // -1: none given
};

PyTypeObject* dtype_type = nullptr;
PyTypeObject* size_type = nullptr;
PyTypeObject* device_type = nullptr;
std::array<PyObject*, kNumDTypes> dtype_objects{};
PyObject* cpu_device = nullptr;
PyObject* webgpu_device = nullptr;
PyObject* rebuild_dtype = nullptr;

DType DTypeOf(PyObject* self) { return reinterpret_cast<DTypeObjectStruct*>(self)->dtype; }

PyObject* ToStr(std::string_view text) {
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

// ---- dtype

PyObject* DTypeRepr(PyObject* self) {
  std::string text = "torch.";
  text += DTypeName(DTypeOf(self));
  return ToStr(text);
}

PyObject* DTypeIsFloating(PyObject* self, void*) { return PyBool_FromLong(IsFloating(DTypeOf(self))); }
PyObject* DTypeIsComplex(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* DTypeIsSigned(PyObject* self, void*) {
  return PyBool_FromLong(DTypeOf(self) != DType::kBool && DTypeOf(self) != DType::kUInt8);
}
PyObject* DTypeItemSize(PyObject* self, void*) { return PyLong_FromLong(ItemSize(DTypeOf(self))); }

PyObject* DTypeReduce(PyObject* self, PyObject*) {
  PyObject* name = ToStr(DTypeName(DTypeOf(self)));
  if (name == nullptr) return nullptr;
  return Py_BuildValue("O(N)", rebuild_dtype, name);
}

PyObject* RebuildDType(PyObject*, PyObject* name) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (text == nullptr) return nullptr;
  auto dtype = DTypeFromName(std::string_view(text, static_cast<size_t>(size)));
  if (!dtype) return PyErr_Format(PyExc_ValueError, "no dtype is named %R", name);
  return Py_NewRef(DTypeObject(*dtype));
}

PyGetSetDef dtype_getset[] = {
    {"is_floating_point", DTypeIsFloating, nullptr, "Whether the dtype is float32 or float64.", nullptr},
    {"is_complex", DTypeIsComplex, nullptr, "Always False: there are no complex dtypes yet.", nullptr},
    {"is_signed", DTypeIsSigned, nullptr, "Whether the dtype has negative values.", nullptr},
    {"itemsize", DTypeItemSize, nullptr, "Bytes per element.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef dtype_methods[] = {
    {"__reduce__", DTypeReduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot dtype_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(DTypeRepr)},
    {Py_tp_getset, dtype_getset},
    {Py_tp_methods, dtype_methods},
    {Py_tp_doc, const_cast<char*>("The type of a tensor's elements.")},
    {0, nullptr},
};
PyType_Spec dtype_spec = {"thirdbook.dtype", sizeof(DTypeObjectStruct), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

// ---- Size: a tuple of ints

PyObject* SizeFromTuple(PyObject* tuple) {  // steals
  if (tuple == nullptr) return nullptr;
  Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  PyObject* result = size_type->tp_alloc(size_type, n);
  if (result != nullptr) {
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(result, i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
  }
  Py_DECREF(tuple);
  return result;
}

PyObject* SizeNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyRef result = PyRef::Steal(PyTuple_Type.tp_new(type, args, kwargs));
  if (!result) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(result.get(), i);
    if (PyLong_Check(item)) continue;
    if (!PyIndex_Check(item)) {
      return PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i,
                          Py_TYPE(item)->tp_name);
    }
    PyObject* number = PyNumber_Index(item);
    if (number == nullptr) return nullptr;
    PyTuple_SET_ITEM(result.get(), i, number);
    Py_DECREF(item);
  }
  return result.release();
}

PyObject* SizeRepr(PyObject* self) {
  std::string text = "torch.Size([";
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    if (i != 0) text += ", ";
    PyRef item = PyRef::Steal(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
    if (!item) return nullptr;
    const char* item_text = PyUnicode_AsUTF8(item.get());
    if (item_text == nullptr) return nullptr;
    text += item_text;
  }
  text += "])";
  return ToStr(text);
}

PyObject* SizeNumel(PyObject* self, PyObject*) {
  int64_t count = 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    int64_t size = PyLong_AsLongLong(PyTuple_GET_ITEM(self, i));
    if (size == -1 && PyErr_Occurred() != nullptr) return nullptr;
    count *= size;
  }
  return PyLong_FromLongLong(count);
}

PyObject* SizeReduce(PyObject* self, PyObject*) {
  PyObject* items = PyTuple_GetSlice(self, 0, PyTuple_GET_SIZE(self));
  if (items == nullptr) return nullptr;
  if (Py_TYPE(items) != &PyTuple_Type) Py_SETREF(items, PySequence_Tuple(items));
  return items == nullptr ? nullptr : Py_BuildValue("O(N)", Py_TYPE(self), items);
}

PyObject* SizeConcat(PyObject* self, PyObject* other) {
  if (!PyTuple_Check(self) || !PyTuple_Check(other)) {
    return PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not \"%s\") to torch.Size",
                        Py_TYPE(PyTuple_Check(self) ? other : self)->tp_name);
  }
  return SizeFromTuple(PyTuple_Type.tp_as_sequence->sq_concat(self, other));
}
PyObject* SizeAdd(PyObject* self, PyObject* other) {
  if (!PyTuple_Check(self) || !PyTuple_Check(other)) Py_RETURN_NOTIMPLEMENTED;
  return SizeConcat(self, other);
}
PyObject* SizeRepeat(PyObject* self, Py_ssize_t n) {
  return SizeFromTuple(PyTuple_Type.tp_as_sequence->sq_repeat(self, n));
}
PyObject* SizeSubscript(PyObject* self, PyObject* key) {
  PyObject* result = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  if (result != nullptr && PySlice_Check(key)) return SizeFromTuple(result);
  return result;
}

PyMethodDef size_methods[] = {
    {"numel", SizeNumel, METH_NOARGS, "The product of the sizes."},
    {"__reduce__", SizeReduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot size_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(SizeNew)},
    {Py_tp_repr, reinterpret_cast<void*>(SizeRepr)},
    {Py_tp_methods, size_methods},
    {Py_nb_add, reinterpret_cast<void*>(SizeAdd)},
    {Py_sq_concat, reinterpret_cast<void*>(SizeConcat)},
    {Py_sq_repeat, reinterpret_cast<void*>(SizeRepeat)},
    {Py_mp_subscript, reinterpret_cast<void*>(SizeSubscript)},
    {Py_tp_doc, const_cast<char*>("The sizes of a tensor: a tuple of ints.")},
    {0, nullptr},
};
PyType_Spec size_spec = {"thirdbook.Size", 0, 0, Py_TPFLAGS_DEFAULT, size_slots};

// ---- device

PyObject* MakeDevice(Device device, int index) {
  auto* self = PyObject_New(DeviceObjectStruct, device_type);
  if (self == nullptr) return nullptr;
  self->device = device;
  self->index = index;
  return reinterpret_cast<PyObject*>(self);
}

const char* DeviceName(Device device) { return device == Device::kCpu ? "cpu" : "webgpu"; }

PyObject* DeviceNew(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  static const char* keywords[] = {"type", "index", nullptr};
  PyObject* type = nullptr;
  PyObject* index = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(keywords), &type, &index))
    return nullptr;
  if (Py_IS_TYPE(type, device_type)) return Py_NewRef(type);
  if (!PyUnicode_Check(type)) {
    return PyErr_Format(PyExc_TypeError, "device(): argument 'type' must be str, not %s",
                        Py_TYPE(type)->tp_name);
  }
  const char* text = PyUnicode_AsUTF8(type);
  if (text == nullptr) return nullptr;
  const char* colon = std::strchr(text, ':');
  std::string name = colon != nullptr ? std::string(text, colon) : std::string(text);
  Device device = Device::kCpu;
  if (name == "webgpu") {
    device = Device::kWebGpu;
  } else if (name != "cpu") {
    return PyErr_Format(PyExc_RuntimeError,
                        "Expected one of cpu, webgpu device type at start of device string: %s", text);
  }
  int number = -1;
  if (colon != nullptr) {
    char* end = nullptr;
    number = static_cast<int>(std::strtol(colon + 1, &end, 10));
    if (end == colon + 1 || *end != '\0' || number < 0) {
      return PyErr_Format(PyExc_RuntimeError, "Invalid device string: '%s'", text);
    }
  } else if (index != Py_None) {
    number = static_cast<int>(PyLong_AsLong(index));
    if (number == -1 && PyErr_Occurred() != nullptr) return nullptr;
  }
  return MakeDevice(device, number);
}

PyObject* DeviceRepr(PyObject* self) {
  auto* d = reinterpret_cast<DeviceObjectStruct*>(self);
  if (d->index < 0) return PyUnicode_FromFormat("device(type='%s')", DeviceName(d->device));
  return PyUnicode_FromFormat("device(type='%s', index=%d)", DeviceName(d->device), d->index);
}
PyObject* DeviceStr(PyObject* self) {
  auto* d = reinterpret_cast<DeviceObjectStruct*>(self);
  if (d->index < 0) return PyUnicode_FromString(DeviceName(d->device));
  return PyUnicode_FromFormat("%s:%d", DeviceName(d->device), d->index);
}
PyObject* DeviceCompare(PyObject* a, PyObject* b, int op) {
  if (!Py_IS_TYPE(b, device_type) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  auto* x = reinterpret_cast<DeviceObjectStruct*>(a);
  auto* y = reinterpret_cast<DeviceObjectStruct*>(b);
  bool equal = x->device == y->device && x->index == y->index;
  return PyBool_FromLong(equal == (op == Py_EQ));
}
Py_hash_t DeviceHash(PyObject* self) {
  auto* d = reinterpret_cast<DeviceObjectStruct*>(self);
  return static_cast<Py_hash_t>(d->device) * 1009 + d->index + 2;
}
PyObject* DeviceGetType(PyObject* self, void*) {
  return PyUnicode_FromString(DeviceName(reinterpret_cast<DeviceObjectStruct*>(self)->device));
}
PyObject* DeviceGetIndex(PyObject* self, void*) {
  int index = reinterpret_cast<DeviceObjectStruct*>(self)->index;
  if (index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(index);
}
PyObject* DeviceReduce(PyObject* self, PyObject*) {
  PyObject* text = DeviceStr(self);
  if (text == nullptr) return nullptr;
  return Py_BuildValue("O(N)", Py_TYPE(self), text);
}

PyGetSetDef device_getset[] = {
    {"type", DeviceGetType, nullptr, "\"cpu\" or \"webgpu\".", nullptr},
    {"index", DeviceGetIndex, nullptr, "The number in \"cpu:0\", or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef device_methods[] = {
    {"__reduce__", DeviceReduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot device_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(DeviceNew)},
    {Py_tp_repr, reinterpret_cast<void*>(DeviceRepr)},
    {Py_tp_str, reinterpret_cast<void*>(DeviceStr)},
    {Py_tp_richcompare, reinterpret_cast<void*>(DeviceCompare)},
    {Py_tp_hash, reinterpret_cast<void*>(DeviceHash)},
    {Py_tp_getset, device_getset},
    {Py_tp_methods, device_methods},
    {Py_tp_doc, const_cast<char*>("Where a tensor's elements are: device(\"cpu\").")},
    {0, nullptr},
};
PyType_Spec device_spec = {"thirdbook.device", sizeof(DeviceObjectStruct), 0, Py_TPFLAGS_DEFAULT,
                           device_slots};

PyMethodDef rebuild_def = {"_rebuild_dtype", RebuildDType, METH_O, nullptr};

PyObject* GetDefaultDType(PyObject*, PyObject*) { return Py_NewRef(DTypeObject(DefaultDType())); }
PyObject* SetDefaultDTypePy(PyObject*, PyObject* object) {
  DType dtype;
  if (!AsDType(object, &dtype)) {
    return PyErr_Format(PyExc_TypeError,
                        "invalid dtype object: only floating-point types are supported as the default type");
  }
  if (!IsFloating(dtype)) {
    return PyErr_Format(PyExc_TypeError, "only floating-point types are supported as the default type");
  }
  SetDefaultDType(dtype);
  Py_RETURN_NONE;
}
PyObject* PromoteTypes(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "OO:promote_types", &a, &b)) return nullptr;
  DType x, y;
  if (!AsDType(a, &x) || !AsDType(b, &y))
    return PyErr_Format(PyExc_TypeError, "promote_types() takes two dtypes");
  return Py_NewRef(DTypeObject(Promote(x, y)));
}
PyObject* CanCastPy(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "OO:can_cast", &a, &b)) return nullptr;
  DType x, y;
  if (!AsDType(a, &x) || !AsDType(b, &y)) return PyErr_Format(PyExc_TypeError, "can_cast() takes two dtypes");
  return PyBool_FromLong(CanCast(x, y));
}

PyMethodDef module_functions[] = {
    {"get_default_dtype", GetDefaultDType, METH_NOARGS,
     "get_default_dtype()\n--\n\nThe dtype of new floating tensors."},
    {"set_default_dtype", SetDefaultDTypePy, METH_O,
     "set_default_dtype(d, /)\n--\n\nfloat32 or float64; TypeError otherwise."},
    {"promote_types", PromoteTypes, METH_VARARGS,
     "promote_types(a, b, /)\n--\n\nThe smallest dtype that holds both."},
    {"can_cast", CanCastPy, METH_VARARGS,
     "can_cast(from_, to, /)\n--\n\nWhether an in-place result of one dtype may be stored in the other."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* DTypeObject(DType dtype) { return dtype_objects[static_cast<size_t>(dtype)]; }

bool AsDType(PyObject* object, DType* out) {
  if (!Py_IS_TYPE(object, dtype_type)) return false;
  *out = DTypeOf(object);
  return true;
}

bool AsDTypeOrPythonType(PyObject* object, DType* out) {
  if (AsDType(object, out)) return true;
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
    *out = DType::kFloat64;
  } else if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) {
    *out = DType::kInt64;
  } else if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) {
    *out = DType::kBool;
  } else {
    return false;
  }
  return true;
}

PyObject* MakeSize(const Sizes& sizes) {
  PyObject* result = size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(sizes.size()));
  if (result == nullptr) return nullptr;
  for (size_t i = 0; i < sizes.size(); ++i) {
    PyObject* item = PyLong_FromLongLong(sizes[i]);
    if (item == nullptr) {
      Py_DECREF(result);
      return nullptr;
    }
    PyTuple_SET_ITEM(result, static_cast<Py_ssize_t>(i), item);
  }
  return result;
}

PyObject* DeviceObject(Device device) { return device == Device::kCpu ? cpu_device : webgpu_device; }

bool AsDevice(PyObject* object, Device* out) {
  if (object == Py_None) {
    *out = Device::kCpu;
    return true;
  }
  PyRef device = PyRef::Steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(device_type), object));
  if (!device) return false;
  *out = reinterpret_cast<DeviceObjectStruct*>(device.get())->device;
  return true;
}

bool InitDTypeObjects(PyObject* module) {
  dtype_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &dtype_spec, nullptr));
  size_type = reinterpret_cast<PyTypeObject*>(
      PyType_FromModuleAndSpec(module, &size_spec, reinterpret_cast<PyObject*>(&PyTuple_Type)));
  device_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &device_spec, nullptr));
  if (dtype_type == nullptr || size_type == nullptr || device_type == nullptr) return false;
  if (PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(dtype_type)) < 0 ||
      PyModule_AddObjectRef(module, "Size", reinterpret_cast<PyObject*>(size_type)) < 0 ||
      PyModule_AddObjectRef(module, "device", reinterpret_cast<PyObject*>(device_type)) < 0 ||
      PyModule_AddFunctions(module, module_functions) < 0) {
    return false;
  }
  PyRef module_name = PyRef::Steal(PyModule_GetNameObject(module));
  if (!module_name) return false;
  rebuild_dtype = PyCFunction_NewEx(&rebuild_def, nullptr, module_name.get());
  if (rebuild_dtype == nullptr || PyModule_AddObjectRef(module, "_rebuild_dtype", rebuild_dtype) < 0)
    return false;
  for (int i = 0; i < kNumDTypes; ++i) {
    auto* object = PyObject_New(DTypeObjectStruct, dtype_type);
    if (object == nullptr) return false;
    object->dtype = static_cast<DType>(i);
    dtype_objects[static_cast<size_t>(i)] = reinterpret_cast<PyObject*>(object);
    std::string name(DTypeName(object->dtype));
    if (PyModule_AddObjectRef(module, name.c_str(), reinterpret_cast<PyObject*>(object)) < 0) return false;
  }
  cpu_device = MakeDevice(Device::kCpu, -1);
  webgpu_device = MakeDevice(Device::kWebGpu, -1);
  return cpu_device != nullptr && webgpu_device != nullptr;
}

}  // namespace thirdbook
