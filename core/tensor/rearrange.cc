// Ops that place elements elsewhere: each is a few strided copies between views.
#include <algorithm>

#include "graph/attrs.h"
#include "graph/infer.h"
#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/families.h"

namespace thirdbook {
namespace {

// A view of `t` with `length` indices of a dimension, from `start`.
Tensor Part(const Tensor& t, int64_t dim, int64_t start, int64_t length) {
  TensorMeta meta = t.meta();
  size_t d = static_cast<size_t>(dim);
  meta.offset += start * meta.strides[d];
  meta.sizes[d] = length;
  return t.WithMeta(std::move(meta));
}

void Cat(const KernelCall& call, const Tensor& out) {
  int64_t dim = WrapDim(IntAttr(call.attrs, 0), out.meta().rank()).value();
  int64_t at = 0;
  for (const Tensor& t : call.operands) {
    if (t.meta().rank() == 1 && t.sizes()[0] == 0) continue;
    int64_t length = t.sizes()[static_cast<size_t>(dim)];
    CopyElements(Part(out, dim, at, length), t);
    at += length;
  }
}

void Stack(const KernelCall& call, const Tensor& out) {
  int64_t dim = WrapDim(IntAttr(call.attrs, 0), out.meta().rank()).value();
  for (size_t i = 0; i < call.operands.size(); ++i) {
    TensorMeta meta = out.meta();
    meta.offset += static_cast<int64_t>(i) * meta.strides[static_cast<size_t>(dim)];
    meta.sizes.erase(meta.sizes.begin() + dim);
    meta.strides.erase(meta.strides.begin() + dim);
    CopyElements(out.WithMeta(std::move(meta)), call.operands[i]);
  }
}

void Flip(const KernelCall& call, const Tensor& out) {
  TensorMeta meta = call.in(0).meta();
  if (meta.numel() == 0) return;
  for (int64_t dim : ListAttr(call.attrs, 0)) {
    size_t d = static_cast<size_t>(WrapDim(dim, meta.rank()).value());
    if (d >= meta.sizes.size()) continue;
    meta.offset += (meta.sizes[d] - 1) * meta.strides[d];
    meta.strides[d] = -meta.strides[d];
  }
  CopyElements(out, call.in(0).WithMeta(std::move(meta)));
}

// One dimension after the other; without dimensions the elements in order.
Result<Tensor> Roll(const KernelCall& call) {
  Sizes shifts = ListAttr(call.attrs, 0), dims = ListAttr(call.attrs, 1);
  Tensor current = call.in(0);
  bool flat = dims.empty();
  if (flat) {
    TB_ASSIGN_OR_RETURN(current, ToContiguous(current, current.dtype()));
    current = current.WithMeta(ContiguousMeta(current.dtype(), {current.meta().numel()}));
    dims.push_back(0);
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    TB_ASSIGN_OR_RETURN(Tensor next, Tensor::Empty(current.dtype(), current.sizes()));
    if (current.meta().rank() == 0) {
      CopyElements(next, current);
    } else if (current.meta().numel() > 0) {
      int64_t dim = WrapDim(dims[i], current.meta().rank()).value();
      int64_t size = current.sizes()[static_cast<size_t>(dim)];
      int64_t shift = (shifts[i] % size + size) % size;
      CopyElements(Part(next, dim, shift, size - shift), Part(current, dim, 0, size - shift));
      CopyElements(Part(next, dim, 0, shift), Part(current, dim, size - shift, shift));
    }
    current = next;
  }
  return flat ? current.WithMeta(ContiguousMeta(current.dtype(), call.in(0).sizes())) : current;
}

// The output seen as [repeat, size] pairs.
void Repeat(const KernelCall& call, const Tensor& out) {
  const Sizes& repeats = ListAttr(call.attrs, 0);
  const TensorMeta& self = call.in(0).meta();
  size_t added = repeats.size() - self.sizes.size();
  TensorMeta to = out.meta(), from = self;
  to.sizes.clear();
  to.strides.clear();
  from.sizes.clear();
  from.strides.clear();
  for (size_t d = 0; d < repeats.size(); ++d) {
    int64_t size = d < added ? 1 : self.sizes[d - added];
    int64_t stride = out.meta().strides[d];
    to.sizes.insert(to.sizes.end(), {repeats[d], size});
    to.strides.insert(to.strides.end(), {stride * size, stride});
    from.sizes.insert(from.sizes.end(), {1, size});
    from.strides.insert(from.strides.end(), {0, d < added ? 0 : self.strides[d - added]});
  }
  CopyElements(out.WithMeta(std::move(to)), call.in(0).WithMeta(std::move(from)));
}

void Triangle(bool lower, int64_t diagonal, const Tensor& out) {
  int64_t rows = out.sizes()[out.sizes().size() - 2], columns = out.sizes().back();
  int64_t matrices = rows * columns > 0 ? out.meta().numel() / (rows * columns) : 0;
  DispatchBytes(out.dtype(), [&]<typename T>() {
    T* p = out.data<T>();
    for (int64_t m = 0; m < matrices; ++m) {
      for (int64_t r = 0; r < rows; ++r, p += columns) {
        // Clamped first: the sum must not overflow for a far diagonal.
        int64_t edge = std::clamp(r + std::clamp(diagonal, -rows - 1, columns + 1) + (lower ? 1 : 0),
                                  int64_t{0}, columns);
        if (lower)
          std::fill(p + edge, p + columns, T(0));
        else
          std::fill(p, p + edge, T(0));
      }
    }
  });
}

Status FillNumber(const Tensor& out, const Attr& number) {
  Tensor value =
      IsFloatAttr(number) ? Tensor::WeakFloat(NumberOf(number)) : Tensor::WeakInt(IntAttr({number}, 0));
  CopyElements(out, value);
  return Status::Ok();
}

void Pad(const KernelCall& call, const Tensor& out) {
  const Sizes& pad = ListAttr(call.attrs, 0);
  Tensor from = call.in(0), to = out;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    int64_t dim = from.meta().rank() - 1 - static_cast<int64_t>(i);
    int64_t before = pad[2 * i], after = pad[2 * i + 1];
    int64_t size = from.sizes()[static_cast<size_t>(dim)];
    int64_t skip = std::max<int64_t>(0, -before),
            length = std::max<int64_t>(0, size - skip - std::max<int64_t>(0, -after));
    from = Part(from, dim, skip, length);
    to = Part(to, dim, std::max<int64_t>(0, before), length);
  }
  CopyElements(to, from);
}

// A copy of self with `src` written into the part that the view op shows.
Result<Tensor> PartWrite(const KernelCall& call, Op view) {
  TB_ASSIGN_OR_RETURN(Tensor out, ToContiguous(call.in(0), call.in(0).dtype()));
  TB_ASSIGN_OR_RETURN(TensorMeta part, InferOneView(view, out.meta(), call.attrs));
  CopyElements(out.WithMeta(std::move(part)), call.in(1));
  return out;
}

// as_strided speaks of positions in the storage: self's elements are laid out as in it, written to, and read
// back.
Result<Tensor> StridedWrite(const KernelCall& call) {
  const Tensor& self = call.in(0);
  TB_ASSIGN_OR_RETURN(TensorMeta part, InferOneView(Op::k_as_strided, self.meta(), call.attrs));
  int64_t item = ItemSize(self.dtype()), low, high, self_low, self_high;
  Extent(part, &low, &high);
  Extent(self.meta(), &self_low, &self_high);
  if (high * item > static_cast<int64_t>(self.storage()->bytes())) {
    return RuntimeError("as_strided_scatter: sizes " + SizesText(part.sizes) + ", strides " +
                        SizesText(part.strides) + " are out of bounds for storage of size " +
                        std::to_string(self.storage()->bytes()));
  }
  if (self.meta().IsContiguous() && low >= self_low && high <= self_high) {
    TB_ASSIGN_OR_RETURN(Tensor out, ToContiguous(self, self.dtype()));
    part.offset -= self.meta().offset;
    CopyElements(out.WithMeta(std::move(part)), call.in(1));
    return out;
  }
  int64_t from = std::min(low, self_low), extent = std::max(high, self_high) - from;
  TB_ASSIGN_OR_RETURN(Tensor whole, Zeros(self.dtype(), {extent}));
  TensorMeta shown = self.meta();
  shown.offset -= from;
  part.offset -= from;
  CopyElements(whole.WithMeta(shown), self);
  CopyElements(whole.WithMeta(std::move(part)), call.in(1));
  return ToContiguous(whole.WithMeta(std::move(shown)), self.dtype());
}

}  // namespace

Result<Tensors> ExecuteRearrange(const KernelCall& call) {
  switch (call.op) {
    case Op::k_roll: {
      TB_ASSIGN_OR_RETURN(Tensor out, Roll(call));
      return Tensors{out};
    }
    case Op::k_slice_scatter:
    case Op::k_select_scatter: {
      TB_ASSIGN_OR_RETURN(Tensor out,
                          PartWrite(call, call.op == Op::k_slice_scatter ? Op::k_slice : Op::k_select));
      return Tensors{out};
    }
    case Op::k_as_strided_scatter: {
      TB_ASSIGN_OR_RETURN(Tensor out, StridedWrite(call));
      return Tensors{out};
    }
    case Op::k_tril:
    case Op::k_triu: {
      TB_ASSIGN_OR_RETURN(Tensor out, ToContiguous(call.in(0), call.in(0).dtype()));
      Triangle(call.op == Op::k_tril, IntAttr(call.attrs, 0), out);
      return Tensors{out};
    }
    default: break;
  }
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(call.outputs[0].dtype, call.outputs[0].sizes));
  switch (call.op) {
    case Op::k_cat: Cat(call, out); break;
    case Op::k_stack: Stack(call, out); break;
    case Op::k_flip: Flip(call, out); break;
    case Op::k_repeat: Repeat(call, out); break;
    default:  // constant_pad_nd
      TB_RETURN_IF_ERROR(FillNumber(out, call.attrs[1]));
      Pad(call, out);
  }
  return Tensors{out};
}

}  // namespace thirdbook
