#include "kernel/host_functions.h"

#include <cmath>
#include <cstring>

namespace thirdbook {
namespace {

template <typename T>
T Sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}
// The result has the divisor's sign, as Python's % (and torch.remainder) has it.
template <typename T>
T PythonRemainder(T a, T b) {
  T mod = std::fmod(a, b);
  if (mod != 0 && (b < 0) != (mod < 0)) mod += b;
  return mod;
}
// Python's // on floats (and torch.floor_divide): from the remainder, so that a == (a // b) * b + a % b as
// closely as it can.
template <typename T>
T PythonFloorDivide(T a, T b) {
  if (b == 0) return a / b;
  const T mod = std::fmod(a, b);
  T quotient = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) quotient -= T(1);
  if (quotient == 0) return std::copysign(T(0), a / b);
  T floored = std::floor(quotient);
  if (quotient - floored > T(0.5)) floored += T(1);
  return floored;
}

const HostFunction kTable[] = {
#define TB_HOST1(name, f, d)                                              \
  {#name,   1,      [](float x) -> float { return f(x); }, [](double x) -> double { return d(x); }, \
   nullptr, nullptr},
#define TB_HOST2(name, f, d)                          \
  {#name,                                             \
   2,                                                 \
   nullptr,                                           \
   nullptr,                                           \
   [](float x, float y) -> float { return f(x, y); }, \
   [](double x, double y) -> double { return d(x, y); }},
#include "kernel/host_functions.def"
#undef TB_HOST1
#undef TB_HOST2
};

}  // namespace

int HostFunctionCount() { return static_cast<int>(sizeof kTable / sizeof kTable[0]); }
const HostFunction& GetHostFunction(int index) { return kTable[index]; }
int HostFunctionIndex(const char* name) {
  for (int i = 0; i < HostFunctionCount(); ++i) {
    if (std::strcmp(kTable[i].name, name) == 0) return i;
  }
  return -1;
}

}  // namespace thirdbook
