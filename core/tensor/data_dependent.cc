// Ops whose output sizes only the data knows.
#include <algorithm>
#include <numeric>

#include "graph/attrs.h"
#include "graph/infer.h"
#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/families.h"
#include "tensor/kernels.h"
#include "tensor/sort_key.h"

namespace thirdbook {
namespace {

int64_t CountTrue(const Tensor& mask) {
  int64_t count = 0;
  const uint8_t* p = mask.data<uint8_t>();
  for (int64_t i = 0, n = mask.meta().numel(); i < n; ++i) count += p[i] != 0;
  return count;
}

// Coordinates of true elements: entry (element, dimension) goes to at[element * element_stride + dimension *
// dimension_stride].
void WriteCoordinates(const Tensor& mask, int64_t* at, int64_t element_stride, int64_t dimension_stride) {
  const uint8_t* p = mask.data<uint8_t>();
  const Sizes& sizes = mask.sizes();
  for (int64_t i = 0, n = mask.meta().numel(); i < n; ++i) {
    if (!p[i]) continue;
    int64_t rest = i;
    for (size_t d = sizes.size(); d-- > 0;) {
      at[static_cast<int64_t>(d) * dimension_stride] = rest % sizes[d];
      rest /= sizes[d];
    }
    at += element_stride;
  }
}

Result<Tensors> NonZero(const Tensor& self) {
  TB_ASSIGN_OR_RETURN(Tensor mask, AsContiguous(self, DType::kBool));
  int64_t rank = mask.meta().rank();
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(DType::kInt64, {CountTrue(mask), rank}));
  WriteCoordinates(mask, out.data<int64_t>(), rank, 1);
  return Tensors{out};
}

Result<Tensors> MaskedSelect(const Tensor& self, const Tensor& mask) {
  if (mask.dtype() != DType::kBool) return RuntimeError("masked_select: expected BoolTensor for mask");
  TB_ASSIGN_OR_RETURN(Sizes sizes, BroadcastSizes(mask.sizes(), self.sizes()));
  TB_ASSIGN_OR_RETURN(Tensor whole_mask, Tensor::Empty(DType::kBool, sizes));
  TB_ASSIGN_OR_RETURN(Tensor whole, Tensor::Empty(self.dtype(), sizes));
  CopyElements(whole_mask, mask);
  CopyElements(whole, self);
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(self.dtype(), {CountTrue(whole_mask)}));
  const uint8_t* keep = whole_mask.data<uint8_t>();
  DispatchBytes(self.dtype(), [&]<typename T>() {
    T* to = out.data<T>();
    const T* from = whole.data<T>();
    for (int64_t i = 0, n = whole.meta().numel(); i < n; ++i) {
      if (keep[i]) *to++ = from[i];
    }
  });
  return Tensors{out};
}

// Rows of a matrix of keys (elements: one column). NaN differs from everything, itself too.
struct Rows {
  const int64_t* keys;
  int64_t width;
  bool floating;
  int Compare(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < width; ++i) {
      int64_t x = keys[a * width + i], y = keys[b * width + i];
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  }
  bool Same(int64_t a, int64_t b) const {
    if (Compare(a, b) != 0) return false;
    for (int64_t i = 0; floating && i < width; ++i) {
      if (keys[a * width + i] == kNaNKey) return false;
    }
    return true;
  }
};

Result<Tensors> Unique(const KernelCall& call) {
  Tensor self = call.in(0);
  bool by_dim = HasAttr(call.attrs, 3);
  int64_t dim = 0;
  Sizes slice_sizes;
  if (by_dim) {  // the dimension first, the rest as one row
    TB_ASSIGN_OR_RETURN(dim, WrapDim(IntAttr(call.attrs, 3), self.meta().rank()));
    if (self.meta().rank() == 0) return RuntimeError("unique with dim: a 0-d tensor has no dimensions");
    TB_ASSIGN_OR_RETURN(TensorMeta moved, InferOneView(Op::k_transpose, self.meta(), {int64_t{0}, dim}));
    slice_sizes.assign(moved.sizes.begin() + 1, moved.sizes.end());
    self = self.WithMeta(std::move(moved));
  }
  TB_ASSIGN_OR_RETURN(self, AsContiguous(self, self.dtype()));
  int64_t width = 1;
  for (int64_t s : slice_sizes) width *= s;
  int64_t count = by_dim ? self.sizes()[0] : self.meta().numel();
  TB_ASSIGN_OR_RETURN(Tensor order_tensor, Tensor::Empty(DType::kInt64, {count}));
  TB_ASSIGN_OR_RETURN(Tensor inverse,
                      Tensor::Empty(DType::kInt64, by_dim ? Sizes{count} : call.in(0).sizes()));
  TB_ASSIGN_OR_RETURN(Tensor counts, Zeros(DType::kInt64, {count}));
  int64_t* order = order_tensor.data<int64_t>();
  std::iota(order, order + count, int64_t{0});
  int64_t distinct = 0;
  TB_ASSIGN_OR_RETURN(Tensor keys, SortKeys(self));
  Rows rows{keys.data<int64_t>(), width, IsFloating(self.dtype())};
  std::sort(order, order + count, [&rows](int64_t a, int64_t b) {
    int c = rows.Compare(a, b);
    return c != 0 ? c < 0 : a < b;
  });
  int64_t previous = -1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t row = order[i];
    if (previous < 0 || !rows.Same(previous, row))
      order[distinct++] = row;  // [0, distinct) stand for their equals
    previous = row;
    inverse.data<int64_t>()[row] = distinct - 1;
    ++counts.data<int64_t>()[distinct - 1];
  }
  Sizes sizes{distinct};
  sizes.insert(sizes.end(), slice_sizes.begin(), slice_sizes.end());
  TB_ASSIGN_OR_RETURN(Tensor values, Tensor::Empty(self.dtype(), sizes));
  DispatchBytes(self.dtype(), [&]<typename T>() {
    for (int64_t i = 0; i < distinct; ++i)
      std::copy_n(self.data<T>() + order[i] * width, width, values.data<T>() + i * width);
  });
  if (by_dim) {
    TB_ASSIGN_OR_RETURN(TensorMeta back, InferOneView(Op::k_transpose, values.meta(), {int64_t{0}, dim}));
    TB_ASSIGN_OR_RETURN(values, ToContiguous(values.WithMeta(std::move(back)), self.dtype()));
  }
  TB_ASSIGN_OR_RETURN(Tensor none, Tensor::Empty(DType::kInt64, {0}));
  bool want_inverse = BoolAttr(call.attrs, 1), want_counts = BoolAttr(call.attrs, 2);
  return Tensors{values, want_inverse ? inverse : none,
                 want_counts ? counts.WithMeta(ContiguousMeta(DType::kInt64, {distinct})) : none};
}

Result<Tensors> BinCount(const KernelCall& call) {
  const Tensor& self = call.in(0);
  if (IsFloating(self.dtype()) || self.dtype() == DType::kBool)
    return NotImplementedFor("bincount_cpu", self.dtype());
  int64_t least = IntAttr(call.attrs, 0);
  if (least < 0) return RuntimeError("minlength should be >= 0");
  TB_ASSIGN_OR_RETURN(Tensor index, AsContiguous(self, DType::kInt64));
  int64_t n = index.meta().numel(), most = -1;
  if (index.meta().rank() != 1 && n > 0)
    return RuntimeError("bincount only supports 1-d non-negative integral inputs.");
  for (int64_t i = 0; i < n; ++i) {
    if (index.data<int64_t>()[i] < 0)
      return RuntimeError("bincount only supports 1-d non-negative integral inputs.");
    most = std::max(most, index.data<int64_t>()[i]);
  }
  bool weighted = call.has(1);
  if (weighted && (call.in(1).meta().rank() != 1 || call.in(1).sizes()[0] != n)) {
    return RuntimeError("weights should be 1-d and have the same length as input");
  }
  if (most == INT64_MAX) return MemoryError("bincount: the largest value is too large");
  Sizes sizes{std::max(least, most + 1)};
  if (!weighted) {
    TB_ASSIGN_OR_RETURN(Tensor out, Zeros(DType::kInt64, sizes));
    for (int64_t i = 0; i < n; ++i) ++out.data<int64_t>()[index.data<int64_t>()[i]];
    return Tensors{out};
  }
  DType dtype = call.in(1).dtype() == DType::kFloat32 ? DType::kFloat32 : DType::kFloat64;
  TB_ASSIGN_OR_RETURN(Tensor weights, AsContiguous(call.in(1), dtype));
  TB_ASSIGN_OR_RETURN(Tensor out, Zeros(dtype, sizes));
  DispatchFloating(dtype, [&]<typename T>() {
    for (int64_t i = 0; i < n; ++i) out.data<T>()[index.data<int64_t>()[i]] += weights.data<T>()[i];
  });
  return Tensors{out};
}

}  // namespace

Result<Tensors> MaskToIndices(const Tensor& mask) {
  TB_ASSIGN_OR_RETURN(Tensor dense, AsContiguous(mask, DType::kBool));
  int64_t rank = dense.meta().rank(), count = CountTrue(dense);
  TB_ASSIGN_OR_RETURN(Tensor all, Tensor::Empty(DType::kInt64, {rank, count}));
  WriteCoordinates(dense, all.data<int64_t>(), 1, count);
  Tensors parts;
  for (int64_t d = 0; d < rank; ++d) {
    TensorMeta meta = ContiguousMeta(DType::kInt64, {count});
    meta.offset = d * count;
    parts.push_back(all.WithMeta(std::move(meta)));
  }
  return parts;
}

Result<Tensors> ExecuteDataDependent(const KernelCall& call) {
  switch (call.op) {
    case Op::k_nonzero: return NonZero(call.in(0));
    case Op::k_masked_select: return MaskedSelect(call.in(0), call.in(1));
    case Op::k_unique: return Unique(call);
    case Op::k_bincount: return BinCount(call);
    default: return ExecuteIndexing(call);  // index by a mask, one_hot without num_classes
  }
}

}  // namespace thirdbook
