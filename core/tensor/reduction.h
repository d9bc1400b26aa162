// Walks the operand of a reduction: for each output element the elements that fold into it.
#pragma once

#include <vector>

#include "graph/op.h"
#include "tensor/tensor.h"

namespace thirdbook {

// Kept and folded dimensions, coalesced, outermost first; strides in elements.
struct Fold {
  Sizes kept_sizes, kept_strides;
  Sizes folded_sizes, folded_strides;
  int64_t outputs = 1;  // product of kept_sizes
  int64_t length = 1;   // product of folded_sizes
};
Fold MakeFold(const TensorMeta& meta, const std::vector<bool>& folded);

// Element offsets (from the operand's first element) in row-major order of some dimensions.
class OffsetWalk {
 public:
  OffsetWalk(const Sizes& sizes, const Sizes& strides)
      : sizes_(sizes), strides_(strides), index_(sizes.size(), 0) {}
  int64_t offset() const { return offset_; }
  void Next() {
    for (size_t d = sizes_.size(); d-- > 0;) {
      offset_ += strides_[d];
      if (++index_[d] < sizes_[d]) return;
      offset_ -= strides_[d] * sizes_[d];
      index_[d] = 0;
    }
  }

 private:
  const Sizes &sizes_, &strides_;
  std::vector<int64_t> index_;
  int64_t offset_ = 0;
};

// Calls each(pointer, stride, count) for the runs that fold into the output element at `base`.
template <typename T, typename Each>
void ForFoldedRuns(const Fold& fold, const T* base, Each each) {
  if (fold.length == 0) return;
  size_t rank = fold.folded_sizes.size();
  if (rank == 0) return each(base, int64_t{0}, int64_t{1});
  int64_t count = fold.folded_sizes[rank - 1], stride = fold.folded_strides[rank - 1];
  if (rank == 1) return each(base, stride, count);
  Sizes outer_sizes(fold.folded_sizes.begin(), fold.folded_sizes.end() - 1);
  Sizes outer_strides(fold.folded_strides.begin(), fold.folded_strides.end() - 1);
  OffsetWalk walk(outer_sizes, outer_strides);
  for (int64_t i = fold.length / count; i > 0; --i, walk.Next()) each(base + walk.offset(), stride, count);
}

// Which dimensions a reduction folds.
std::vector<bool> FoldedDims(Op op, const TensorMeta& self, const Attrs& attrs);

// The sum of a run of float32: blocks in 16 lanes, blocks added in double.
double SumRun(const float* data, int64_t stride, int64_t count);
double SumRun(const double* data, int64_t stride, int64_t count);
int64_t SumRun(const int64_t* data, int64_t stride, int64_t count);

Result<std::vector<Tensor>> ExecuteReduction(Op op, const std::vector<Tensor>& operands, const Attrs& attrs,
                                             const std::vector<TensorMeta>& outputs);
// amax, amin, max_dim, argmax...
Result<std::vector<Tensor>> ExecuteExtremum(Op op, const Tensor& self, const Fold& fold,
                                            const std::vector<TensorMeta>& outputs);

}  // namespace thirdbook
