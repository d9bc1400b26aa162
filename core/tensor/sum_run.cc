// The loops of sums: the part of the reductions that is worth wide instructions.
#include <algorithm>

#include "tensor/element.h"
#include "tensor/reduction.h"

namespace thirdbook {

double SumRun(const float* data, int64_t stride, int64_t count) {
  constexpr int64_t kLanes = 16, kBlock = 256;
  double total = 0;
  if (stride == 1) {
    for (; count >= kLanes;) {
      int64_t block = std::min(count, kBlock) / kLanes * kLanes;
      float lanes[kLanes] = {};
      for (int64_t i = 0; i < block; i += kLanes) {
        for (int64_t j = 0; j < kLanes; ++j) lanes[j] += data[i + j];
      }
      for (int64_t j = 0; j < kLanes; ++j) total += static_cast<double>(lanes[j]);
      data += block;
      count -= block;
    }
  }
  for (int64_t i = 0; i < count; ++i) total += static_cast<double>(data[i * stride]);
  return total;
}

double SumRun(const double* data, int64_t stride, int64_t count) {
  constexpr int64_t kLanes = 8, kBlock = 512;
  double total = 0;
  while (count > 0) {
    int64_t block = std::min(count, kBlock), even = block / kLanes * kLanes;
    double lanes[kLanes] = {};
    for (int64_t i = 0; i < even; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) lanes[j] += data[(i + j) * stride];
    }
    for (int64_t i = even; i < block; ++i) lanes[i - even] += data[i * stride];
    for (int64_t j = 1; j < kLanes; ++j) lanes[0] += lanes[j];
    total += lanes[0];
    data += block * stride;
    count -= block;
  }
  return total;
}

int64_t SumRun(const int64_t* data, int64_t stride, int64_t count) {
  int64_t total = 0;
  for (int64_t i = 0; i < count; ++i) total = WrapAdd(total, data[i * stride]);
  return total;
}

}  // namespace thirdbook
