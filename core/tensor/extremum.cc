// Largest and smallest elements and where they are. NaN counts as beyond every number; of equals the first
// wins.
#include "tensor/element.h"
#include "tensor/reduction.h"

namespace thirdbook {
namespace {

template <typename T>
void Extremum(bool largest, const Fold& fold, const Tensor& self, const Tensor* values,
              const Tensor* indices) {
  OffsetWalk walk(fold.kept_sizes, fold.kept_strides);
  const T* data = self.data<T>();
  for (int64_t o = 0; o < fold.outputs; ++o, walk.Next()) {
    const T* base = data + walk.offset();
    T best = LoadElement<T>(base);
    int64_t where = 0, position = 0;
    ForFoldedRuns(fold, base, [&](const T* p, int64_t stride, int64_t count) {
      for (int64_t i = 0; i < count; ++i, ++position) {
        T x = LoadElement<T>(p + i * stride);
        if (IsNaN(best)) continue;
        if (IsNaN(x) || (largest ? x > best : x < best)) {
          best = x;
          where = position;
        }
      }
    });
    if (values) StoreElement<T>(values->data<T>() + o, best);
    if (indices) indices->data<int64_t>()[o] = where;
  }
}

}  // namespace

Result<std::vector<Tensor>> ExecuteExtremum(Op op, const Tensor& self, const Fold& fold,
                                            const std::vector<TensorMeta>& outputs) {
  std::vector<Tensor> out;
  for (const TensorMeta& meta : outputs) {
    TB_ASSIGN_OR_RETURN(Tensor t, Tensor::Empty(meta.dtype, meta.sizes));
    out.push_back(std::move(t));
  }
  bool only_index = op == Op::k_argmax || op == Op::k_argmin;
  bool largest = op == Op::k_amax || op == Op::k_max || op == Op::k_max_dim || op == Op::k_argmax;
  const Tensor* values = only_index ? nullptr : &out[0];
  const Tensor* indices = only_index ? &out[0] : out.size() > 1 ? &out[1] : nullptr;
  DispatchAll(self.dtype(), [&]<typename T>() { Extremum<T>(largest, fold, self, values, indices); });
  return out;
}

}  // namespace thirdbook
