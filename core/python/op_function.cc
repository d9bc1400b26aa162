// OpFunction: the Python callable that stands for a graph op, and what calling it does when nothing is
// traced.
//
//   ops.mul(x, 2)  ──BindOp──►  operands, attributes  ──Execute──►  outputs  ──►  wrapped │ written into x
//   (mul_) │ written into out
//
// In: real tensors, numbers, arrays. Out: new tensor objects, or the target. Invariant: an in-place call that
// fails has written nothing.
#include <structmember.h>

#include <algorithm>
#include <cstddef>

#include "python/random_state.h"
#include "python/tensor_internal.h"
#include "tensor/convert.h"
#include "tensor/kernels.h"

namespace thirdbook {

PyTypeObject* OpFunctionType = nullptr;
bool grad_enabled = true;

namespace {

PyObject* ops_module = nullptr;
PyObject* linalg_error = nullptr;  // torch.linalg.LinAlgError
PyObject* op_lookup = nullptr;     // _core._op_function, for pickles

// In-place forms that PyTorch has beside those of pointwise ops.
constexpr std::string_view kInPlaceOthers[] = {"tril",      "triu",    "cumsum",      "cumprod",  "index_put",
                                               "index_add", "scatter", "addmm",       "squeeze",  "unsqueeze",
                                               "transpose", "t",       "scatter_add", "bernoulli"};
constexpr std::string_view kNoInPlace[] = {"where", "to",       "clone",   "isnan",
                                           "isinf", "isfinite", "maximum", "minimum"};

// Ops that are no methods in PyTorch, or methods with another signature (written in Python).
constexpr std::string_view kNoMethod[] = {"input",
                                          "constant",
                                          "zeros",
                                          "ones",
                                          "empty",
                                          "full",
                                          "arange",
                                          "linspace",
                                          "eye",
                                          "rand",
                                          "randn",
                                          "uniform",
                                          "normal",
                                          "randint",
                                          "randperm",
                                          "where",
                                          "copy",
                                          "to",
                                          "max_dim",
                                          "min_dim",
                                          "var",
                                          "std",
                                          "norm",
                                          "layer_norm",
                                          "linear",
                                          "linalg_solve",
                                          "linalg_inv",
                                          "linalg_cholesky",
                                          "linalg_det",
                                          "alias",
                                          "slice",
                                          "cat",
                                          "stack",
                                          "constant_pad_nd",
                                          "index",
                                          "embedding",
                                          "one_hot",
                                          "sort",
                                          "topk",
                                          "nonzero",
                                          "unique",
                                          "conv1d",
                                          "conv2d",
                                          "max_pool2d",
                                          "avg_pool2d",
                                          "adaptive_avg_pool2d",
                                          "upsample_nearest2d",
                                          "upsample_bilinear2d",
                                          "bernoulli_"};

template <size_t N>
bool Contains(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

OpFunctionObject* Self(PyObject* self) { return reinterpret_cast<OpFunctionObject*>(self); }

PyObject* OpVectorcall(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return CallOpEagerly(Self(callable), args, PyVectorcall_NARGS(nargsf), kwnames);
}

PyObject* MakeOpFunction(const OpInfo& info, std::string name, bool inplace) {
  PyObject* text = PyUnicode_InternFromString(name.c_str());
  if (text == nullptr) return nullptr;
  auto* self = PyObject_New(OpFunctionObject, OpFunctionType);
  if (self == nullptr) {
    Py_DECREF(text);
    return nullptr;
  }
  self->vectorcall = OpVectorcall;
  self->info = &info;
  self->inplace = inplace;
  self->reflected = false;
  self->name = text;
  return reinterpret_cast<PyObject*>(self);
}

void OpDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(Self(self)->name);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* OpRepr(PyObject* self) { return PyUnicode_FromFormat("<op %U>", Self(self)->name); }

PyObject* OpGet(PyObject* self, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

PyObject* OpGetName(PyObject* self, void*) { return Py_NewRef(Self(self)->name); }
PyObject* OpGetDoc(PyObject* self, void*) {
  std::string_view schema = Self(self)->info->schema;
  return PyUnicode_FromStringAndSize(schema.data(), static_cast<Py_ssize_t>(schema.size()));
}
PyObject* OpGetModule(PyObject*, void*) { return PyUnicode_FromString("thirdbook._core.ops"); }
PyObject* OpReduce(PyObject* self, PyObject*) { return Py_BuildValue("O(O)", op_lookup, Self(self)->name); }

PyObject* OpLookup(PyObject*, PyObject* name) { return PyObject_GetAttr(ops_module, name); }

PyGetSetDef op_getset[] = {
    {"__name__", OpGetName, nullptr, nullptr, nullptr},
    {"__qualname__", OpGetName, nullptr, nullptr, nullptr},
    {"__module__", OpGetModule, nullptr, nullptr, nullptr},
    {"__doc__", OpGetDoc, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef op_methods[] = {
    {"__reduce__", OpReduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMemberDef op_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(OpFunctionObject, vectorcall), Py_READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyType_Slot op_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(OpDealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(OpRepr)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(OpGet)},
    {Py_tp_getset, op_getset},
    {Py_tp_methods, op_methods},
    {Py_tp_members, op_members},
    {0, nullptr},
};
PyType_Spec op_spec = {"thirdbook.OpFunction", sizeof(OpFunctionObject), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                           Py_TPFLAGS_DISALLOW_INSTANTIATION,
                       op_slots};
PyMethodDef lookup_def = {"_op_function", OpLookup, METH_O, nullptr};

}  // namespace

const Attrs& DefaultAttrs(Op op) {
  static std::vector<Attrs>* all = [] {
    auto* made = new std::vector<Attrs>(static_cast<size_t>(Op::kCount));
    for (size_t i = 0; i < made->size(); ++i) {
      for (const Parameter& p : Info(static_cast<Op>(i)).parameters) {
        if (!p.is_operand()) (*made)[i].push_back(p.default_value);
      }
    }
    return made;
  }();
  return (*all)[static_cast<size_t>(op)];
}

PyObject* RaiseStatus(const Status& status) {
  PyObject* kind = PyExc_RuntimeError;
  if (status.message().compare(0, 7, "linalg.") == 0 &&
      status.message().find("could not be completed") != std::string::npos) {
    kind = linalg_error;
  }
  switch (status.kind()) {
    case ErrorKind::kType: kind = PyExc_TypeError; break;
    case ErrorKind::kValue: kind = PyExc_ValueError; break;
    case ErrorKind::kIndex: kind = PyExc_IndexError; break;
    case ErrorKind::kNotImplemented: kind = PyExc_NotImplementedError; break;
    case ErrorKind::kMemory: kind = PyExc_MemoryError; break;
    case ErrorKind::kRuntime:
    case ErrorKind::kOk: break;
  }
  PyErr_SetString(kind, status.message().c_str());
  return nullptr;
}

bool EagerResolver::Resolve(PyObject* object, OperandHandle* handle) {
  if (IsTensor(object)) {
    tensors.push_back(AsTensor(object));
  } else if (IsArray(object)) {
    Tensor tensor;
    if (!TensorFromBuffer(object, &tensor)) return false;
    tensors.push_back(std::move(tensor));
  } else {
    return false;
  }
  *handle = static_cast<OperandHandle>(tensors.size() - 1);
  return true;
}

OperandHandle EagerResolver::WeakConstant(PyObject* number) {
  Tensor tensor;
  if (!WeakFromNumber(number, &tensor)) return -1;
  return Constant(std::move(tensor));
}

OperandHandle EagerResolver::Constant(Tensor tensor) {
  tensors.push_back(std::move(tensor));
  return static_cast<OperandHandle>(tensors.size() - 1);
}

PyObject* WrapOutputs(std::vector<Tensor> outputs) {
  if (outputs.size() == 1) return WrapTensor(std::move(outputs[0]));
  PyRef result = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(outputs.size())));
  if (!result) return nullptr;
  for (size_t i = 0; i < outputs.size(); ++i) {
    PyObject* item = WrapTensor(std::move(outputs[i]));
    if (item == nullptr) return nullptr;
    PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), item);
  }
  return result.release();
}

PyObject* CallOpEagerly(const OpFunctionObject* function, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) {
  // view(dtype), beside view(*size)
  DType dtype;
  const Py_ssize_t words = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  if (function->info->op == Op::k_view && nargs + words == 2 && IsTensor(args[0]) &&
      AsDType(args[1], &dtype) &&
      (words == 0 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "dtype") == 0)) {
    const Result<Tensor> seen = ViewAs(AsTensor(args[0]), dtype);
    return seen.ok() ? WrapTensor(*seen) : RaiseStatus(seen.status());
  }
  EagerResolver resolver;
  resolver.tensors.reserve(4);
  BoundCall call;
  if (!BindOp(function, args, nargs, kwnames, resolver, &call)) return nullptr;
  // `out` is resolved among the keywords, before the operands are in order; take it away from them again.
  PyObject* out_object = nullptr;
  if (call.out >= 0) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) {
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, k), "out") == 0)
        out_object = args[nargs + k];
    }
    if (out_object == nullptr || !IsTensor(out_object)) {
      return PyErr_Format(PyExc_TypeError, "%U(): argument 'out' must be Tensor", function->name);
    }
  }
  // What is contiguous already is its own contiguous().
  if (function->info->op == Op::k_contiguous && nargs == 1 && kwnames == nullptr && IsTensor(args[0]) &&
      AsTensor(args[0]).meta().IsContiguous()) {
    return Py_NewRef(args[0]);
  }
  PyObject* target = function->inplace && nargs > 0 ? args[0] : nullptr;
  if (function->inplace && (target == nullptr || !IsTensor(target))) {
    return PyErr_Format(PyExc_TypeError, "%U(): argument 'input' (position 1) must be Tensor",
                        function->name);
  }
  std::vector<Tensor> operands;
  bool in_order = call.operands.size() == resolver.tensors.size();
  for (size_t i = 0; in_order && i < call.operands.size(); ++i)
    in_order = call.operands[i] == static_cast<OperandHandle>(i);
  if (in_order) {
    operands = std::move(resolver.tensors);
  } else {
    operands.reserve(call.operands.size());
    for (OperandHandle handle : call.operands) {
      operands.push_back(handle < 0 ? Tensor() : resolver.tensors[static_cast<size_t>(handle)]);
    }
  }
  if (target != nullptr && function->info->op_class != OpClass::kView &&
      !CheckOverlap(operands[0], operands)) {
    return nullptr;
  }
  if (target != nullptr && call.op == Op::k_copy) {
    if (!CheckWritable(target)) return nullptr;
    Status status = CopyInto(operands[0], operands[1]);
    return status.ok() ? Py_NewRef(target) : RaiseStatus(status);
  }
  GeneratorScope scope(call.generator);
  if (!scope.ok()) return nullptr;
  auto outputs = OnDevice(Execute(call.op, operands, call.attrs), call.device);
  if (!scope.Leave()) return nullptr;
  if (!outputs.ok()) return RaiseStatus(outputs.status());
  if (target != nullptr) {
    if (function->info->op_class == OpClass::kView) {
      reinterpret_cast<TensorObject*>(target)->tensor = std::move((*outputs)[0]);
      return Py_NewRef(target);
    }
    return WriteInPlace(target, (*outputs)[0]) ? Py_NewRef(target) : nullptr;
  }
  if (out_object != nullptr) {
    if (outputs->size() != 1)
      return PyErr_Format(PyExc_TypeError, "%U(): out= takes no tuple here", function->name);
    bool exact =
        function->info->op_class != OpClass::kPointwise && function->info->op_class != OpClass::kReduction;
    const Tensor& made = (*outputs)[0];
    if (exact && AsTensor(out_object).dtype() != made.dtype()) {
      return PyErr_Format(PyExc_RuntimeError, "Expected out tensor to have dtype %s, but got %s instead",
                          std::string(DTypeName(made.dtype())).c_str(),
                          std::string(DTypeName(AsTensor(out_object).dtype())).c_str());
    }
    if (!CheckOverlap(AsTensor(out_object), operands)) return nullptr;
    return WriteOut(out_object, (*outputs)[0]) ? Py_NewRef(out_object) : nullptr;
  }
  PyObject* result = WrapOutputs(std::move(*outputs));
  if (result != nullptr && call.requires_grad) {
    if (!IsFloating(AsTensor(result).dtype())) {
      Py_DECREF(result);
      return PyErr_Format(PyExc_RuntimeError, "only Tensors of floating point dtype can require gradients");
    }
    reinterpret_cast<TensorObject*>(result)->requires_grad = true;
  }
  return result;
}

OpFunctionObject* FindOpFunction(std::string_view name) {
  PyRef key = PyRef::Steal(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
  PyObject* found = key ? PyDict_GetItemWithError(PyModule_GetDict(ops_module), key.get()) : nullptr;
  return found != nullptr && IsOpFunction(found) ? Self(found) : nullptr;
}

bool AddOpMethods(PyTypeObject* type) {
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(PyModule_GetDict(ops_module), &position, &key, &value)) {
    if (!IsOpFunction(value)) continue;
    const char* name = PyUnicode_AsUTF8(key);
    if (name == nullptr) return false;
    if (Contains(kNoMethod, name)) continue;
    if (PyObject_SetAttr(reinterpret_cast<PyObject*>(type), key, value) < 0) return false;
  }
  return true;
}

bool InitOpFunctions(PyObject* module) {
  OpFunctionType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &op_spec, nullptr));
  if (OpFunctionType == nullptr ||
      PyModule_AddObjectRef(module, "OpFunction", reinterpret_cast<PyObject*>(OpFunctionType)) < 0) {
    return false;
  }
  PyRef module_name = PyRef::Steal(PyModule_GetNameObject(module));
  linalg_error = PyErr_NewException("thirdbook._LinAlgError", PyExc_RuntimeError, nullptr);
  if (linalg_error == nullptr || PyModule_AddObjectRef(module, "_LinAlgError", linalg_error) < 0)
    return false;
  ops_module = PyModule_New("thirdbook._core.ops");
  op_lookup = module_name ? PyCFunction_NewEx(&lookup_def, nullptr, module_name.get()) : nullptr;
  if (ops_module == nullptr || op_lookup == nullptr || PyModule_AddObjectRef(module, "ops", ops_module) < 0 ||
      PyModule_AddObjectRef(module, "_op_function", op_lookup) < 0) {
    return false;
  }
  for (size_t i = 0; i < static_cast<size_t>(Op::kCount); ++i) {
    const OpInfo& info = Info(static_cast<Op>(i));
    if (info.op == Op::k_input || info.op == Op::k_constant) continue;
    std::string name(info.name);
    PyRef plain = PyRef::Steal(MakeOpFunction(info, name, false));
    if (!plain || PyModule_AddObjectRef(ops_module, name.c_str(), plain.get()) < 0) return false;
    bool has_inplace = info.op_class == OpClass::kPointwise ? !Contains(kNoInPlace, info.name)
                                                            : Contains(kInPlaceOthers, info.name);
    if (!has_inplace) continue;
    name += '_';
    PyRef inplace = PyRef::Steal(MakeOpFunction(info, name, true));
    if (!inplace || PyModule_AddObjectRef(ops_module, name.c_str(), inplace.get()) < 0) return false;
  }
  return true;
}

}  // namespace thirdbook
