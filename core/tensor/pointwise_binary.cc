// Pointwise ops of two operands of one dtype.
#include <cmath>

#include "tensor/loop.h"

namespace thirdbook {
namespace {

template <typename T>
T FloorDivide(T a, T b, LoopState* state) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b == T(0)) return a / b;
    T rest = std::fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient -= T(1);
    if (quotient == T(0)) return std::copysign(T(0), a / b);
    T floor = std::floor(quotient);
    return quotient - floor > T(0.5) ? floor + T(1) : floor;
  } else {
    if (b == T(0)) return state->zero_division = true, T(0);
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
      return WrapSub(T(0), a);  // the least integer has no opposite
    T quotient = static_cast<T>(a / b);
    return a % b != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
  }
}

template <typename T>
T TruncDivide(T a, T b, LoopState* state) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::trunc(a / b);
  } else {
    if (b == T(0)) return state->zero_division = true, T(0);
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return WrapSub(T(0), a);
    return static_cast<T>(a / b);
  }
}

// The sign of the divisor, as Python's %.
template <typename T>
T Remainder(T a, T b, LoopState* state) {
  if constexpr (std::is_floating_point_v<T>) {
    T rest = std::fmod(a, b);
    return rest != T(0) && (b < T(0)) != (rest < T(0)) ? rest + b : rest;
  } else {
    if (b == T(0)) return state->zero_division = true, T(0);
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return T(0);
    T rest = static_cast<T>(a % b);
    return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  }
}

// The sign of the dividend, as C's.
template <typename T>
T FMod(T a, T b, LoopState* state) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (b == T(0)) return state->zero_division = true, T(0);
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return T(0);
    return static_cast<T>(a % b);
  }
}

template <typename T>
T Power(T base, T exponent, LoopState*) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::pow(base, exponent);
  } else {
    if (std::is_signed_v<T> && exponent < 0) {
      if (base == T(1)) return T(1);
      if (base == static_cast<T>(-1)) return static_cast<T>(exponent % 2 == 0 ? 1 : -1);
      return T(0);
    }
    T result(1);
    while (exponent > 0) {
      if (exponent & 1) result = WrapMul(result, base);
      base = WrapMul(base, base);
      exponent = static_cast<T>(exponent / 2);
    }
    return result;
  }
}

template <typename T>
T AddScaled(T a, T b, LoopState* state) {
  if constexpr (std::is_same_v<T, bool>)
    return a || (b && state->integer != 0);
  else if constexpr (std::is_floating_point_v<T>)
    return a + static_cast<T>(state->number) * b;
  else
    return WrapAdd(a, WrapMul(b, static_cast<T>(state->integer)));
}

template <typename T>
T ShiftLeft(T a, T b) {
  using U = std::make_unsigned_t<T>;
  if (b < 0 || b >= static_cast<T>(sizeof(T) * 8)) return T(0);
  return static_cast<T>(static_cast<U>(static_cast<uint64_t>(static_cast<U>(a)) << b));
}
template <typename T>
T ShiftRight(T a, T b) {
  constexpr int kMost = static_cast<int>(sizeof(T) * 8) - (std::is_signed_v<T> ? 1 : 0);
  if (b < 0 || b >= static_cast<T>(sizeof(T) * 8)) {
    return std::is_signed_v<T> ? static_cast<T>(a >> kMost) : T(0);
  }
  return static_cast<T>(a >> b);
}

template <typename T>
PointwiseLoop ComparisonLoop(Op op) {
#define TB_CASE(name, expr) \
  case Op::k_##name: return BinaryLoop<bool, T, [](T a, T b) -> bool { return (expr); }>()
  switch (op) {
    TB_CASE(eq, a == b);
    TB_CASE(ne, a != b);
    TB_CASE(lt, a < b);
    TB_CASE(le, a <= b);
    TB_CASE(gt, a > b);
    TB_CASE(ge, a >= b);
    TB_CASE(logical_and, (a != T(0)) & (b != T(0)));
    TB_CASE(logical_or, (a != T(0)) | (b != T(0)));
    TB_CASE(logical_xor, (a != T(0)) != (b != T(0)));
    default: return nullptr;
  }
#undef TB_CASE
}

template <typename T>
PointwiseLoop ArithmeticLoop(Op op) {
#define TB_CASE(name, expr) \
  case Op::k_##name: return BinaryLoop<T, T, [](T a, T b) -> T { return (expr); }>()
  switch (op) {
    TB_CASE(add, WrapAdd(a, b));
    TB_CASE(sub, WrapSub(a, b));
    TB_CASE(mul, WrapMul(a, b));
    // NaN on either side wins; of equals (0 and -0) the first.
    TB_CASE(maximum, (a != a || a >= b) ? a : b);
    TB_CASE(minimum, (a != a || a <= b) ? a : b);
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      TB_CASE(div, a / b);
      TB_CASE(atan2, std::atan2(a, b));
      default: break;
    }
  } else {
    switch (op) {
      TB_CASE(bitwise_and, static_cast<T>(a & b));
      TB_CASE(bitwise_or, static_cast<T>(a | b));
      TB_CASE(bitwise_xor, static_cast<T>(a ^ b));
      default: break;
    }
  }
  if constexpr (!std::is_same_v<T, bool>) {
    switch (op) {
      case Op::k_floor_divide: return &StatefulLoop<T, T, &FloorDivide<T>>;
      case Op::k_remainder: return &StatefulLoop<T, T, &Remainder<T>>;
      case Op::k_fmod: return &StatefulLoop<T, T, &FMod<T>>;
      case Op::k_pow: return &StatefulLoop<T, T, &Power<T>>;
      default: break;
    }
    if constexpr (std::is_integral_v<T>) {
      if (op == Op::k_bitwise_left_shift) return BinaryLoop<T, T, &ShiftLeft<T>>();
      if (op == Op::k_bitwise_right_shift) return BinaryLoop<T, T, &ShiftRight<T>>();
    }
  }
  return nullptr;
#undef TB_CASE
}

template <typename T>
PointwiseLoop PowNumber(double exponent) {
#define TB_POWER(number, expr) \
  if (exponent == number) return UnaryLoop<T, T, [](T x) -> T { return (expr); }>()
  TB_POWER(0.5, std::sqrt(x));
  TB_POWER(2.0, x * x);
  TB_POWER(3.0, x * x * x);
  TB_POWER(-0.5, T(1) / std::sqrt(x));
  TB_POWER(-1.0, T(1) / x);
  TB_POWER(-2.0, T(1) / (x * x));
#undef TB_POWER
  return nullptr;
}

}  // namespace

PointwiseLoop FindBinaryLoop(Op op, DType compute) {
  return DispatchAll(compute, [op]<typename T>() {
    PointwiseLoop loop = ComparisonLoop<T>(op);
    return loop ? loop : ArithmeticLoop<T>(op);
  });
}

PointwiseLoop FindAddScaledLoop(DType compute) {
  return DispatchAll(compute,
                     []<typename T>() -> PointwiseLoop { return &StatefulLoop<T, T, &AddScaled<T>>; });
}

PointwiseLoop FindTruncDivideLoop(DType compute) {
  return DispatchAll(compute, []<typename T>() -> PointwiseLoop {
    if constexpr (std::is_same_v<T, bool>)
      return nullptr;
    else
      return &StatefulLoop<T, T, &TruncDivide<T>>;
  });
}

PointwiseLoop FindPowNumberLoop(double exponent, DType compute) {
  if (compute == DType::kFloat32) return PowNumber<float>(exponent);
  return compute == DType::kFloat64 ? PowNumber<double>(exponent) : nullptr;
}

}  // namespace thirdbook
