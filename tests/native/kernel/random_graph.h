// Random graphs with random inputs, for tests that compare executors.
//
// In: a seed. Out: a graph that verifies, and inputs for it: several dtypes, broadcasts, views,
// non-contiguous and offset inputs, NaN and infinities now and then, reductions, products, convolutions.
// Deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace thirdbook {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x1234567) {}
  uint64_t Next() {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  int Below(int n) { return static_cast<int>((Next() >> 33) % static_cast<uint64_t>(n)); }
  double Uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(Next() >> 11) / 9007199254740992.0;
  }

 private:
  uint64_t state_;
};

struct GraphCase {
  Graph graph;
  std::vector<Tensor> inputs;
};
GraphCase MakeRandomGraph(uint64_t seed, int nodes);

// A tensor of small random values; sometimes a transposed, sliced or offset view.
Tensor RandomTensor(Random& random, DType dtype, const Sizes& sizes);

// Empty when `got` is `want` within `ulps` units (of the larger of the element and `scale`), else what
// differs first.
std::string Compare(const Tensor& got, const Tensor& want, double tolerance);

}  // namespace thirdbook
