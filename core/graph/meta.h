// What is known of a tensor without its data: dtype, sizes, strides, offset, device.
//
// Invariant: sizes.size() == strides.size(); strides and offset count elements, not bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/dtype.h"

namespace thirdbook {

enum class Device : uint8_t { kCpu, kWebGpu };

using Sizes = std::vector<int64_t>;

struct TensorMeta {
  DType dtype = DType::kFloat32;
  Sizes sizes;
  Sizes strides;
  int64_t offset = 0;  // first element, from the start of the storage
  Device device = Device::kCpu;
  bool weak = false;  // a Python number: takes part in promotion as a scalar (see dtype.h)

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t numel() const;
  bool IsContiguous() const;  // row-major, dimensions of size 1 ignored
  friend bool operator==(const TensorMeta&, const TensorMeta&) = default;
};

Sizes ContiguousStrides(const Sizes& sizes);
TensorMeta ContiguousMeta(DType dtype, Sizes sizes, Device device = Device::kCpu);

}  // namespace thirdbook
