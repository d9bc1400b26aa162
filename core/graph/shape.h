// Arithmetic on sizes and dimensions, with PyTorch's errors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/meta.h"

namespace thirdbook {

std::string SizesText(const Sizes& sizes);  // "[2, 3]"
std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));

// A dimension that may count from the end, as an index; a 0-d tensor takes 0 and -1.
Result<int64_t> WrapDim(int64_t dim, int64_t rank);
// A list of distinct dimensions as a mask by index. An empty list gives every dimension.
Result<std::vector<bool>> WrapDims(const Sizes& dims, int64_t rank);

// Element count, or a RuntimeError for a negative size or a count that memory cannot address.
Result<int64_t> CheckedNumel(const Sizes& sizes);

// Sizes with at most one -1, resolved for `numel` elements.
Result<Sizes> ResolveSizes(const Sizes& sizes, int64_t numel);

// Strides that show the same elements in the same order with other sizes; none when that takes a copy.
std::optional<Sizes> ViewStrides(const TensorMeta& meta, const Sizes& sizes);

// Sizes with dimension `dim` removed (or kept as 1).
Sizes DropDim(const Sizes& sizes, int64_t dim, bool keep);

// Smallest and one past the largest element position that the meta reaches (both = offset when there are no
// elements).
void Extent(const TensorMeta& meta, int64_t* low, int64_t* high);

// Whether a dimension shows one element again and again: such a tensor cannot be written.
bool RepeatsElements(const TensorMeta& meta);

// Whether two different indices may reach the same element.
bool MayOverlap(const TensorMeta& meta);

}  // namespace thirdbook
