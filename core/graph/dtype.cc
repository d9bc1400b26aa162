// Names and lattice of the element types.
#include "graph/dtype.h"

#include <algorithm>

#include "base/status.h"

namespace thirdbook {
namespace {

struct DTypeRow {
  std::string_view name;
  std::string_view scalar_name;  // in PyTorch's error texts
  int size;
  DTypeCategory category;
};

// In the order of DType, which is the order of promotion.
constexpr DTypeRow kRows[kNumDTypes] = {
    {"bool", "Bool", 1, DTypeCategory::kBool},         {"uint8", "Byte", 1, DTypeCategory::kInteger},
    {"int32", "Int", 4, DTypeCategory::kInteger},      {"int64", "Long", 8, DTypeCategory::kInteger},
    {"float32", "Float", 4, DTypeCategory::kFloating}, {"float64", "Double", 8, DTypeCategory::kFloating},
};

DType default_dtype = DType::kFloat32;

const DTypeRow& Row(DType dtype) { return kRows[static_cast<int>(dtype)]; }

}  // namespace

int ItemSize(DType dtype) { return Row(dtype).size; }
std::string_view DTypeName(DType dtype) { return Row(dtype).name; }
std::string_view DTypeScalarName(DType dtype) { return Row(dtype).scalar_name; }
DTypeCategory Category(DType dtype) { return Row(dtype).category; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

DType Promote(DType a, DType b) { return std::max(a, b); }

DType DefaultDType() { return default_dtype; }
void SetDefaultDType(DType dtype) {
  TB_CHECK(IsFloating(dtype));
  default_dtype = dtype;
}

bool CanCast(DType from, DType to) { return Category(from) <= Category(to); }

}  // namespace thirdbook
