// Pointwise ops of one operand.
#include <cmath>

#include "tensor/loop.h"

namespace thirdbook {
namespace {

// Functions of floating elements; nullptr for an op that is not one.
template <typename T>
PointwiseLoop FloatingLoop(Op op) {
#define TB_CASE(name, expr) \
  case Op::k_##name: return UnaryLoop<T, T, [](T x) -> T { return (expr); }>()
  switch (op) {
    TB_CASE(reciprocal, T(1) / x);
    TB_CASE(sqrt, std::sqrt(x));
    TB_CASE(rsqrt, T(1) / std::sqrt(x));
    TB_CASE(exp, std::exp(x));
    TB_CASE(exp2, std::exp2(x));
    TB_CASE(expm1, std::expm1(x));
    TB_CASE(log, std::log(x));
    TB_CASE(log1p, std::log1p(x));
    TB_CASE(log2, std::log2(x));
    TB_CASE(log10, std::log10(x));
    TB_CASE(sin, std::sin(x));
    TB_CASE(cos, std::cos(x));
    TB_CASE(tan, std::tan(x));
    TB_CASE(asin, std::asin(x));
    TB_CASE(acos, std::acos(x));
    TB_CASE(atan, std::atan(x));
    TB_CASE(sinh, std::sinh(x));
    TB_CASE(cosh, std::cosh(x));
    TB_CASE(tanh, std::tanh(x));
    TB_CASE(asinh, std::asinh(x));
    TB_CASE(acosh, std::acosh(x));
    TB_CASE(atanh, std::atanh(x));
    TB_CASE(erf, std::erf(x));
    TB_CASE(erfc, std::erfc(x));
    TB_CASE(sigmoid, T(1) / (T(1) + std::exp(-x)));
    TB_CASE(floor, std::floor(x));
    TB_CASE(ceil, std::ceil(x));
    TB_CASE(round, std::rint(x));  // half to even
    TB_CASE(trunc, std::trunc(x));
    TB_CASE(neg, -x);
    default: return nullptr;
  }
}

// round(x, decimals): the state holds 10^|decimals|, negated when decimals is negative.
template <typename T>
void RoundDecimals(char* const* at, const int64_t* strides, int64_t count, LoopState* state) {
  T power = static_cast<T>(std::fabs(state->number));
  bool divides_first = state->number < 0;
  for (int64_t i = 0; i < count; ++i) {
    T x = *reinterpret_cast<const T*>(at[1] + i * strides[1]);
    *reinterpret_cast<T*>(at[0] + i * strides[0]) =
        divides_first ? std::rint(x / power) * power : std::rint(x * power) / power;
  }
}

// Functions of any element.
template <typename T>
PointwiseLoop NumericLoop(Op op) {
  switch (op) {
    TB_CASE(square, WrapMul(x, x));
    TB_CASE(relu, x < T(0) ? T(0) : x);  // NaN and -0 stay
    case Op::k_neg: return UnaryLoop<T, T, [](T x) -> T { return WrapSub(T(0), x); }>();
    case Op::k_abs:
      if constexpr (std::is_floating_point_v<T>)
        return UnaryLoop<T, T, [](T x) -> T { return std::fabs(x); }>();
      else
        return UnaryLoop<T, T, [](T x) -> T { return x < T(0) ? WrapSub(T(0), x) : x; }>();
    case Op::k_sign:
      if constexpr (std::is_same_v<T, bool>)
        return UnaryLoop<T, T, [](T x) -> T { return x; }>();
      else
        return UnaryLoop<T, T, [](T x) -> T { return static_cast<T>((T(0) < x) - (x < T(0))); }>();
    case Op::k_bitwise_not:
      if constexpr (std::is_same_v<T, bool>)
        return UnaryLoop<T, T, [](T x) -> T { return !x; }>();
      else if constexpr (std::is_integral_v<T>)
        return UnaryLoop<T, T, [](T x) -> T { return static_cast<T>(~x); }>();
      else
        return nullptr;
    case Op::k_floor:
    case Op::k_ceil:
    case Op::k_round:
    case Op::k_trunc:
      if constexpr (std::is_integral_v<T>)
        return UnaryLoop<T, T, [](T x) -> T { return x; }>();
      else
        return nullptr;
    case Op::k_logical_not: return UnaryLoop<bool, T, [](T x) -> bool { return x == T(0); }>();
    case Op::k_isnan: return UnaryLoop<bool, T, [](T x) -> bool { return IsNaN(x); }>();
    case Op::k_isinf:
      if constexpr (std::is_floating_point_v<T>)
        return UnaryLoop<bool, T, [](T x) -> bool { return std::isinf(x); }>();
      else
        return UnaryLoop<bool, T, [](T) -> bool { return false; }>();
    case Op::k_isfinite:
      if constexpr (std::is_floating_point_v<T>)
        return UnaryLoop<bool, T, [](T x) -> bool { return std::isfinite(x); }>();
      else
        return UnaryLoop<bool, T, [](T) -> bool { return true; }>();
    default: return nullptr;
  }
}
#undef TB_CASE

}  // namespace

PointwiseLoop FindUnaryLoop(Op op, DType compute) {
  if (IsFloating(compute)) {
    PointwiseLoop loop = compute == DType::kFloat32 ? FloatingLoop<float>(op) : FloatingLoop<double>(op);
    if (loop) return loop;
  }
  return DispatchAll(compute, [op]<typename T>() { return NumericLoop<T>(op); });
}

PointwiseLoop FindRoundDecimalsLoop(DType compute) {
  return compute == DType::kFloat32 ? &RoundDecimals<float> : &RoundDecimals<double>;
}

}  // namespace thirdbook
