// Sizes and strides of tensors.
#include "graph/meta.h"

namespace thirdbook {

int64_t TensorMeta::numel() const {
  // Unsigned: with a size of 0 among huge ones the product may pass through values that do not fit.
  uint64_t n = 1;
  for (int64_t size : sizes) n *= static_cast<uint64_t>(size);
  return static_cast<int64_t>(n);
}

bool TensorMeta::IsContiguous() const {
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;  // no elements at all
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) {
      for (int64_t size : sizes) {
        if (size == 0) return true;
      }
      return false;
    }
    expected = static_cast<int64_t>(static_cast<uint64_t>(expected) * static_cast<uint64_t>(sizes[i]));
  }
  return true;
}

Sizes ContiguousStrides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  uint64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= sizes[i] > 1 ? static_cast<uint64_t>(sizes[i]) : 1;  // a size of 0 counts as 1, as in PyTorch
  }
  return strides;
}

TensorMeta ContiguousMeta(DType dtype, Sizes sizes, Device device) {
  TensorMeta meta;
  meta.dtype = dtype;
  meta.strides = ContiguousStrides(sizes);
  meta.sizes = std::move(sizes);
  meta.device = device;
  return meta;
}

}  // namespace thirdbook
