// Writing results into tensors that exist: `x += y`, `mul_`, `out=`, and what forbids it.
//
// In: a target object and a result that is complete. Out: the target's memory changed, or an exception and
// nothing changed. Invariant: dtype category, sizes, leaf and memory checks come before the first byte is
// written.
#include <algorithm>
#include <utility>

#include "graph/shape.h"
#include "python/tensor_internal.h"
#include "tensor/kernels.h"

namespace thirdbook {
namespace {

// Whether the elements fill a range of memory without gaps or repetition, in some order of dimensions.
bool IsDense(const TensorMeta& meta) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    if (meta.sizes[i] != 1) dims.emplace_back(meta.strides[i], meta.sizes[i]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t expected = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

// Some but not all memory in common, as far as that is plain to see (both dense).
bool PartlyOverlaps(const Tensor& a, const Tensor& b) {
  if (a.storage() != b.storage() || a.meta().numel() == 0 || b.meta().numel() == 0) return false;
  if (!IsDense(a.meta()) || !IsDense(b.meta())) return false;
  const int64_t a_begin = a.meta().offset * ItemSize(a.dtype()),
                b_begin = b.meta().offset * ItemSize(b.dtype());
  const int64_t a_end = a_begin + a.meta().numel() * ItemSize(a.dtype());
  const int64_t b_end = b_begin + b.meta().numel() * ItemSize(b.dtype());
  if (a_begin == b_begin && a_end == b_end) return a.meta().strides != b.meta().strides;
  return a_begin < b_end && b_begin < a_end;
}

}  // namespace

bool CheckOverlap(const Tensor& target, const std::vector<Tensor>& operands) {
  if (RepeatsElements(target.meta())) {
    PyErr_SetString(PyExc_RuntimeError,
                    "unsupported operation: more than one element of the written-to tensor refers to a "
                    "single memory location. "
                    "Please clone() the tensor before performing the operation.");
    return false;
  }
  for (const Tensor& operand : operands) {
    if (!operand.defined() || !PartlyOverlaps(target, operand)) continue;
    PyErr_SetString(PyExc_RuntimeError,
                    "unsupported operation: some elements of the input tensor and the written-to tensor "
                    "refer to a single memory "
                    "location. Please clone() the tensor before performing the operation.");
    return false;
  }
  return true;
}

bool WriteOut(PyObject* target, const Tensor& result) {
  if (!CheckWritable(target)) return false;
  Tensor& tensor = reinterpret_cast<TensorObject*>(target)->tensor;
  if (!CanCast(result.dtype(), tensor.dtype())) {
    PyErr_Format(PyExc_RuntimeError, "result type %s can't be cast to the desired output type %s",
                 std::string(DTypeScalarName(result.dtype())).c_str(),
                 std::string(DTypeScalarName(tensor.dtype())).c_str());
    return false;
  }
  if (tensor.sizes() != result.sizes()) {
    auto fresh = Tensor::Empty(tensor.dtype(), result.sizes());
    if (!fresh.ok()) return RaiseStatus(fresh.status()) != nullptr;
    tensor = std::move(*fresh);
  }
  Status status = CopyInto(tensor, result);
  return status.ok() || RaiseStatus(status) != nullptr;
}

bool CheckWritable(PyObject* target) {
  if (!grad_enabled || !reinterpret_cast<TensorObject*>(target)->requires_grad) return true;
  PyErr_SetString(PyExc_RuntimeError,
                  "a leaf Variable that requires grad is being used in an in-place operation.");
  return false;
}

bool WriteInPlace(PyObject* target, const Tensor& result) {
  if (!CheckWritable(target)) return false;
  const Tensor& tensor = AsTensor(target);
  Status status = CheckInPlace(tensor.meta(), result.meta());
  if (status.ok()) status = CopyInto(tensor, result);
  return status.ok() || RaiseStatus(status) != nullptr;
}

}  // namespace thirdbook
