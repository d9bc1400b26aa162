// The type thirdbook.Tensor: life of its instances, number protocol, comparisons, iteration.
//
// In: Python operators on tensors, numbers and arrays. Out: new tensors, or NotImplemented where the other
// operand is none of these. Invariant: an instance owns exactly one core Tensor; its memory is shared by
// views and freed with the last of them. Properties and methods: tensor_members.cc; what needs no C (and is
// inlined by the tracer) is in the Python package.
#include "python/tensor_object.h"

#include <structmember.h>

#include <cstddef>
#include <new>

#include "python/array_adapter.h"
#include "python/random_state.h"
#include "python/tensor_internal.h"
#include "tensor/kernels.h"

namespace thirdbook {

PyTypeObject* TensorType = nullptr;

namespace {

TensorObject* Self(PyObject* self) { return reinterpret_cast<TensorObject*>(self); }

PyObject* Allocate(PyTypeObject* type, Tensor tensor) {
  PyObject* object = type->tp_alloc(type, 0);
  if (object == nullptr) return nullptr;
  new (&Self(object)->tensor) Tensor(std::move(tensor));
  return object;
}

PyObject* TensorNew(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (kwargs != nullptr && PyDict_GET_SIZE(kwargs) != 0) {
    Device device;
    PyObject* given = PyDict_GetItemString(kwargs, "device");
    if (given == nullptr || PyDict_GET_SIZE(kwargs) != 1)
      return PyErr_Format(PyExc_TypeError, "Tensor() takes no keyword arguments");
    if (!AsDevice(given, &device)) return nullptr;
  }
  Py_ssize_t count = PyTuple_GET_SIZE(args);
  PyObject* first = count > 0 ? PyTuple_GET_ITEM(args, 0) : nullptr;
  Tensor tensor;
  int64_t unused;
  if (count == 1 && IsTensor(first)) {
    tensor = AsTensor(first);
  } else if (count == 1 && !AsInt(first, &unused)) {
    if (PyErr_Occurred()) return nullptr;
    if (!PySequence_Check(first) || PyUnicode_Check(first)) {
      return PyErr_Format(PyExc_TypeError, "new(): data must be a sequence (got %s)",
                          Py_TYPE(first)->tp_name);
    }
    Sizes sizes;
    if (PyTuple_Check(first) && Py_TYPE(first) != &PyTuple_Type && AsSizes(first, &sizes)) {  // a Size
      auto made = Tensor::Empty(DefaultDType(), sizes);
      if (!made.ok()) return RaiseStatus(made.status());
      tensor = std::move(*made);
    } else if (!TensorFromData(first, DefaultDType(), &tensor)) {
      return nullptr;
    }
  } else {
    Sizes sizes = {0};
    if (count > 0 && !AsSizes(args, &sizes)) {
      if (PyErr_Occurred()) return nullptr;
      return PyErr_Format(PyExc_TypeError, "new() received an invalid combination of arguments");
    }
    auto made = Tensor::Empty(DefaultDType(), sizes);
    if (!made.ok()) return RaiseStatus(made.status());
    tensor = std::move(*made);
  }
  return Allocate(type, std::move(tensor));
}

int TensorTraverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(Self(self)->grad);
  Py_VISIT(Self(self)->dict);
  return 0;
}

int TensorClear(PyObject* self) {
  Py_CLEAR(Self(self)->grad);
  Py_CLEAR(Self(self)->dict);
  return 0;
}

void TensorDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (Self(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  TensorClear(self);
  Self(self)->tensor.~Tensor();
  type->tp_free(self);
  Py_DECREF(type);
}

// ---- operators

// Takes one operand of an operator; false without an exception when it is none of ours.
bool Operand(PyObject* object, std::vector<Tensor>* operands) {
  if (IsTensor(object)) {
    operands->push_back(AsTensor(object));
    return true;
  }
  Tensor tensor;
  if (IsNumber(object)) {
    if (!WeakFromNumber(object, &tensor)) return false;
  } else if (!IsArray(object) || !TensorFromBuffer(object, &tensor)) {
    return false;
  }
  operands->push_back(std::move(tensor));
  return true;
}

PyObject* NotImplementedOrError() {
  if (PyErr_Occurred()) return nullptr;
  Py_RETURN_NOTIMPLEMENTED;
}

template <Op op>
constexpr bool kHasFastWay =
    op == Op::k_add || op == Op::k_sub || op == Op::k_mul || op == Op::k_div || op == Op::k_eq ||
    op == Op::k_ne || op == Op::k_lt || op == Op::k_le || op == Op::k_gt || op == Op::k_ge;

template <Op op>
PyObject* Binary(PyObject* a, PyObject* b) {
  if constexpr (kHasFastWay<op>) {
    Tensor result;
    if (TryFastBinary(op, a, b, false, &result)) return WrapTensor(std::move(result));
  }
  std::vector<Tensor> operands;
  operands.reserve(2);
  if (!Operand(a, &operands) || !Operand(b, &operands)) return NotImplementedOrError();
  auto result = Execute(op, operands, DefaultAttrs(op));
  if (!result.ok()) return RaiseStatus(result.status());
  return WrapTensor(std::move((*result)[0]));
}

PyObject* Matmul(PyObject* a, PyObject* b) {
  if (IsNumber(a) || IsNumber(b)) Py_RETURN_NOTIMPLEMENTED;
  return Binary<Op::k_matmul>(a, b);
}

PyObject* Power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return Binary<Op::k_pow>(a, b);
}

template <Op op>
PyObject* InPlace(PyObject* a, PyObject* b) {
  if constexpr (kHasFastWay<op>) {
    if (IsTensor(a)) {
      if (!CheckWritable(a)) return nullptr;
      if (TryFastBinary(op, a, b, true, nullptr)) return Py_NewRef(a);
    }
  }
  std::vector<Tensor> operands;
  operands.reserve(2);
  if (!IsTensor(a) || !Operand(a, &operands) || !Operand(b, &operands)) return NotImplementedOrError();
  if (!CheckOverlap(operands[0], operands)) return nullptr;
  auto result = Execute(op, operands, DefaultAttrs(op));
  if (!result.ok()) return RaiseStatus(result.status());
  return WriteInPlace(a, (*result)[0]) ? Py_NewRef(a) : nullptr;
}

PyObject* InPlacePower(PyObject* a, PyObject* b, PyObject*) { return InPlace<Op::k_pow>(a, b); }

template <Op op>
PyObject* Unary(PyObject* a) {
  auto result = Execute(op, {AsTensor(a)}, DefaultAttrs(op));
  if (!result.ok()) return RaiseStatus(result.status());
  return WrapTensor(std::move((*result)[0]));
}

PyObject* Invert(PyObject* a) {
  if (IsFloating(AsTensor(a).dtype())) {
    return PyErr_Format(PyExc_TypeError,
                        "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
  }
  return Unary<Op::k_bitwise_not>(a);
}

PyObject* Positive(PyObject* a) {
  if (AsTensor(a).dtype() == DType::kBool) {
    return PyErr_Format(PyExc_RuntimeError, "The `+` operator, on a bool tensor is not supported.");
  }
  return Py_NewRef(a);
}

PyObject* Compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_LT: return Binary<Op::k_lt>(a, b);
    case Py_LE: return Binary<Op::k_le>(a, b);
    case Py_EQ: return Binary<Op::k_eq>(a, b);
    case Py_NE: return Binary<Op::k_ne>(a, b);
    case Py_GT: return Binary<Op::k_gt>(a, b);
    case Py_GE: return Binary<Op::k_ge>(a, b);
  }
  Py_RETURN_NOTIMPLEMENTED;
}

// ---- conversions

int TensorBool(PyObject* self) {
  const Tensor& tensor = AsTensor(self);
  int64_t count = tensor.meta().numel();
  if (count != 1) {
    PyErr_SetString(PyExc_RuntimeError,
                    count == 0 ? "Boolean value of Tensor with no values is ambiguous"
                               : "Boolean value of Tensor with more than one value is ambiguous");
    return -1;
  }
  PyRef item = PyRef::Steal(ItemOf(tensor));
  return item ? PyObject_IsTrue(item.get()) : -1;
}

PyObject* OnlyElement(PyObject* self) {
  const Tensor& tensor = AsTensor(self);
  if (tensor.meta().numel() == 1) return ItemOf(tensor);
  return PyErr_Format(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
}
PyObject* TensorInt(PyObject* self) {
  PyRef item = PyRef::Steal(OnlyElement(self));
  return item ? PyNumber_Long(item.get()) : nullptr;
}
PyObject* TensorFloat(PyObject* self) {
  PyRef item = PyRef::Steal(OnlyElement(self));
  return item ? PyNumber_Float(item.get()) : nullptr;
}
PyObject* TensorIndex(PyObject* self) {
  const Tensor& tensor = AsTensor(self);
  if (tensor.meta().numel() != 1 || IsFloating(tensor.dtype())) {
    return PyErr_Format(PyExc_TypeError,
                        "only integer tensors of a single element can be converted to an index");
  }
  PyRef item = PyRef::Steal(ItemOf(tensor));
  return item ? PyNumber_Index(item.get()) : nullptr;
}

Py_hash_t TensorHash(PyObject* self) {
  auto hash = static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self));  // id(self), as in PyTorch
  return hash == -1 ? -2 : hash;
}

// ---- container protocol

Py_ssize_t TensorLength(PyObject* self) {
  const Tensor& tensor = AsTensor(self);
  if (tensor.meta().rank() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return static_cast<Py_ssize_t>(tensor.sizes()[0]);
}

PyObject* TensorIter(PyObject* self) {
  if (AsTensor(self).meta().rank() == 0) return PyErr_Format(PyExc_TypeError, "iteration over a 0-d tensor");
  Py_ssize_t length = TensorLength(self);
  PyRef rows = PyRef::Steal(PyTuple_New(length));
  if (!rows) return nullptr;
  for (Py_ssize_t i = 0; i < length; ++i) {
    TensorMeta meta = AsTensor(self).meta();
    meta.offset += i * meta.strides[0];
    meta.sizes.erase(meta.sizes.begin());
    meta.strides.erase(meta.strides.begin());
    PyObject* row = WrapTensor(AsTensor(self).WithMeta(std::move(meta)));
    if (row == nullptr) return nullptr;
    PyTuple_SET_ITEM(rows.get(), i, row);
  }
  return PyObject_GetIter(rows.get());
}

int TensorContains(PyObject* self, PyObject* element) {
  if (!IsTensor(element) && !IsNumber(element)) {
    PyErr_Format(PyExc_RuntimeError,
                 "Tensor.__contains__ only supports Tensor or scalar, but you passed in a %R.",
                 Py_TYPE(element));
    return -1;
  }
  PyRef equal = PyRef::Steal(Binary<Op::k_eq>(self, element));
  if (!equal) return -1;
  auto any = Execute(Op::k_any, {AsTensor(equal.get())}, DefaultAttrs(Op::k_any));
  if (!any.ok()) {
    RaiseStatus(any.status());
    return -1;
  }
  return *(*any)[0].data<bool>() ? 1 : 0;
}

PyMemberDef tensor_members[] = {
    {"__dictoffset__", Py_T_PYSSIZET, offsetof(TensorObject, dict), Py_READONLY, nullptr},
    {"__weaklistoffset__", Py_T_PYSSIZET, offsetof(TensorObject, weakrefs), Py_READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

#define TB_SLOT(id, function) {id, reinterpret_cast<void*>(function)}
PyType_Slot tensor_slots[] = {
    TB_SLOT(Py_tp_new, TensorNew),
    TB_SLOT(Py_tp_dealloc, TensorDealloc),
    TB_SLOT(Py_tp_traverse, TensorTraverse),
    TB_SLOT(Py_tp_clear, TensorClear),
    TB_SLOT(Py_tp_hash, TensorHash),
    TB_SLOT(Py_tp_richcompare, Compare),
    TB_SLOT(Py_tp_iter, TensorIter),
    {Py_tp_members, tensor_members},
    {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_getset},
    {Py_tp_doc, const_cast<char*>("A strided array of one dtype; see torch.Tensor.")},
    TB_SLOT(Py_nb_add, Binary<Op::k_add>),
    TB_SLOT(Py_nb_subtract, Binary<Op::k_sub>),
    TB_SLOT(Py_nb_multiply, Binary<Op::k_mul>),
    TB_SLOT(Py_nb_true_divide, Binary<Op::k_div>),
    TB_SLOT(Py_nb_floor_divide, Binary<Op::k_floor_divide>),
    TB_SLOT(Py_nb_remainder, Binary<Op::k_remainder>),
    TB_SLOT(Py_nb_power, Power),
    TB_SLOT(Py_nb_matrix_multiply, Matmul),
    TB_SLOT(Py_nb_and, Binary<Op::k_bitwise_and>),
    TB_SLOT(Py_nb_or, Binary<Op::k_bitwise_or>),
    TB_SLOT(Py_nb_xor, Binary<Op::k_bitwise_xor>),
    TB_SLOT(Py_nb_lshift, Binary<Op::k_bitwise_left_shift>),
    TB_SLOT(Py_nb_rshift, Binary<Op::k_bitwise_right_shift>),
    TB_SLOT(Py_nb_inplace_add, InPlace<Op::k_add>),
    TB_SLOT(Py_nb_inplace_subtract, InPlace<Op::k_sub>),
    TB_SLOT(Py_nb_inplace_multiply, InPlace<Op::k_mul>),
    TB_SLOT(Py_nb_inplace_true_divide, InPlace<Op::k_div>),
    TB_SLOT(Py_nb_inplace_floor_divide, InPlace<Op::k_floor_divide>),
    TB_SLOT(Py_nb_inplace_remainder, InPlace<Op::k_remainder>),
    TB_SLOT(Py_nb_inplace_power, InPlacePower),
    TB_SLOT(Py_nb_inplace_and, InPlace<Op::k_bitwise_and>),
    TB_SLOT(Py_nb_inplace_or, InPlace<Op::k_bitwise_or>),
    TB_SLOT(Py_nb_inplace_xor, InPlace<Op::k_bitwise_xor>),
    TB_SLOT(Py_nb_inplace_lshift, InPlace<Op::k_bitwise_left_shift>),
    TB_SLOT(Py_nb_inplace_rshift, InPlace<Op::k_bitwise_right_shift>),
    TB_SLOT(Py_nb_negative, Unary<Op::k_neg>),
    TB_SLOT(Py_nb_invert, Invert),
    TB_SLOT(Py_nb_absolute, Unary<Op::k_abs>),
    TB_SLOT(Py_nb_positive, Positive),
    TB_SLOT(Py_nb_bool, TensorBool),
    TB_SLOT(Py_nb_int, TensorInt),
    TB_SLOT(Py_nb_float, TensorFloat),
    TB_SLOT(Py_nb_index, TensorIndex),
    TB_SLOT(Py_mp_length, TensorLength),
    TB_SLOT(Py_mp_subscript, TensorGetItem),
    TB_SLOT(Py_mp_ass_subscript, TensorSetItem),
    TB_SLOT(Py_sq_contains, TensorContains),
    {Py_bf_getbuffer, nullptr},  // filled in from buffer.cc
    {Py_bf_releasebuffer, nullptr},
    {0, nullptr},
};
#undef TB_SLOT

PyType_Spec tensor_spec = {"thirdbook.Tensor", sizeof(TensorObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, tensor_slots};

// Tensor._make_subclass(cls, data, require_grad=False): an instance of cls that shares data's memory.
PyObject* MakeSubclass(PyObject*, PyObject* args) {
  PyObject *cls, *data;
  int requires_grad = 0;
  if (!PyArg_ParseTuple(args, "OO!|p:_make_subclass", &cls, TensorType, &data, &requires_grad))
    return nullptr;
  if (!PyType_Check(cls) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), TensorType)) {
    return PyErr_Format(PyExc_TypeError, "_make_subclass(): %R is not a subclass of Tensor", cls);
  }
  if (requires_grad && !IsFloating(AsTensor(data).dtype())) {
    return PyErr_Format(PyExc_RuntimeError,
                        "Only Tensors of floating point and complex dtype can require gradients");
  }
  PyObject* made = Allocate(reinterpret_cast<PyTypeObject*>(cls), AsTensor(data));
  if (made != nullptr) Self(made)->requires_grad = requires_grad != 0;
  return made;
}

PyObject* SetGradEnabled(PyObject*, PyObject* value) {
  int truth = PyObject_IsTrue(value);
  if (truth < 0) return nullptr;
  grad_enabled = truth == 1;
  Py_RETURN_NONE;
}
PyObject* IsGradEnabled(PyObject*, PyObject*) { return PyBool_FromLong(grad_enabled); }

PyMethodDef module_functions[] = {
    {"_make_subclass", MakeSubclass, METH_VARARGS, nullptr},
    {"_set_grad_enabled", SetGradEnabled, METH_O, nullptr},
    {"is_grad_enabled", IsGradEnabled, METH_NOARGS,
     "is_grad_enabled()\n--\n\nWhether gradients would be recorded."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* WrapTensor(Tensor tensor) { return Allocate(TensorType, std::move(tensor)); }

bool InitTensorTypes(PyObject* module) {
  for (PyType_Slot& slot : tensor_slots) {
    if (slot.slot == Py_bf_getbuffer) slot.pfunc = buffer_slots[0].pfunc;
    if (slot.slot == Py_bf_releasebuffer) slot.pfunc = buffer_slots[1].pfunc;
  }
  if (!InitDTypeObjects(module) || !InitOpFunctions(module)) return false;
  TensorType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &tensor_spec, nullptr));
  if (TensorType == nullptr) return false;
  TensorType->tp_name = "Tensor";  // error texts say 'Tensor', as PyTorch's do
  return PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(TensorType)) == 0 &&
         PyModule_AddFunctions(module, module_functions) == 0 && AddOpMethods(TensorType) &&
         InitTensorData(module) && InitBuffer(module) && InitRandomState(module) && InitArrayAdapters(module);
}

}  // namespace thirdbook
