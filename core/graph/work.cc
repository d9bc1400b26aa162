// See work.h.
#include "graph/work.h"

#include <algorithm>

namespace thirdbook {
namespace {

double BytesOf(const TensorMeta& meta) { return static_cast<double>(meta.numel() * ItemSize(meta.dtype)); }

// What each output element of a product sums up; 0: it is none.
int64_t TermsOf(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::k_matmul:
    case Op::k_mm:
    case Op::k_mv:
    case Op::k_bmm:
    case Op::k_dot:
    case Op::k_linear: {
      const Sizes& sizes = graph.meta(node.operands[0]).sizes;
      return sizes.empty() ? 0 : sizes.back();
    }
    case Op::k_addmm: return graph.meta(node.operands[1]).sizes.back();
    case Op::k_conv1d:
    case Op::k_conv2d: {
      const TensorMeta& weight = graph.meta(node.operands[1]);
      return weight.numel() / std::max<int64_t>(weight.sizes[0], 1);
    }
    default: return 0;
  }
}

// Whether a shader computes it where its dtype allows (kernel/lower_indexed.h, kernel/fuse.h).
bool HasShader(Op op, OpClass op_class) {
  switch (op_class) {
    case OpClass::kAlong: return op == Op::k_softmax || op == Op::k_log_softmax || op == Op::k_layer_norm;
    case OpClass::kLinearAlgebra: return false;  // but products, which have terms
    case OpClass::kRearrange: return op != Op::k_as_strided_scatter;
    case OpClass::kIndexing:
      return op == Op::k_index || op == Op::k_index_select || op == Op::k_gather || op == Op::k_embedding ||
             op == Op::k_one_hot;
    case OpClass::kSpatial: return op != Op::k_upsample_bilinear2d;
    case OpClass::kRandom:
    case OpClass::kDataDependent: return false;
    default: return true;
  }
}

}  // namespace

GraphWork WorkOf(const Graph& graph) {
  GraphWork work;
  for (const Node& node : graph.nodes()) {
    const TensorMeta& meta = node.metas[0];
    const OpClass op_class = Info(node.op).op_class;
    if (node.op == Op::k_input) work.bytes += BytesOf(meta);
    if (op_class == OpClass::kSource || op_class == OpClass::kView) continue;
    const int64_t terms = TermsOf(graph, node);
    if (meta.dtype == DType::kFloat64 && meta.numel() > 1) return {};
    if (terms == 0 && !HasShader(node.op, op_class)) return {};
    int64_t elements = meta.numel();
    if (!node.operands.empty() && node.operands[0].defined() && terms == 0)
      elements = std::max(elements, graph.meta(node.operands[0]).numel());
    work.products += static_cast<double>(meta.numel()) * static_cast<double>(terms);
    if (terms == 0) work.elements += static_cast<double>(elements);
  }
  for (ValueRef v : graph.outputs()) work.bytes += BytesOf(graph.meta(v));
  return work;
}

}  // namespace thirdbook
