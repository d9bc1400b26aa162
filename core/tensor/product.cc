// matmul and its kin, all as batches of matrix products.
#include "graph/attrs.h"
#include "graph/infer.h"
#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/families.h"
#include "tensor/kernels.h"
#include "tensor/reduction.h"

namespace thirdbook {
namespace {

template <typename F>
void DispatchNumbers(DType dtype, F f) {  // all but bool, which Infer refuses
  switch (dtype) {
    case DType::kUInt8: return f.template operator()<uint8_t>();
    case DType::kInt32: return f.template operator()<int32_t>();
    case DType::kInt64: return f.template operator()<int64_t>();
    case DType::kFloat32: return f.template operator()<float>();
    default: return f.template operator()<double>();
  }
}

// A matrix (rank >= 2 with batch dimensions) out of a vector: as one row or one column.
TensorMeta AsMatrix(const TensorMeta& meta, bool as_row) {
  if (meta.rank() != 1) return meta;
  TensorMeta out = meta;
  out.sizes.insert(as_row ? out.sizes.begin() : out.sizes.end(), 1);
  out.strides.insert(as_row ? out.strides.begin() : out.strides.end(), 0);
  return out;
}

// a · b into `out`, which is contiguous; batch dimensions broadcast.
void MultiplyBatches(const Tensor& a, const Tensor& b, const Tensor& out) {
  TensorMeta left = AsMatrix(a.meta(), true), right = AsMatrix(b.meta(), false);
  size_t lr = left.sizes.size(), rr = right.sizes.size();
  int64_t m = left.sizes[lr - 2], k = left.sizes[lr - 1], n = right.sizes[rr - 1];
  Sizes batch = BroadcastSizes(Sizes(left.sizes.begin(), left.sizes.end() - 2),
                               Sizes(right.sizes.begin(), right.sizes.end() - 2))
                    .value();
  auto batch_strides = [&batch](const TensorMeta& meta) {
    Sizes strides(batch.size(), 0);
    size_t own = meta.sizes.size() - 2, missing = batch.size() - own;
    for (size_t i = 0; i < own; ++i) strides[missing + i] = meta.sizes[i] == 1 ? 0 : meta.strides[i];
    return strides;
  };
  Sizes left_strides = batch_strides(left), right_strides = batch_strides(right);
  OffsetWalk left_walk(batch, left_strides), right_walk(batch, right_strides);
  int64_t batches = 1;
  for (int64_t s : batch) batches *= s;
  if (m == 0 || n == 0) return;
  DispatchNumbers(out.dtype(), [&]<typename T>() {
    for (int64_t i = 0; i < batches; ++i, left_walk.Next(), right_walk.Next()) {
      Gemm<T>(m, n, k, a.data<T>() + left_walk.offset(), left.strides[lr - 2], left.strides[lr - 1],
              b.data<T>() + right_walk.offset(), right.strides[rr - 2], right.strides[rr - 1],
              out.data<T>() + i * m * n, n);
    }
  });
}

template <typename T>
void ScaleAdd(const Tensor& out, const Tensor& self, T beta, T alpha) {
  T* to = out.data<T>();
  const T* from = self.data<T>();
  for (int64_t i = 0, n = out.meta().numel(); i < n; ++i) {
    T product = alpha == T(1) ? to[i] : WrapMul(alpha, to[i]);
    // beta 0 ignores `self`, NaN included.
    to[i] = beta == T(0) ? product : WrapAdd(beta == T(1) ? from[i] : WrapMul(beta, from[i]), product);
  }
}

template <typename T>
T NumberAs(const Attr& attr) {
  if constexpr (std::is_integral_v<T>) {
    if (const auto* i = std::get_if<int64_t>(&attr)) return static_cast<T>(*i);
  }
  return static_cast<T>(NumberOf(attr));
}

// self, expanded to the output's sizes, contiguous.
Result<Tensor> Expanded(const Tensor& self, const Sizes& sizes) {
  TB_ASSIGN_OR_RETURN(TensorMeta meta, InferOneView(Op::k_expand, self.meta(), {sizes}));
  return ToContiguous(self.WithMeta(std::move(meta)), self.dtype());
}

}  // namespace

Result<Tensors> ExecuteProduct(const KernelCall& call) {
  if (call.op == Op::k_outer) {
    TB_ASSIGN_OR_RETURN(TensorMeta column, InferOneView(Op::k_unsqueeze, call.in(0).meta(), {int64_t{1}}));
    return Execute(Op::k_mul, {call.in(0).WithMeta(std::move(column)), call.in(1)}, {});
  }
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(call.outputs[0].dtype, call.outputs[0].sizes));
  switch (call.op) {
    case Op::k_addmm: {
      MultiplyBatches(call.in(1), call.in(2), out);
      TB_ASSIGN_OR_RETURN(Tensor self, Expanded(call.in(0), out.sizes()));
      DispatchNumbers(out.dtype(), [&]<typename T>() {
        ScaleAdd<T>(out, self, NumberAs<T>(call.attrs[0]), NumberAs<T>(call.attrs[1]));
      });
      break;
    }
    case Op::k_linear: {
      TensorMeta weight = call.in(1).meta();
      if (weight.rank() == 2) {
        std::swap(weight.sizes[0], weight.sizes[1]);
        std::swap(weight.strides[0], weight.strides[1]);
      }
      MultiplyBatches(call.in(0), call.in(1).WithMeta(weight), out);
      if (call.has(2)) {
        TB_ASSIGN_OR_RETURN(Tensor bias, Expanded(call.in(2), out.sizes()));
        DispatchNumbers(out.dtype(), [&]<typename T>() { ScaleAdd<T>(out, bias, T(1), T(1)); });
      }
      break;
    }
    default: MultiplyBatches(call.in(0), call.in(1), out);
  }
  return Tensors{out};
}

}  // namespace thirdbook
