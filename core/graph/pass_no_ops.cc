// drop-no-ops: nodes whose output is their operand, seen the same way.
//
// In a pure graph nobody can tell a copy from the original, so `clone` and `to` of the same dtype go, and
// every view whose sizes, strides and offset are its operand's. A view of a view where only the last one's
// place in memory counts (view, reshape, as_strided) reads the first operand directly.
#include "graph/attrs.h"
#include "graph/passes.h"

namespace thirdbook {
namespace {

bool MayVanish(Op op) {
  OpClass op_class = Info(op).op_class;
  return op_class == OpClass::kView || op_class == OpClass::kMaybeView || op == Op::k_clone || op == Op::k_to;
}

// A contiguous value seen with other sizes: (view | reshape | flatten | squeeze | unsqueeze) of such a one.
bool OnlyReshapes(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::k_view:
    case Op::k_reshape:
    case Op::k_flatten:
    case Op::k_squeeze:
    case Op::k_unsqueeze: {
      const TensorMeta& from = graph.meta(node.operands[0]);
      return from.IsContiguous() && node.metas[0].IsContiguous() && AliasesOperand(node.op, from, node.attrs);
    }
    default: return false;
  }
}

}  // namespace

int DropNoOps(Graph* graph) {
  Replacement replaced(*graph);
  int shortened = 0;
  std::vector<Node>& nodes = graph->mutable_nodes();
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node& node = nodes[i];
    if (!MayVanish(node.op)) continue;
    if (node.metas[0] == graph->meta(node.operands[0])) {
      replaced.Set({NodeId{static_cast<int32_t>(i)}, 0}, node.operands[0]);
      continue;
    }
    if (node.op != Op::k_view && node.op != Op::k_reshape) continue;
    const Node& inner = graph->node(node.operands[0].node);
    if (!OnlyReshapes(*graph, node) || !OnlyReshapes(*graph, inner)) continue;
    // The sizes must not be relative to the operand's: write them out.
    std::vector<TensorMeta> before = node.metas;
    Attrs attrs{before[0].sizes};
    Result<std::vector<TensorMeta>> after = Infer(node.op, {&graph->meta(inner.operands[0])}, attrs);
    if (!after.ok() || *after != before) continue;
    node.operands[0] = inner.operands[0];
    node.attrs = std::move(attrs);
    ++shortened;
  }
  return shortened + replaced.Apply(graph);
}

}  // namespace thirdbook
