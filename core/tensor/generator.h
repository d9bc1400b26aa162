// The random stream of tensors: PyTorch's CPU generator (Mersenne Twister mt19937), draw for draw.
//
// rand, uniform, randint, randperm, normal and randn give PyTorch's values; float32 normals of 16 or more
// elements go through the same polynomial logarithm and sine that PyTorch's AVX2 kernel uses. State travels
// in PyTorch's 5056-byte layout (little endian):
//
//   u64 seed · i32 left · i32 seeded · u64 next · u64 state[624]
//   f64 0 · f64 cached normal · f64 0 · i32 cached? · 12 bytes of zeros
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"

namespace thirdbook {

class Generator {
 public:
  static constexpr size_t kStateBytes = 5056;
  static constexpr uint64_t kDefaultSeed = 67280421310721;

  explicit Generator(uint64_t seed = kDefaultSeed) { Seed(seed); }

  void Seed(uint64_t seed);
  uint64_t initial_seed() const { return seed_; }
  std::vector<uint8_t> GetState() const;
  Status SetState(const std::vector<uint8_t>& bytes);  // RuntimeError when they are not a state

  uint32_t Random();
  uint64_t Random64();
  float UniformFloat();    // [0, 1), 24 bits
  double UniformDouble();  // [0, 1), 53 bits
  double Normal();         // mean 0, deviation 1; every other one comes from the cache

 private:
  void Refill();

  uint64_t seed_ = 0;
  int32_t left_ = 1;
  uint32_t next_ = 0;
  uint32_t state_[624];
  std::optional<double> next_normal_;
};

// What rand, randn... draw from.
Generator& DefaultGenerator();

}  // namespace thirdbook
