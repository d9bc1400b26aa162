// Sorting and selection along a dimension. NaN is the greatest; equal elements keep their order.
#include <algorithm>
#include <numeric>

#include "graph/attrs.h"
#include "graph/shape.h"
#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/families.h"

namespace thirdbook {
namespace {

template <typename T>
bool Less(T a, T b) {
  return a < b || (IsNaN(b) && !IsNaN(a));
}

// Sorts each lane along `dim` and keeps the first `k`; `order` has room for one lane.
template <typename T>
void SortLanes(const Tensor& self, int64_t dim, int64_t k, bool descending, const Tensor* values,
               const Tensor& indices, int64_t* order) {
  int64_t n = self.meta().rank() > 0 ? self.sizes()[static_cast<size_t>(dim)] : 1;
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(dim) + 1; i < self.sizes().size(); ++i) inner *= self.sizes()[i];
  int64_t lanes = n > 0 ? self.meta().numel() / n : 0;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t outer = lane / inner, column = lane % inner;
    const T* base = self.data<T>() + outer * n * inner + column;
    auto at = [base, inner](int64_t i) { return LoadElement<T>(base + i * inner); };
    std::iota(order, order + n, int64_t{0});
    // Ties are broken by position, so that an unstable sort gives the stable order.
    auto before = [&](int64_t a, int64_t b) {
      T x = at(a), y = at(b);
      if (descending ? Less(y, x) : Less(x, y)) return true;
      if (descending ? Less(x, y) : Less(y, x)) return false;
      return a < b;
    };
    if (k < n)
      std::partial_sort(order, order + k, order + n, before);
    else
      std::sort(order, order + n, before);
    for (int64_t i = 0; i < k; ++i) {
      int64_t to = (outer * k + i) * inner + column;
      if (values) StoreElement<T>(values->data<T>() + to, at(order[i]));
      indices.data<int64_t>()[to] = order[i];
    }
  }
}

}  // namespace

Result<Tensors> ExecuteOrder(const KernelCall& call) {
  Tensors out;
  for (const TensorMeta& meta : call.outputs) {
    TB_ASSIGN_OR_RETURN(Tensor t, Tensor::Empty(meta.dtype, meta.sizes));
    out.push_back(std::move(t));
  }
  TB_ASSIGN_OR_RETURN(Tensor self, AsContiguous(call.in(0), call.in(0).dtype()));
  bool topk = call.op == Op::k_topk;
  int64_t dim = WrapDim(IntAttr(call.attrs, topk ? 1 : 0), self.meta().rank()).value();
  int64_t n = self.meta().rank() > 0 ? self.sizes()[static_cast<size_t>(dim)] : 1;
  int64_t k = topk && self.meta().rank() > 0 ? IntAttr(call.attrs, 0) : n;
  bool descending = BoolAttr(call.attrs, topk ? 2 : 1);
  const Tensor* values = out.size() == 2 ? &out[0] : nullptr;
  if (self.meta().numel() == 0 || k == 0) return out;
  TB_ASSIGN_OR_RETURN(Tensor order, Tensor::Empty(DType::kInt64, {n}));
  DispatchAll(self.dtype(), [&]<typename T>() {
    SortLanes<T>(self, dim, k, descending, values, out.back(), order.data<int64_t>());
  });
  return out;
}

}  // namespace thirdbook
