// Elements as integers of the same order, so that sorting is compiled once and not for every dtype.
//
// NaN has the greatest key, -0 that of 0. A float32 is widened first; every key of another dtype is the
// number itself.
#pragma once

#include "tensor/tensor.h"

namespace thirdbook {

inline constexpr int64_t kNaNKey = INT64_MAX;  // of floating elements

// The keys of a contiguous tensor's elements, contiguous int64.
Result<Tensor> SortKeys(const Tensor& elements);

}  // namespace thirdbook
