// Element types of tensors: names, sizes, categories and PyTorch's promotion lattice.
//
//   bool < uint8 < int32 < int64 < float32 < float64      (promotion takes the larger; uint8+int32 -> int32)
//
// A *weak* operand (a Python number) only decides when its category (bool < integer < floating) is higher
// than that of every tensor operand of rank > 0; the same rule serves 0-d tensors against tensors with
// dimensions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace thirdbook {

enum class DType : uint8_t { kBool, kUInt8, kInt32, kInt64, kFloat32, kFloat64 };
inline constexpr int kNumDTypes = 6;

enum class DTypeCategory : uint8_t { kBool, kInteger, kFloating };

int ItemSize(DType dtype);                // bytes per element
std::string_view DTypeName(DType dtype);  // "float32"; PyTorch prints "torch." + name
std::optional<DType> DTypeFromName(std::string_view name);
DTypeCategory Category(DType dtype);
inline bool IsFloating(DType dtype) { return Category(dtype) == DTypeCategory::kFloating; }
DType Promote(DType a, DType b);
// PyTorch's scalar type name in error texts: "Float", "Long", "Byte"...
std::string_view DTypeScalarName(DType dtype);
// What integers become in floating functions, and what creation uses when no dtype is given; float32 or
// float64.
DType DefaultDType();
void SetDefaultDType(DType dtype);
// Whether a result of dtype `from` may be written into a tensor of dtype `to` (never to a lower category).
bool CanCast(DType from, DType to);

}  // namespace thirdbook
