// Sorting and selection along a dimension. NaN is the greatest; equal elements keep their order.
#include <algorithm>

#include "graph/attrs.h"
#include "graph/shape.h"
#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/families.h"
#include "tensor/sort_key.h"

namespace thirdbook {
namespace {

// An element of a lane. Ties are broken by position, so that an unstable sort gives the stable order.
struct Entry {
  int64_t key, position;
  friend bool operator<(const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  }
};

// Sorts each lane along `dim` and writes the positions of the first `k`; `lane` has room for one.
void SortLanes(const Tensor& keys, int64_t dim, int64_t k, bool descending, Entry* lane, int64_t* out) {
  const Sizes& sizes = keys.sizes();
  int64_t n = sizes.empty() ? 1 : sizes[static_cast<size_t>(dim)];
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(dim) + 1; i < sizes.size(); ++i) inner *= sizes[i];
  for (int64_t l = 0, lanes = keys.meta().numel() / n; l < lanes; ++l) {
    int64_t outer = l / inner, column = l % inner;
    const int64_t* from = keys.data<int64_t>() + outer * n * inner + column;
    for (int64_t i = 0; i < n; ++i) lane[i] = {descending ? ~from[i * inner] : from[i * inner], i};
    if (k < n)
      std::partial_sort(lane, lane + k, lane + n);
    else
      std::sort(lane, lane + n);
    for (int64_t i = 0; i < k; ++i) out[(outer * k + i) * inner + column] = lane[i].position;
  }
}

}  // namespace

Result<Tensors> ExecuteOrder(const KernelCall& call) {
  TB_ASSIGN_OR_RETURN(Tensor self, AsContiguous(call.in(0), call.in(0).dtype()));
  TB_ASSIGN_OR_RETURN(Tensor indices, Tensor::Empty(DType::kInt64, call.outputs.back().sizes));
  bool topk = call.op == Op::k_topk;
  int64_t rank = self.meta().rank();
  int64_t dim = WrapDim(IntAttr(call.attrs, topk ? 1 : 0), rank).value();
  int64_t n = rank > 0 ? self.sizes()[static_cast<size_t>(dim)] : 1;
  int64_t k = topk && rank > 0 ? IntAttr(call.attrs, 0) : n;
  if (indices.meta().numel() > 0) {
    TB_ASSIGN_OR_RETURN(Tensor keys, SortKeys(self));
    TB_ASSIGN_OR_RETURN(Tensor lane, Tensor::Empty(DType::kInt64, {n, 2}));
    SortLanes(keys, dim, k, BoolAttr(call.attrs, topk ? 2 : 1),
              reinterpret_cast<Entry*>(lane.data<int64_t>()), indices.data<int64_t>());
  }
  if (call.outputs.size() == 1) return Tensors{indices};  // argsort
  TB_ASSIGN_OR_RETURN(Tensor values, GatherAlong(self, dim, indices));
  return Tensors{values, indices};
}

}  // namespace thirdbook
