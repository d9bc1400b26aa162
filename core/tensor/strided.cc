#include "tensor/strided.h"

namespace thirdbook {

StridedLoop::StridedLoop(const Sizes& sizes) : sizes_(sizes), rank_(sizes.size()) {
  for (int64_t size : sizes) empty_ |= size == 0;
}

void StridedLoop::Add(const Tensor& tensor) {
  Add(tensor.data(), tensor.sizes(), tensor.meta().strides, ItemSize(tensor.dtype()));
}

void StridedLoop::Add(void* data, const Sizes& sizes, const Sizes& strides, int item_size) {
  TB_CHECK(arrays_ < kMaxArrays && sizes.size() <= rank_);
  std::vector<int64_t>& bytes = strides_[arrays_];
  bytes.assign(rank_, 0);
  size_t missing = rank_ - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) bytes[missing + i] = sizes[i] == 1 ? 0 : strides[i] * item_size;
  data_[arrays_++] = static_cast<char*>(data);
}

void StridedLoop::Coalesce() {
  size_t kept = 0;  // dimensions [0, kept) are done
  for (size_t d = 0; d < rank_; ++d) {
    if (sizes_[d] == 1) continue;
    bool merges = kept > 0;
    for (int a = 0; a < arrays_ && merges; ++a) merges = strides_[a][kept - 1] == strides_[a][d] * sizes_[d];
    if (merges) {
      sizes_[kept - 1] *= sizes_[d];
      for (int a = 0; a < arrays_; ++a) strides_[a][kept - 1] = strides_[a][d];
      continue;
    }
    sizes_[kept] = sizes_[d];
    for (int a = 0; a < arrays_; ++a) strides_[a][kept] = strides_[a][d];
    ++kept;
  }
  rank_ = kept;
}

void StridedLoop::RunErased(void (*call)(void*, char* const*, const int64_t*, int64_t), void* inner) {
  if (empty_) return;
  Coalesce();
  char* at[kMaxArrays];
  int64_t steps[kMaxArrays];
  size_t outer = rank_ > 0 ? rank_ - 1 : 0;
  int64_t count = rank_ > 0 ? sizes_[outer] : 1;
  for (int a = 0; a < arrays_; ++a) {
    at[a] = data_[a];
    steps[a] = rank_ > 0 ? strides_[a][outer] : 0;
  }
  std::vector<int64_t> index(outer, 0);
  for (;;) {
    call(inner, at, steps, count);
    size_t d = outer;
    for (; d-- > 0;) {
      for (int a = 0; a < arrays_; ++a) at[a] += strides_[a][d];
      if (++index[d] < sizes_[d]) break;
      for (int a = 0; a < arrays_; ++a) at[a] -= strides_[a][d] * sizes_[d];
      index[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

}  // namespace thirdbook
