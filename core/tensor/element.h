// C++ types of elements and conversion between them.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "graph/dtype.h"

namespace thirdbook {

// bool tensors hold bytes 0 and 1; a byte of foreign memory counts as true when it is not 0.
template <DType>
struct ElementOf;
template <>
struct ElementOf<DType::kBool> {
  using type = bool;
};
template <>
struct ElementOf<DType::kUInt8> {
  using type = uint8_t;
};
template <>
struct ElementOf<DType::kInt32> {
  using type = int32_t;
};
template <>
struct ElementOf<DType::kInt64> {
  using type = int64_t;
};
template <>
struct ElementOf<DType::kFloat32> {
  using type = float;
};
template <>
struct ElementOf<DType::kFloat64> {
  using type = double;
};

template <typename T>
inline constexpr DType kDTypeOf = DType::kBool;
template <>
inline constexpr DType kDTypeOf<uint8_t> = DType::kUInt8;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::kInt32;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::kInt64;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFloat64;

// Calls `f.template operator()<T>()` with the element type.
template <typename F>
auto DispatchAll(DType dtype, F f) {
  switch (dtype) {
    case DType::kBool: return f.template operator()<bool>();
    case DType::kUInt8: return f.template operator()<uint8_t>();
    case DType::kInt32: return f.template operator()<int32_t>();
    case DType::kInt64: return f.template operator()<int64_t>();
    case DType::kFloat32: return f.template operator()<float>();
    default: return f.template operator()<double>();
  }
}
template <typename F>
auto DispatchFloating(DType dtype, F f) {
  return dtype == DType::kFloat32 ? f.template operator()<float>() : f.template operator()<double>();
}
// By size only, for ops that move elements.
template <typename F>
auto DispatchBytes(DType dtype, F f) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8: return f.template operator()<uint8_t>();
    case DType::kInt32:
    case DType::kFloat32: return f.template operator()<uint32_t>();
    default: return f.template operator()<uint64_t>();
  }
}

template <typename T>
T LoadElement(const void* at) {
  if constexpr (std::is_same_v<T, bool>)
    return *static_cast<const uint8_t*>(at) != 0;
  else
    return *static_cast<const T*>(at);
}
template <typename T>
void StoreElement(void* at, T value) {
  if constexpr (std::is_same_v<T, bool>)
    *static_cast<uint8_t*>(at) = value;
  else
    *static_cast<T*>(at) = value;
}

// Floating to integer truncates; what does not fit becomes the least integer, as x86 does (uint8 takes the
// low byte of int64).
template <typename To, typename From>
To ConvertElement(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Wide = std::conditional_t<std::is_same_v<To, int32_t>, int32_t, int64_t>;
    constexpr From kBound = static_cast<From>(sizeof(Wide) == 4 ? 2147483648.0 : 9223372036854775808.0);
    Wide wide = value >= -kBound && value < kBound ? static_cast<Wide>(value)
                                                   : (sizeof(Wide) == 4 ? INT32_MIN : INT64_MIN);
    return static_cast<To>(wide);
  } else {
    return static_cast<To>(value);
  }
}

// Two's complement arithmetic that wraps; floating as is; bool as its own algebra (+ is or, * is and).
template <typename T, typename F>
T Wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    using U = std::make_unsigned_t<T>;
    using Wide = std::conditional_t<sizeof(U) < 4, uint32_t, U>;
    return static_cast<T>(
        static_cast<U>(f(static_cast<Wide>(static_cast<U>(a)), static_cast<Wide>(static_cast<U>(b)))));
  } else {
    return static_cast<T>(f(a, b));
  }
}
template <typename T>
T WrapAdd(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else
    return Wrapping(a, b, [](auto x, auto y) { return x + y; });
}
template <typename T>
T WrapSub(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a != b;
  else
    return Wrapping(a, b, [](auto x, auto y) { return x - y; });
}
template <typename T>
T WrapMul(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a && b;
  else
    return Wrapping(a, b, [](auto x, auto y) { return x * y; });
}

template <typename T>
bool IsNaN(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return value != value;
  else
    return (void)value, false;
}

}  // namespace thirdbook
