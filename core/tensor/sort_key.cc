#include "tensor/sort_key.h"

#include <cstring>

#include "tensor/convert.h"

namespace thirdbook {
namespace {

// IEEE bits of positive numbers are in order already; those of negative ones the other way round.
int64_t KeyOf(double x) {
  if (x != x) return kNaNKey;
  if (x == 0) x = 0;  // -0 too
  int64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits >= 0 ? bits : bits ^ INT64_MAX;
}

}  // namespace

Result<Tensor> SortKeys(const Tensor& elements) {
  if (!IsFloating(elements.dtype())) return ToContiguous(elements, DType::kInt64);
  TB_ASSIGN_OR_RETURN(Tensor wide, ToContiguous(elements, DType::kFloat64));
  auto* p = wide.data<char>();
  for (int64_t i = 0, n = wide.meta().numel(); i < n; ++i, p += 8) {
    double x;
    std::memcpy(&x, p, sizeof x);
    int64_t key = KeyOf(x);
    std::memcpy(p, &key, sizeof key);
  }
  TensorMeta meta = wide.meta();
  meta.dtype = DType::kInt64;
  return wide.WithMeta(std::move(meta));
}

}  // namespace thirdbook
