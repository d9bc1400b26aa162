// The short way of an operator: same dtype and sizes, everything contiguous, or a Python number beside a
// tensor.
//
// In: the two operands of + - * / or a comparison. Out: the result, computed by the same inner loop as
// Execute's, without the checks that cannot fail here. Invariant: what it gives is what Execute gives; where
// it does not apply it says so and nothing has happened.
#include "python/tensor_internal.h"
#include "tensor/pointwise.h"

namespace thirdbook {
namespace {

bool IsComparison(Op op) {
  return op == Op::k_eq || op == Op::k_ne || op == Op::k_lt || op == Op::k_le || op == Op::k_gt ||
         op == Op::k_ge;
}

// A Python number in the dtype of the tensor beside it; false where promotion would change the dtype.
bool NumberAs(PyObject* number, DType dtype, char* at) {
  if (PyFloat_CheckExact(number)) {
    double value = PyFloat_AS_DOUBLE(number);
    if (dtype == DType::kFloat32) {
      *reinterpret_cast<float*>(at) = static_cast<float>(value);
    } else if (dtype == DType::kFloat64) {
      *reinterpret_cast<double*>(at) = value;
    } else {
      return false;
    }
    return true;
  }
  if (!PyLong_CheckExact(number)) return false;
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow != 0) return false;
  switch (dtype) {
    case DType::kInt64: *reinterpret_cast<int64_t*>(at) = value; return true;
    case DType::kFloat32: *reinterpret_cast<float*>(at) = static_cast<float>(value); return true;
    case DType::kFloat64: *reinterpret_cast<double*>(at) = static_cast<double>(value); return true;
    default: return false;
  }
}

}  // namespace

bool TryFastBinary(Op op, PyObject* a, PyObject* b, bool in_place, Tensor* out) {
  PyObject* with_shape = IsTensor(a) ? a : b;
  if (!IsTensor(with_shape)) return false;
  const Tensor& shaped = AsTensor(with_shape);
  const TensorMeta& meta = shaped.meta();
  DType dtype = meta.dtype;
  if (!IsFloating(dtype) && (dtype != DType::kInt64 || op == Op::k_div)) return false;
  if (!meta.IsContiguous()) return false;
  int64_t item = ItemSize(dtype);
  alignas(8) char number[8];
  char* addresses[3];
  int64_t strides[3];
  PyObject* sides[2] = {a, b};
  for (size_t i = 0; i < 2; ++i) {
    if (!IsTensor(sides[i])) {
      if (!NumberAs(sides[i], dtype, number)) return false;
      addresses[i + 1] = number;
      strides[i + 1] = 0;
      continue;
    }
    const Tensor& tensor = AsTensor(sides[i]);
    if (tensor.dtype() != dtype || tensor.sizes() != meta.sizes || !tensor.meta().IsContiguous())
      return false;
    bool shifted = tensor.storage() == shaped.storage() && tensor.meta().offset != meta.offset;
    if (in_place && shifted) return false;
    if (tensor.storage()->device_id() >= 0 || tensor.meta().device != Device::kCpu) return false;
    addresses[i + 1] = tensor.data<char>();
    strides[i + 1] = item;
  }
  PointwiseLoop loop = FindBinaryLoop(op, dtype);
  if (loop == nullptr) return false;
  LoopState state;
  if (in_place) {
    addresses[0] = addresses[1];
    strides[0] = item;
  } else {
    DType result_dtype = IsComparison(op) ? DType::kBool : dtype;
    auto made = Tensor::Empty(result_dtype, meta.sizes);
    if (!made.ok()) return false;
    *out = std::move(*made);
    addresses[0] = out->data<char>();
    strides[0] = ItemSize(result_dtype);
  }
  loop(addresses, strides, meta.numel(), &state);
  return true;
}

}  // namespace thirdbook
