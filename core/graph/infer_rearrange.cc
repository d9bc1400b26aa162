// Ops that place elements elsewhere without computing: cat, flip, pad, slice writes...
#include <algorithm>
#include <cstdlib>

#include "graph/infer.h"

namespace thirdbook {
namespace {

long long LL(int64_t x) { return static_cast<long long>(x); }

// PyTorch lets a 1-d tensor of size 0 be concatenated with anything.
bool IsLegacyEmpty(const TensorMeta& meta) { return meta.rank() == 1 && meta.sizes[0] == 0; }

Result<Metas> Cat(const Call& call) {
  if (call.operands.empty()) return ValueError("torch.cat(): expected a non-empty list of Tensors");
  const TensorMeta* first = nullptr;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (call.in(i).rank() == 0) {
      return RuntimeError(Format("zero-dimensional tensor (at position %zu) cannot be concatenated", i));
    }
    if (!first && !IsLegacyEmpty(call.in(i))) first = &call.in(i);
  }
  if (!first) first = call.operands[0];
  TB_ASSIGN_OR_RETURN(int64_t dim, WrapDim(IntAttr(call.attrs, 0), first->rank()));
  Sizes sizes = first->sizes;
  sizes[static_cast<size_t>(dim)] = 0;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const TensorMeta& m = call.in(i);
    if (IsLegacyEmpty(m)) continue;
    if (m.rank() != first->rank()) {
      return RuntimeError(Format("Tensors must have same number of dimensions: got %lld and %lld",
                                 LL(first->rank()), LL(m.rank())));
    }
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (static_cast<int64_t>(d) == dim) {
        sizes[d] += m.sizes[d];
        if (sizes[d] > (int64_t{1} << 56)) return RuntimeError("Storage size calculation overflowed");
      } else if (m.sizes[d] != sizes[d]) {
        return RuntimeError(Format(
            "Sizes of tensors must match except in dimension %lld. Expected size %lld but got size %lld for "
            "tensor number %zu in the list.",
            LL(dim), LL(sizes[d]), LL(m.sizes[d]), i));
      }
    }
  }
  return Fresh(ResultType(call.operands), std::move(sizes));
}

Result<Metas> Stack(const Call& call) {
  if (call.operands.empty()) return RuntimeError("stack expects a non-empty TensorList");
  const Sizes& first = call.in(0).sizes;
  TB_ASSIGN_OR_RETURN(int64_t dim, WrapDim(IntAttr(call.attrs, 0), call.in(0).rank() + 1));
  for (size_t i = 1; i < call.operands.size(); ++i) {
    if (call.in(i).sizes != first) {
      return RuntimeError(
          Format("stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %zu",
                 SizesText(first).c_str(), SizesText(call.in(i).sizes).c_str(), i));
    }
  }
  Sizes sizes = first;
  sizes.insert(sizes.begin() + dim, static_cast<int64_t>(call.operands.size()));
  return Fresh(ResultType(call.operands), std::move(sizes));
}

Result<Metas> Roll(const Call& call) {
  const Sizes &shifts = ListAttr(call.attrs, 0), &dims = ListAttr(call.attrs, 1);
  if (shifts.empty()) return RuntimeError("`shifts` required");
  if (!(dims.empty() && shifts.size() == 1) && shifts.size() != dims.size()) {
    return RuntimeError(
        Format("shifts and dimensions must align. shifts: %zu, dims:%zu", shifts.size(), dims.size()));
  }
  for (int64_t d : dims) {
    TB_ASSIGN_OR_RETURN([[maybe_unused]] int64_t dim, WrapDim(d, call.in(0).rank()));
  }
  return Fresh(call.in(0).dtype, call.in(0).sizes);
}

Result<Metas> Repeat(const Call& call) {
  const TensorMeta& self = call.in(0);
  Sizes sizes = ListAttr(call.attrs, 0);
  if (static_cast<int64_t>(sizes.size()) < self.rank()) {
    return RuntimeError(
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  }
  size_t added = sizes.size() - self.sizes.size();
  for (size_t i = 0; i < self.sizes.size(); ++i) {
    int64_t& s = sizes[added + i];
    int64_t most = (int64_t{1} << 56) / std::max<int64_t>(self.sizes[i], 1);
    if (s > most || s < -most) {
      return RuntimeError("Storage size calculation overflowed with sizes=" + SizesText(sizes));
    }
    s *= self.sizes[i];
  }
  return Fresh(self.dtype, std::move(sizes));
}

Result<Metas> Pad(const Call& call) {
  const TensorMeta& self = call.in(0);
  const Sizes& pad = ListAttr(call.attrs, 0);
  if (pad.size() % 2 != 0)
    return RuntimeError(Format("Length of pad must be even but instead it equals %zu", pad.size()));
  if (pad.size() / 2 > self.sizes.size()) {
    return RuntimeError(
        Format("Length of pad should be no more than twice the number of dimensions of the input. Pad length "
               "is %zuwhile "
               "the input has %lldimensions.",
               pad.size(), LL(self.rank())));
  }
  Sizes sizes = self.sizes;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    size_t d = sizes.size() - 1 - i;
    for (int64_t p : {pad[2 * i], pad[2 * i + 1]}) {
      if (p > (int64_t{1} << 56) || p < -(int64_t{1} << 56))
        return RuntimeError("Storage size calculation overflowed");
    }
    sizes[d] += pad[2 * i] + pad[2 * i + 1];
    if (sizes[d] < 0 || self.sizes[d] + std::min<int64_t>(0, pad[2 * i]) < 0 ||
        self.sizes[d] + std::min<int64_t>(0, pad[2 * i + 1]) < 0) {
      return RuntimeError("narrow(): length must be non-negative.");
    }
  }
  return Fresh(self.dtype, std::move(sizes));
}

Result<Metas> PartWrite(const Call& call, Op view) {
  TB_ASSIGN_OR_RETURN(TensorMeta part, InferOneView(view, call.in(0), call.attrs));
  if (!call.in(1).weak && part.sizes != call.in(1).sizes) {
    return RuntimeError("expected src to have a size equal to the slice of self. src size = " +
                        SizesText(call.in(1).sizes) + ", slice size = " + SizesText(part.sizes));
  }
  return Fresh(call.in(0).dtype, call.in(0).sizes);
}

}  // namespace

Result<Metas> InferRearrange(const Call& call) {
  switch (call.op) {
    case Op::k_cat: return Cat(call);
    case Op::k_stack: return Stack(call);
    case Op::k_flip: {
      TB_ASSIGN_OR_RETURN([[maybe_unused]] std::vector<bool> dims,
                          WrapDims(ListAttr(call.attrs, 0), call.in(0).rank()));
      return Fresh(call.in(0).dtype, call.in(0).sizes);
    }
    case Op::k_roll: return Roll(call);
    case Op::k_repeat: return Repeat(call);
    case Op::k_tril:
    case Op::k_triu:
      if (call.in(0).rank() < 2)
        return RuntimeError(std::string(call.name()) + ": input tensor must have at least 2 dimensions");
      return Fresh(call.in(0).dtype, call.in(0).sizes);
    case Op::k_constant_pad_nd: return Pad(call);
    case Op::k_slice_scatter: return PartWrite(call, Op::k_slice);
    case Op::k_select_scatter: return PartWrite(call, Op::k_select);
    default: return PartWrite(call, Op::k_as_strided);
  }
}

}  // namespace thirdbook
