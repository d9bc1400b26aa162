// Execution by family of op; internal to the tensor library. Callers use Execute (kernels.h).
//
// In: a call that Infer accepts, and the metadata it gave. Out: fresh tensors, or an error that only the data
// can cause.
#pragma once

#include "graph/op.h"
#include "tensor/tensor.h"

namespace thirdbook {

using Tensors = std::vector<Tensor>;

struct KernelCall {
  Op op;
  const Tensors& operands;
  const Attrs& attrs;
  const std::vector<TensorMeta>& outputs;
  const Tensor& in(size_t i) const { return operands[i]; }
  bool has(size_t i) const { return i < operands.size() && operands[i].defined(); }
};

Result<Tensors> ExecuteCreation(const KernelCall& call);
Result<Tensors> ExecuteRandom(const KernelCall& call);
Result<Tensors> ExecuteAlongDim(const KernelCall& call);  // softmax, layer_norm, cumsum...
Result<Tensors> ExecuteOrder(const KernelCall& call);     // sort, topk
Result<Tensors> ExecuteProduct(const KernelCall& call);   // matmul and its kin
Result<Tensors> ExecuteSolver(const KernelCall& call);    // linalg_*
Result<Tensors> ExecuteRearrange(const KernelCall& call);
Result<Tensors> ExecuteIndexing(const KernelCall& call);
Result<Tensors> ExecuteSpatial(const KernelCall& call);
Result<Tensors> ExecuteConvolution(const KernelCall& call);

// Data-dependent sizes: these check their arguments themselves, `outputs` is empty.
Result<Tensors> ExecuteDataDependent(const KernelCall& call);

// self's elements at `index` (int64, in range) along `dim`; of index's sizes.
Result<Tensor> GatherAlong(const Tensor& self, int64_t dim, const Tensor& index);

// Coordinates of the true elements of a mask, one int64 tensor a dimension.
Result<Tensors> MaskToIndices(const Tensor& mask);

// C = A · B (or C += when `accumulate`) for row and column strides in elements; C is row-major with row
// stride `ldc`.
template <typename T>
void Gemm(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_column, const T* b,
          int64_t b_row, int64_t b_column, T* c, int64_t ldc, bool accumulate = false);

}  // namespace thirdbook
