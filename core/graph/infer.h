// Inference by class of op; internal to the graph library. Callers use Infer (op.h).
//
// In: a call whose operand count and attribute types have been validated against the schema. Out: metadata or
// PyTorch's error.
#pragma once

#include "graph/attrs.h"
#include "graph/op.h"
#include "graph/shape.h"

namespace thirdbook {

using Metas = std::vector<TensorMeta>;

struct Call {
  Op op;
  const std::vector<const TensorMeta*>& operands;
  const Attrs& attrs;

  const TensorMeta& in(size_t i) const { return *operands[i]; }
  bool has(size_t i) const { return i < operands.size() && operands[i] != nullptr; }
  std::string_view name() const { return Info(op).name; }
};

Result<Metas> InferCreation(const Call& call);  // kSource and kRandom
Result<Metas> InferPointwise(const Call& call);
Result<Metas> InferReduction(const Call& call);
Result<Metas> InferView(const Call& call);      // kView and kMaybeView
Result<Metas> InferAlongDim(const Call& call);  // softmax, layer_norm, cumsum, sort, topk...
Result<Metas> InferLinearAlgebra(const Call& call);
Result<Metas> InferRearrange(const Call& call);
Result<Metas> InferIndexing(const Call& call);
Result<Metas> InferSpatial(const Call& call);

// A fresh contiguous output; an error when the sizes are negative or too large.
Result<Metas> Fresh(DType dtype, Sizes sizes);

// The view `base` of a slice write: what slice_scatter and select_scatter replace, as a view op's meta.
Result<TensorMeta> InferOneView(Op op, const TensorMeta& meta, const Attrs& attrs);

// "\"name\" not implemented for 'Long'"
Status NotImplementedFor(std::string_view kernel, DType dtype);

// C++ names of dtypes, which some of PyTorch's texts use: "float", "long int"...
const char* CTypeName(DType dtype);

// Operands of an index call as dimensions of the indexed tensor.
//
//   x[i0, :, m]  with a bool mask m of rank 2: entries {0, 1 missing, 2..3 by the mask}
//
// `result` is the size of the indexed part; valid only when there is no mask.
struct IndexShape {
  bool has_mask = false;
  Sizes broadcast;  // of the index tensors
  Sizes result;
  int64_t position = 0;  // where the broadcast sizes stand in `result`
};
// Whether x[indices] = values fills a mask with one number: then its dtype and rank do not matter.
bool FillsMask(const std::vector<const TensorMeta*>& indices, const TensorMeta& values);
Result<IndexShape> ResolveIndex(const TensorMeta& self, const std::vector<const TensorMeta*>& indices);

}  // namespace thirdbook
