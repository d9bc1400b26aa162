// Views: sizes, strides and offset from the operand's; no data is touched.
#include <algorithm>

#include "graph/infer.h"

namespace thirdbook {
namespace {

long long LL(int64_t x) { return static_cast<long long>(x); }

Result<TensorMeta> Permute(TensorMeta meta, const Sizes& dims) {
  if (static_cast<int64_t>(dims.size()) != meta.rank()) {
    return RuntimeError(
        Format("permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
               "the desired "
               "ordering of dimensions i.e. input.dim() = %lld is not equal to len(dims) = %zu",
               LL(meta.rank()), dims.size()));
  }
  TensorMeta out = meta;
  std::vector<bool> seen(dims.size(), false);
  for (size_t i = 0; i < dims.size(); ++i) {
    TB_ASSIGN_OR_RETURN(int64_t d, WrapDim(dims[i], meta.rank()));
    size_t from = static_cast<size_t>(d);
    if (seen[from]) return RuntimeError("permute(): duplicate dims are not allowed.");
    seen[from] = true;
    out.sizes[i] = meta.sizes[from];
    out.strides[i] = meta.strides[from];
  }
  return out;
}

Result<TensorMeta> Transpose(TensorMeta meta, int64_t dim0, int64_t dim1) {
  TB_ASSIGN_OR_RETURN(int64_t a, WrapDim(dim0, meta.rank()));
  TB_ASSIGN_OR_RETURN(int64_t b, WrapDim(dim1, meta.rank()));
  if (a != b) {
    std::swap(meta.sizes[static_cast<size_t>(a)], meta.sizes[static_cast<size_t>(b)]);
    std::swap(meta.strides[static_cast<size_t>(a)], meta.strides[static_cast<size_t>(b)]);
  }
  return meta;
}

Result<TensorMeta> Squeeze(TensorMeta meta, const Attr& dims) {
  std::vector<bool> drop(meta.sizes.size(), true);
  if (const Sizes* list = std::get_if<Sizes>(&dims)) {
    TB_ASSIGN_OR_RETURN(drop, WrapDims(*list, meta.rank()));
    if (list->empty()) drop.assign(drop.size(), false);
  }
  TensorMeta out = meta;
  out.sizes.clear();
  out.strides.clear();
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    if (drop[i] && meta.sizes[i] == 1) continue;
    out.sizes.push_back(meta.sizes[i]);
    out.strides.push_back(meta.strides[i]);
  }
  return out;
}

Result<TensorMeta> Unsqueeze(TensorMeta meta, int64_t dim) {
  TB_ASSIGN_OR_RETURN(int64_t d, WrapDim(dim, meta.rank() + 1));
  int64_t stride =
      d < meta.rank() ? meta.sizes[static_cast<size_t>(d)] * meta.strides[static_cast<size_t>(d)] : 1;
  meta.sizes.insert(meta.sizes.begin() + d, 1);
  meta.strides.insert(meta.strides.begin() + d, stride);
  return meta;
}

Result<TensorMeta> Expand(const TensorMeta& meta, const Sizes& sizes) {
  int64_t added = static_cast<int64_t>(sizes.size()) - meta.rank();
  if (added < 0) {
    return RuntimeError(
        Format("expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%zu) must be greater or "
               "equal to the "
               "number of dimensions in the tensor (%lld)",
               DTypeScalarName(meta.dtype).data(), SizesText(meta.sizes).c_str(), SizesText(sizes).c_str(),
               sizes.size(), LL(meta.rank())));
  }
  TensorMeta out = meta;
  out.sizes = sizes;
  out.strides.assign(sizes.size(), 0);
  for (size_t i = sizes.size(); i-- > 0;) {
    int64_t from = static_cast<int64_t>(i) - added;
    if (from < 0) {
      if (sizes[i] < 0) {
        return RuntimeError(Format(
            "The expanded size of the tensor (%lld) isn't allowed in a leading, non-existing dimension %zu",
            LL(sizes[i]), i));
      }
      if (sizes[i] == 1 && meta.rank() > 0)
        out.strides[i] = i + 1 < sizes.size() ? out.sizes[i + 1] * out.strides[i + 1] : 1;
      continue;
    }
    int64_t size = meta.sizes[static_cast<size_t>(from)];
    if (sizes[i] == -1 || sizes[i] == size) {
      out.sizes[i] = size;
      out.strides[i] = meta.strides[static_cast<size_t>(from)];
    } else if (size != 1 || sizes[i] < 0) {
      return RuntimeError(
          Format("The expanded size of the tensor (%lld) must match the existing size (%lld) at "
                 "non-singleton dimension "
                 "%zu.  Target sizes: %s.  Tensor sizes: %s",
                 LL(sizes[i]), LL(size), i, SizesText(sizes).c_str(), SizesText(meta.sizes).c_str()));
    }
  }
  TB_ASSIGN_OR_RETURN([[maybe_unused]] int64_t numel, CheckedNumel(out.sizes));
  return out;
}

Result<TensorMeta> Select(TensorMeta meta, int64_t dim, int64_t index) {
  if (meta.rank() == 0) return IndexError("select() cannot be applied to a 0-dim tensor.");
  TB_ASSIGN_OR_RETURN(int64_t d, WrapDim(dim, meta.rank()));
  int64_t size = meta.sizes[static_cast<size_t>(d)];
  if (index < -size || index >= size) {
    return IndexError(Format("select(): index %lld out of range for tensor of size %s at dimension %lld",
                             LL(index), SizesText(meta.sizes).c_str(), LL(d)));
  }
  if (index < 0) index += size;
  meta.offset += index * meta.strides[static_cast<size_t>(d)];
  meta.sizes.erase(meta.sizes.begin() + d);
  meta.strides.erase(meta.strides.begin() + d);
  return meta;
}

Result<TensorMeta> Slice(TensorMeta meta, int64_t dim, std::optional<int64_t> first,
                         std::optional<int64_t> last, int64_t step) {
  if (meta.rank() == 0) return IndexError("slice() cannot be applied to a 0-dim tensor.");
  TB_ASSIGN_OR_RETURN(int64_t d, WrapDim(dim, meta.rank()));
  if (step <= 0) return RuntimeError("slice step must be positive");
  int64_t& size = meta.sizes[static_cast<size_t>(d)];
  int64_t& stride = meta.strides[static_cast<size_t>(d)];
  auto clip = [&](int64_t x) { return std::clamp<int64_t>(x < 0 ? x + size : x, 0, size); };
  int64_t start = clip(first.value_or(0));
  int64_t end = std::max(start, last ? clip(*last) : size);
  meta.offset += start * stride;
  size = end > start ? (end - start - 1) / step + 1 : 0;
  // With a step past the end there is one element, so the stride does not matter; it must not overflow.
  if (stride != 0 && step > INT64_MAX / std::abs(stride)) step = 1;
  stride *= step;
  return meta;
}

Result<TensorMeta> Narrow(const TensorMeta& meta, int64_t dim, int64_t start, int64_t length) {
  if (meta.rank() == 0) return RuntimeError("narrow() cannot be applied to a 0-dim tensor.");
  if (length < 0) return RuntimeError("narrow(): length must be non-negative.");
  TB_ASSIGN_OR_RETURN(int64_t d, WrapDim(dim, meta.rank()));
  int64_t size = meta.sizes[static_cast<size_t>(d)];
  if (start < -size || start > size) {
    return IndexError(Format("start out of range (expected to be in range of [%lld, %lld], but got %lld)",
                             LL(-size), LL(size), LL(start)));
  }
  if (start < 0) start += size;
  if (length > size - start) {
    return RuntimeError(Format("start (%lld) + length (%lld) exceeds dimension size (%lld).", LL(start),
                               LL(length), LL(size)));
  }
  return Slice(meta, d, start, start + length, 1);
}

Result<TensorMeta> AsStrided(const TensorMeta& meta, const Sizes& sizes, const Sizes& strides,
                             int64_t offset) {
  if (sizes.size() != strides.size()) return RuntimeError("mismatch in length of strides and shape");
  for (int64_t s : strides) {
    if (s < 0) {
      return RuntimeError("as_strided: Negative strides are not supported at the moment, got strides: " +
                          SizesText(strides));
    }
  }
  auto overflow = [&] {
    return RuntimeError("Storage size calculation overflowed with sizes=" + SizesText(sizes) +
                        " and strides=" + SizesText(strides));
  };
  for (int64_t s : sizes) {
    if (s < 0) return overflow();
  }
  TB_ASSIGN_OR_RETURN(int64_t numel, CheckedNumel(sizes));
  if (offset < 0) return RuntimeError(Format("Tensor: invalid storage offset %lld", LL(offset)));
  constexpr int64_t kLimit = int64_t{1} << 56;
  int64_t reach = offset;
  if (reach > kLimit) return overflow();
  for (size_t i = 0; numel > 0 && i < sizes.size(); ++i) {
    if (sizes[i] > 1 && strides[i] > kLimit / sizes[i]) return overflow();
    reach += (sizes[i] - 1) * strides[i];
    if (reach > kLimit) return overflow();
  }
  TensorMeta out = meta;
  out.sizes = sizes;
  out.strides = strides;
  out.offset = offset;
  return out;
}

Result<TensorMeta> Diagonal(const TensorMeta& meta, int64_t shift, int64_t dim1, int64_t dim2) {
  TB_ASSIGN_OR_RETURN(int64_t a, WrapDim(dim1, meta.rank()));
  TB_ASSIGN_OR_RETURN(int64_t b, WrapDim(dim2, meta.rank()));
  if (a == b)
    return RuntimeError(Format("diagonal dimensions cannot be identical %lld, %lld", LL(dim1), LL(dim2)));
  size_t i = static_cast<size_t>(a), j = static_cast<size_t>(b);
  int64_t rows = meta.sizes[i], columns = meta.sizes[j];
  int64_t length = shift >= 0 ? std::min(rows, std::max<int64_t>(columns - std::min(shift, columns), 0))
                              : std::min(std::max<int64_t>(rows + std::max(shift, -rows), 0), columns);
  TensorMeta out = meta;
  if (length > 0) out.offset += shift >= 0 ? shift * meta.strides[j] : -shift * meta.strides[i];
  out.sizes.clear();
  out.strides.clear();
  for (size_t k = 0; k < meta.sizes.size(); ++k) {
    if (k == i || k == j) continue;
    out.sizes.push_back(meta.sizes[k]);
    out.strides.push_back(meta.strides[k]);
  }
  out.sizes.push_back(length);
  out.strides.push_back(meta.strides[i] + meta.strides[j]);
  return out;
}

Result<TensorMeta> Unfold(TensorMeta meta, int64_t dim, int64_t size, int64_t step) {
  TB_ASSIGN_OR_RETURN(int64_t d, WrapDim(dim, meta.rank()));
  int64_t extent = meta.rank() == 0 ? 1 : meta.sizes[static_cast<size_t>(d)];
  int64_t stride = meta.rank() == 0 ? 1 : meta.strides[static_cast<size_t>(d)];
  if (size < 0) return RuntimeError(Format("size is %lld but must be >= 0", LL(size)));
  if (size > extent) {
    return RuntimeError(Format("maximum size for tensor at dimension %lld is %lld but size is %lld", LL(d),
                               LL(extent), LL(size)));
  }
  if (step <= 0) return RuntimeError(Format("step is %lld but must be > 0", LL(step)));
  meta.sizes.push_back(size);
  meta.strides.push_back(stride);
  if (meta.rank() > 1) {
    int64_t windows = (extent - size) / step + 1;
    meta.sizes[static_cast<size_t>(d)] = windows;
    // The stride of a single window is never used, so it may not overflow.
    meta.strides[static_cast<size_t>(d)] =
        stride != 0 && step > INT64_MAX / std::abs(stride) ? stride : stride * step;
  }
  return meta;
}

Result<Sizes> FlattenSizes(const TensorMeta& meta, int64_t start_dim, int64_t end_dim) {
  TB_ASSIGN_OR_RETURN(int64_t start, WrapDim(start_dim, meta.rank()));
  TB_ASSIGN_OR_RETURN(int64_t end, WrapDim(end_dim, meta.rank()));
  if (start > end) return RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim");
  if (meta.rank() == 0) return Sizes{1};
  Sizes sizes;
  int64_t run = 1;
  for (int64_t i = 0; i < meta.rank(); ++i) {
    run *= meta.sizes[static_cast<size_t>(i)];
    if (i >= start && i < end) continue;
    sizes.push_back(run);
    run = 1;
  }
  return sizes;
}

// A view when strides allow; else what a fresh copy looks like.
TensorMeta ViewOrCopy(const TensorMeta& meta, const Sizes& sizes) {
  std::optional<Sizes> strides = ViewStrides(meta, sizes);
  if (!strides) return ContiguousMeta(meta.dtype, sizes, meta.device);
  TensorMeta out = meta;
  out.sizes = sizes;
  out.strides = *std::move(strides);
  return out;
}

}  // namespace

Result<TensorMeta> InferOneView(Op op, const TensorMeta& meta, const Attrs& attrs) {
  auto optional_int = [&](size_t i) {
    return HasAttr(attrs, i) ? std::optional<int64_t>(IntAttr(attrs, i)) : std::nullopt;
  };
  switch (op) {
    case Op::k_alias: return meta;
    case Op::k_view: {
      TB_ASSIGN_OR_RETURN(Sizes sizes, ResolveSizes(ListAttr(attrs, 0), meta.numel()));
      std::optional<Sizes> strides = ViewStrides(meta, sizes);
      if (!strides) {
        return RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans "
            "across two "
            "contiguous subspaces). Use .reshape(...) instead.");
      }
      TensorMeta out = meta;
      out.sizes = std::move(sizes);
      out.strides = *std::move(strides);
      return out;
    }
    case Op::k_reshape: {
      TB_ASSIGN_OR_RETURN(Sizes sizes, ResolveSizes(ListAttr(attrs, 0), meta.numel()));
      return ViewOrCopy(meta, sizes);
    }
    case Op::k_flatten: {
      TB_ASSIGN_OR_RETURN(Sizes sizes, FlattenSizes(meta, IntAttr(attrs, 0), IntAttr(attrs, 1)));
      if (sizes == meta.sizes) return meta;
      return ViewOrCopy(meta, sizes);
    }
    case Op::k_contiguous:
      return meta.IsContiguous() ? meta : ContiguousMeta(meta.dtype, meta.sizes, meta.device);
    case Op::k_permute: return Permute(meta, ListAttr(attrs, 0));
    case Op::k_transpose: return Transpose(meta, IntAttr(attrs, 0), IntAttr(attrs, 1));
    case Op::k_t:
      if (meta.rank() > 2)
        return RuntimeError(
            Format("t() expects a tensor with <= 2 dimensions, but self is %lldD", LL(meta.rank())));
      return meta.rank() < 2 ? Result<TensorMeta>(meta) : Transpose(meta, 0, 1);
    case Op::k_squeeze: return Squeeze(meta, attrs[0]);
    case Op::k_unsqueeze: return Unsqueeze(meta, IntAttr(attrs, 0));
    case Op::k_expand: return Expand(meta, ListAttr(attrs, 0));
    case Op::k_select: return Select(meta, IntAttr(attrs, 0), IntAttr(attrs, 1));
    case Op::k_slice:
      return Slice(meta, IntAttr(attrs, 0), optional_int(1), optional_int(2), IntAttr(attrs, 3));
    case Op::k_narrow: return Narrow(meta, IntAttr(attrs, 0), IntAttr(attrs, 1), IntAttr(attrs, 2));
    case Op::k_as_strided:
      return AsStrided(meta, ListAttr(attrs, 0), ListAttr(attrs, 1), IntAttrOr(attrs, 2, meta.offset));
    case Op::k_diagonal: return Diagonal(meta, IntAttr(attrs, 0), IntAttr(attrs, 1), IntAttr(attrs, 2));
    case Op::k_unfold: return Unfold(meta, IntAttr(attrs, 0), IntAttr(attrs, 1), IntAttr(attrs, 2));
    default: return RuntimeError("not a view op: " + std::string(Info(op).name));
  }
}

Result<Metas> InferView(const Call& call) {
  TB_ASSIGN_OR_RETURN(TensorMeta out, InferOneView(call.op, call.in(0), call.attrs));
  out.weak = false;
  return Metas{std::move(out)};
}

bool AliasesOperand(Op op, const TensorMeta& operand, const Attrs& attrs) {
  OpClass op_class = Info(op).op_class;
  if (op_class == OpClass::kView) return true;
  if (op_class != OpClass::kMaybeView) return false;
  if (op == Op::k_contiguous) return operand.IsContiguous();
  Attrs all = CompleteAttrs(op, attrs);
  Result<Sizes> sizes = op == Op::k_reshape ? ResolveSizes(ListAttr(all, 0), operand.numel())
                                            : FlattenSizes(operand, IntAttr(all, 0), IntAttr(all, 1));
  return sizes.ok() && (*sizes == operand.sizes || ViewStrides(operand, *sizes).has_value());
}

}  // namespace thirdbook
