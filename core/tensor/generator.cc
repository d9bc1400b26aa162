#include "tensor/generator.h"

#include <cmath>
#include <cstring>

namespace thirdbook {
namespace {

constexpr int kWords = 624;
constexpr int kShift = 397;
constexpr double kPi = 3.14159265358979323846;

// Offsets in the state's bytes.
constexpr size_t kLeftAt = 8, kSeededAt = 12, kNextAt = 16, kStateAt = 24,
                 kNormalAt = kStateAt + kWords * 8 + 8, kValidAt = kNormalAt + 16;

template <typename T>
void Put(std::vector<uint8_t>* bytes, size_t at, T value) {
  std::memcpy(bytes->data() + at, &value, sizeof value);
}
template <typename T>
T Get(const std::vector<uint8_t>& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

void Generator::Seed(uint64_t seed) {
  seed_ = seed;
  state_[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < kWords; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  left_ = 1;
  next_ = 0;
  next_normal_.reset();
}

void Generator::Refill() {
  auto twist = [](uint32_t u, uint32_t v) {
    uint32_t mixed = (u & 0x80000000u) | (v & 0x7fffffffu);
    return (mixed >> 1) ^ ((v & 1u) ? 0x9908b0dfu : 0u);
  };
  for (int i = 0; i < kWords; ++i)
    state_[i] = state_[(i + kShift) % kWords] ^ twist(state_[i], state_[(i + 1) % kWords]);
  left_ = kWords;
  next_ = 0;
}

uint32_t Generator::Random() {
  if (--left_ == 0) Refill();
  uint32_t y = state_[next_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  y ^= y >> 18;
  return y;
}

uint64_t Generator::Random64() {
  uint64_t high = Random();
  return (high << 32) | Random();
}

float Generator::UniformFloat() { return static_cast<float>(Random() & 0xffffffu) * 0x1p-24f; }
double Generator::UniformDouble() {
  return static_cast<double>(Random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
}

double Generator::Normal() {
  if (next_normal_) {
    double value = *next_normal_;
    next_normal_.reset();
    return value;
  }
  double u1 = UniformDouble(), u2 = UniformDouble();
  double radius = std::sqrt(-2.0 * std::log1p(-u2)), angle = 2.0 * kPi * u1;
  next_normal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

std::vector<uint8_t> Generator::GetState() const {
  std::vector<uint8_t> bytes(kStateBytes, 0);
  Put(&bytes, 0, seed_);
  Put(&bytes, kLeftAt, left_);
  Put(&bytes, kSeededAt, int32_t{1});
  Put(&bytes, kNextAt, static_cast<uint64_t>(next_));
  for (size_t i = 0; i < kWords; ++i) Put(&bytes, kStateAt + 8 * i, static_cast<uint64_t>(state_[i]));
  Put(&bytes, kNormalAt, next_normal_.value_or(0.0));
  Put(&bytes, kValidAt, static_cast<int32_t>(next_normal_.has_value()));
  return bytes;
}

Status Generator::SetState(const std::vector<uint8_t>& bytes) {
  if (bytes.size() != kStateBytes) return RuntimeError("RNG state is wrong size");
  int32_t left = Get<int32_t>(bytes, kLeftAt);
  uint64_t next = Get<uint64_t>(bytes, kNextAt);
  // `left` counts down to the refill while `next` walks the words: a fresh state is (1, 0), later ones add up
  // to 625 or less.
  bool legal = Get<int32_t>(bytes, kSeededAt) == 1 && left >= 1 && left <= kWords && next <= kWords &&
               static_cast<uint64_t>(left) + next <= kWords + 1;
  if (!legal) return RuntimeError("Invalid mt19937 state");
  seed_ = Get<uint64_t>(bytes, 0);
  left_ = left;
  next_ = static_cast<uint32_t>(next);
  for (size_t i = 0; i < kWords; ++i)
    state_[i] = static_cast<uint32_t>(Get<uint64_t>(bytes, kStateAt + 8 * i));
  next_normal_.reset();
  if (Get<int32_t>(bytes, kValidAt) != 0) next_normal_ = Get<double>(bytes, kNormalAt);
  return Status::Ok();
}

Generator& DefaultGenerator() {
  static Generator* generator = new Generator();
  return *generator;
}

}  // namespace thirdbook
