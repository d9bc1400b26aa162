#include "graph/shape.h"

#include <algorithm>
#include <cstdarg>
#include <numeric>

#include "graph/op.h"

namespace thirdbook {

std::string Format(const char* format, ...) {
  char buffer[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  return buffer;
}

std::string SizesText(const Sizes& sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(sizes[i]);
  }
  return text + "]";
}

Result<int64_t> WrapDim(int64_t dim, int64_t rank) {
  int64_t bound = std::max<int64_t>(rank, 1);
  if (dim < -bound || dim >= bound) {
    return IndexError(Format("Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
                             static_cast<long long>(-bound), static_cast<long long>(bound - 1),
                             static_cast<long long>(dim)));
  }
  return dim < 0 ? dim + bound : dim;
}

Result<std::vector<bool>> WrapDims(const Sizes& dims, int64_t rank) {
  std::vector<bool> mask(static_cast<size_t>(rank), dims.empty());
  std::vector<bool> seen(static_cast<size_t>(std::max<int64_t>(rank, 1)), false);
  for (int64_t dim : dims) {
    TB_ASSIGN_OR_RETURN(int64_t d, WrapDim(dim, rank));
    if (seen[static_cast<size_t>(d)]) {
      return RuntimeError(
          Format("dim %lld appears multiple times in the list of dims", static_cast<long long>(d)));
    }
    seen[static_cast<size_t>(d)] = true;
    if (d < rank) mask[static_cast<size_t>(d)] = true;
  }
  return mask;
}

Result<int64_t> CheckedNumel(const Sizes& sizes) {
  int64_t n = 1;
  bool empty = false;
  for (int64_t size : sizes) {
    if (size < 0) {
      return RuntimeError(Format("Trying to create tensor with negative dimension %lld: %s",
                                 static_cast<long long>(size), SizesText(sizes).c_str()));
    }
    if (size == 0) empty = true;
  }
  if (empty) return int64_t{0};
  for (int64_t size : sizes) {
    if (n > (int64_t{1} << 56) / size)
      return RuntimeError("Storage size calculation overflowed with sizes=" + SizesText(sizes));
    n *= size;
  }
  return n;
}

Result<Sizes> ResolveSizes(const Sizes& sizes, int64_t numel) {
  Sizes out = sizes;
  int64_t known = 1;
  int unknown = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      if (unknown >= 0) return RuntimeError("only one dimension can be inferred");
      unknown = static_cast<int>(i);
    } else if (sizes[i] < 0) {
      return RuntimeError(
          Format("invalid shape dimension %lld at index %zu of shape ", static_cast<long long>(sizes[i]), i) +
          SizesText(sizes));
    } else {
      if (sizes[i] != 0 && known > (int64_t{1} << 60) / sizes[i])
        known = int64_t{1} << 60;
      else
        known *= sizes[i];
    }
  }
  bool fits = unknown >= 0 ? known > 0 && numel % known == 0 : known == numel;
  if (unknown >= 0 && known == 0 && numel == 0) {
    return RuntimeError("cannot reshape tensor of 0 elements into shape " + SizesText(sizes) +
                        " because the unspecified dimension size -1 can be any value and is ambiguous");
  }
  if (!fits) {
    return RuntimeError("shape '" + SizesText(sizes) + "' is invalid for input of size " +
                        std::to_string(numel));
  }
  if (unknown >= 0) out[static_cast<size_t>(unknown)] = numel / known;
  return out;
}

std::optional<Sizes> ViewStrides(const TensorMeta& meta, const Sizes& sizes) {
  int64_t numel = meta.numel();
  if (numel == 0) return sizes == meta.sizes ? meta.strides : ContiguousStrides(sizes);
  Sizes strides(sizes.size(), 1);
  // Walks both shapes from the back: a run of old dimensions that lie evenly in memory is cut into new ones.
  int64_t d = static_cast<int64_t>(sizes.size()) - 1;
  int64_t rank = meta.rank();
  if (rank == 0) return strides;
  int64_t run_stride = meta.strides.back(), run_numel = 1, new_numel = 1;
  // Overlapping layouts may have element counts times strides beyond int64; such a product equals no stride.
  auto product = [](int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  };
  for (int64_t i = rank - 1; i >= 0; --i) {
    run_numel *= meta.sizes[i];
    bool run_ends =
        i == 0 || (meta.sizes[i - 1] != 1 && meta.strides[i - 1] != product(run_numel, run_stride));
    if (!run_ends) continue;
    while (d >= 0 && (new_numel < run_numel || sizes[d] == 1)) {
      strides[d] = product(new_numel, run_stride);
      new_numel *= sizes[d];
      --d;
    }
    if (new_numel != run_numel) return std::nullopt;
    if (i > 0) {
      run_stride = meta.strides[i - 1];
      run_numel = new_numel = 1;
    }
  }
  if (d != -1) return std::nullopt;
  return strides;
}

Sizes DropDim(const Sizes& sizes, int64_t dim, bool keep) {
  Sizes out = sizes;
  if (dim < static_cast<int64_t>(out.size())) {
    if (keep)
      out[static_cast<size_t>(dim)] = 1;
    else
      out.erase(out.begin() + dim);
  }
  return out;
}

void Extent(const TensorMeta& meta, int64_t* low, int64_t* high) {
  *low = *high = meta.offset;
  if (meta.numel() == 0) return;
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    int64_t reach = (meta.sizes[i] - 1) * meta.strides[i];
    if (reach < 0)
      *low += reach;
    else
      *high += reach;
  }
  ++*high;
}

bool RepeatsElements(const TensorMeta& meta) {
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    if (meta.sizes[i] > 1 && meta.strides[i] == 0) return true;
  }
  return false;
}

bool MayOverlap(const TensorMeta& meta) {
  if (meta.numel() <= 1 || meta.IsContiguous()) return false;
  std::vector<size_t> order;
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    if (meta.sizes[i] > 1) order.push_back(i);
  }
  auto stride = [&](size_t i) { return std::abs(meta.strides[i]); };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return stride(a) < stride(b); });
  int64_t reach = 0;  // of the dimensions so far
  for (size_t i : order) {
    if (stride(i) <= reach) return true;
    reach += stride(i) * (meta.sizes[i] - 1);
  }
  return false;
}

Result<Sizes> BroadcastSizes(const Sizes& a, const Sizes& b) {
  size_t rank = std::max(a.size(), b.size());
  Sizes out(rank);
  for (size_t i = rank; i-- > 0;) {  // the last dimension that does not fit is the one that is named
    int64_t x = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    int64_t y = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (x != y && x != 1 && y != 1) {
      return RuntimeError(
          Format("The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
                 "dimension %zu",
                 static_cast<long long>(x), static_cast<long long>(y), i));
    }
    out[i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace thirdbook
