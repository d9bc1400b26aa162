// Indexing by tensors, and the rule of x[i, :, mask].
//
//   x of sizes [a, b, c, d]    index(x, [i, missing, j])    i, j broadcast to B
//     the tensors stand side by side    → B takes their place
//     something lies between them       → B comes first
#include <algorithm>
#include <cstdlib>

#include "graph/infer.h"

namespace thirdbook {
namespace {

long long LL(int64_t x) { return static_cast<long long>(x); }

bool IsIndexDType(DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64; }
bool IsMask(const TensorMeta& m) { return m.dtype == DType::kBool || m.dtype == DType::kUInt8; }

Result<Metas> IndexPut(const Call& call) {
  const TensorMeta& self = call.in(0);
  size_t last = call.operands.size() - 1;
  const TensorMeta& values = call.in(last);
  std::vector<const TensorMeta*> indices(call.operands.begin() + 1,
                                         call.operands.begin() + static_cast<long>(last));
  TB_ASSIGN_OR_RETURN(IndexShape shape, ResolveIndex(self, indices));
  if (FillsMask(indices, values) && !BoolAttr(call.attrs, 0)) return Fresh(self.dtype, self.sizes);
  if (!values.weak && values.dtype != self.dtype) {
    return RuntimeError(
        Format("Index put requires the source and destination dtypes match, got %s for the destination and "
               "%s for the "
               "source.",
               DTypeScalarName(self.dtype).data(), DTypeScalarName(values.dtype).data()));
  }
  if (!shape.has_mask) {
    Result<Sizes> sizes = BroadcastSizes(values.sizes, shape.result);
    if (!sizes.ok() || *sizes != shape.result) {
      return RuntimeError("shape mismatch: value tensor of shape " + SizesText(values.sizes) +
                          " cannot be broadcast to indexing result of shape " + SizesText(shape.result));
    }
  }
  return Fresh(self.dtype, self.sizes);
}

Result<Metas> IndexAdd(const Call& call) {
  const TensorMeta &self = call.in(0), &index = call.in(1), &source = call.in(2);
  TB_ASSIGN_OR_RETURN(int64_t dim, WrapDim(IntAttr(call.attrs, 0), self.rank()));
  if (index.rank() > 1)
    return IndexError("index_add_(): Index is supposed to be a vector, but got dim: " +
                      std::to_string(index.rank()));
  if (!IsIndexDType(index.dtype)) return RuntimeError("index_add_(): Expected dtype int32/int64 for index");
  if (self.dtype != source.dtype) {
    return RuntimeError(Format("index_add_(): self (%s) and source (%s) must have the same scalar type",
                               DTypeScalarName(self.dtype).data(), DTypeScalarName(source.dtype).data()));
  }
  if (DropDim(self.sizes, dim, false) != DropDim(source.sizes, dim, false) || self.rank() != source.rank()) {
    return RuntimeError(
        "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape "
        "= " +
        SizesText(self.sizes) + " source.shape = " + SizesText(source.sizes));
  }
  int64_t extent = source.rank() > 0 ? source.sizes[static_cast<size_t>(dim)] : 1;
  if (index.numel() != extent) {
    return RuntimeError(Format(
        "index_add_(): Number of indices (%lld) should be equal to source.size(dim): (%lld), for dim: %lld",
        LL(index.numel()), LL(extent), LL(dim)));
  }
  if (IsFloatAttr(call.attrs[1]) && !IsFloating(self.dtype)) {
    return RuntimeError("For integral input tensors, argument alpha must not be a floating point number.");
  }
  return Fresh(self.dtype, self.sizes);
}

Result<Metas> Gather(const Call& call) {
  const TensorMeta &self = call.in(0), &index = call.in(1);
  TB_ASSIGN_OR_RETURN(int64_t dim, WrapDim(IntAttr(call.attrs, 0), self.rank()));
  if (index.numel() == 0) return Fresh(self.dtype, index.sizes);
  if (!IsIndexDType(index.dtype)) return RuntimeError("gather(): Expected dtype int32/int64 for index");
  if (std::max<int64_t>(index.rank(), 1) != std::max<int64_t>(self.rank(), 1)) {
    return RuntimeError("Index tensor must have the same number of dimensions as input tensor");
  }
  for (int64_t d = 0; d < std::min(index.rank(), self.rank()); ++d) {
    if (d != dim && index.sizes[static_cast<size_t>(d)] > self.sizes[static_cast<size_t>(d)]) {
      return RuntimeError(Format(
          "Size does not match at dimension %lld expected index %s to be no larger than self %s apart from "
          "dimension %lld",
          LL(d), SizesText(index.sizes).c_str(), SizesText(self.sizes).c_str(), LL(dim)));
    }
  }
  return Fresh(self.dtype, index.sizes);
}

Result<Metas> Scatter(const Call& call) {
  const TensorMeta &self = call.in(0), &index = call.in(1), &src = call.in(2);
  TB_ASSIGN_OR_RETURN(int64_t dim, WrapDim(IntAttr(call.attrs, 0), self.rank()));
  if (!src.weak && src.dtype != self.dtype)
    return RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype");
  if (index.numel() > 0 && !IsIndexDType(index.dtype))
    return RuntimeError("scatter(): Expected dtype int32/int64 for index");
  if (index.numel() == 0) return Fresh(self.dtype, self.sizes);
  auto rank = [](const TensorMeta& m) { return std::max<int64_t>(m.rank(), 1); };
  if (rank(index) != rank(self))
    return RuntimeError("Index tensor must have the same number of dimensions as self tensor");
  if (!src.weak && rank(index) != rank(src))
    return RuntimeError("Index tensor must have the same number of dimensions as src tensor");
  for (int64_t d = 0; d < index.rank(); ++d) {
    size_t i = static_cast<size_t>(d);
    bool beyond_self = d != dim && d < self.rank() && index.sizes[i] > self.sizes[i];
    bool beyond_src = !src.weak && index.sizes[i] > (src.rank() > 0 ? src.sizes[i] : 1);
    if (beyond_self || beyond_src) {
      return RuntimeError(Format("Expected index %s to be no larger than self %s apart from dimension %lld",
                                 SizesText(index.sizes).c_str(), SizesText(self.sizes).c_str(), LL(dim)) +
                          (src.weak ? "" : " and to be no larger size than src " + SizesText(src.sizes)));
    }
  }
  return Fresh(self.dtype, self.sizes);
}

Result<Metas> Embedding(const Call& call) {
  const TensorMeta &weight = call.in(0), &indices = call.in(1);
  if (weight.rank() != 2) return RuntimeError("'weight' must be 2-D");
  if (!IsIndexDType(indices.dtype)) {
    return RuntimeError(
        Format("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
               "Int; but got "
               "torch.%sTensor instead (while checking arguments for embedding)",
               DTypeScalarName(indices.dtype).data()));
  }
  Sizes sizes = indices.sizes;
  sizes.push_back(weight.sizes[1]);
  return Fresh(weight.dtype, std::move(sizes));
}

}  // namespace

Result<IndexShape> ResolveIndex(const TensorMeta& self, const std::vector<const TensorMeta*>& indices) {
  IndexShape shape;
  int64_t dim = 0;                // of self
  int64_t first = -1, last = -1;  // dimensions that tensors index
  bool gap = false;
  Sizes between;       // kept dimensions
  int64_t before = 0;  // kept dimensions before the first tensor
  bool first_tensor = true;
  auto too_many = [&] {
    return IndexError(Format("too many indices for tensor of dimension %lld", LL(self.rank())));
  };
  for (size_t i = 0; i < indices.size(); ++i) {
    const TensorMeta* index = indices[i];
    if (!index) {
      if (dim >= self.rank()) return too_many();
      between.push_back(self.sizes[static_cast<size_t>(dim++)]);
      continue;
    }
    if (!IsMask(*index) && !IsIndexDType(index->dtype)) {
      return IndexError("tensors used as indices must be long, int, byte or bool tensors");
    }
    int64_t taken = IsMask(*index) ? index->rank() : 1;
    if (dim + taken > self.rank()) return too_many();
    if (IsMask(*index)) {
      shape.has_mask = true;
      for (int64_t d = 0; d < taken; ++d) {
        if (index->sizes[static_cast<size_t>(d)] != self.sizes[static_cast<size_t>(dim + d)]) {
          return IndexError(
              Format("The shape of the mask %s at index %lld does not match the shape of the indexed tensor "
                     "%s at index "
                     "%lld",
                     SizesText(index->sizes).c_str(), LL(d), SizesText(self.sizes).c_str(), LL(dim + d)));
        }
      }
    } else if (first_tensor) {
      shape.broadcast = index->sizes;
      first_tensor = false;
    } else {
      Result<Sizes> both = BroadcastSizes(shape.broadcast, index->sizes);
      if (!both.ok()) {
        std::string texts;
        for (const TensorMeta* m : indices) {
          if (m && !IsMask(*m)) texts += (texts.empty() ? "" : ", ") + SizesText(m->sizes);
        }
        return IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes " +
                          texts);
      }
      shape.broadcast = *std::move(both);
    }
    if (first < 0) {
      first = dim;
      before = static_cast<int64_t>(between.size());
    } else if (last != dim) {
      gap = true;
    }
    dim += taken;
    last = dim;
  }
  for (; dim < self.rank(); ++dim) between.push_back(self.sizes[static_cast<size_t>(dim)]);
  shape.position = gap || first < 0 ? 0 : before;
  shape.result = between;
  if (first >= 0)
    shape.result.insert(shape.result.begin() + shape.position, shape.broadcast.begin(),
                        shape.broadcast.end());
  return shape;
}

bool FillsMask(const std::vector<const TensorMeta*>& indices, const TensorMeta& values) {
  int masks = 0, others = 0;
  for (const TensorMeta* index : indices) {
    if (index) ++(IsMask(*index) ? masks : others);
  }
  return values.numel() == 1 && masks == 1 && others == 0;
}

Result<Metas> InferIndexing(const Call& call) {
  const TensorMeta& self = call.in(0);
  switch (call.op) {
    case Op::k_index: {
      std::vector<const TensorMeta*> indices(call.operands.begin() + 1, call.operands.end());
      TB_ASSIGN_OR_RETURN(IndexShape shape, ResolveIndex(self, indices));
      int64_t numel = 1;
      for (int64_t s : shape.result) numel *= s;
      if (numel > 0 && self.numel() == 0)
        return IndexError("index is out of bounds for dimension with size 0");
      return Fresh(self.dtype, std::move(shape.result));
    }
    case Op::k_index_put: return IndexPut(call);
    case Op::k_index_select: {
      TB_ASSIGN_OR_RETURN(int64_t dim, WrapDim(IntAttr(call.attrs, 0), self.rank()));
      const TensorMeta& index = call.in(1);
      if (index.rank() > 1) return IndexError("index_select(): Index is supposed to be a vector");
      if (!IsIndexDType(index.dtype))
        return RuntimeError("index_select(): Expected dtype int32 or int64 for index");
      Sizes sizes = self.sizes;
      if (sizes.empty()) {
        if (index.numel() != 1) return RuntimeError("index_select(): Index to scalar can have only 1 value");
      } else {
        sizes[static_cast<size_t>(dim)] = index.numel();
      }
      return Fresh(self.dtype, std::move(sizes));
    }
    case Op::k_index_add: return IndexAdd(call);
    case Op::k_gather: return Gather(call);
    case Op::k_scatter:
    case Op::k_scatter_add: return Scatter(call);
    case Op::k_embedding: return Embedding(call);
    default: {  // one_hot
      if (self.dtype != DType::kInt64)
        return RuntimeError("one_hot is only applicable to index tensor of type LongTensor.");
      int64_t classes = IntAttr(call.attrs, 0);
      if (classes < 1) return RuntimeError("num_classes should be positive");
      Sizes sizes = self.sizes;
      sizes.push_back(classes);
      return Fresh(DType::kInt64, std::move(sizes));
    }
  }
}

}  // namespace thirdbook
