// fold-constants: a pure node on constants is computed now, as long as the result is small.
#include "graph/passes.h"
#include "tensor/kernels.h"

namespace thirdbook {
namespace {

constexpr int64_t kMostElements = 4096;  // a larger constant costs more memory than its computation saves

bool Folds(const Graph& graph, const Node& node) {
  OpClass op_class = Info(node.op).op_class;
  if (!IsPure(node) || op_class == OpClass::kSource || op_class == OpClass::kDataDependent ||
      node.metas.size() != 1)
    return false;
  if (node.metas[0].numel() > kMostElements) return false;
  for (ValueRef v : node.operands) {
    if (v.defined() && graph.node(v.node).op != Op::k_constant) return false;
  }
  return true;
}

}  // namespace

int FoldConstants(Graph* graph) {
  int folded = 0;
  for (Node& node : graph->mutable_nodes()) {
    if (!Folds(*graph, node)) continue;
    std::vector<Tensor> operands;
    for (ValueRef v : node.operands) {
      if (!v.defined()) {
        operands.emplace_back();
        continue;
      }
      const Node& constant = graph->node(v.node);
      TensorMeta meta = constant.constant.meta();
      meta.weak = constant.metas[0].weak;
      operands.push_back(constant.constant.WithMeta(std::move(meta)));
    }
    Result<std::vector<Tensor>> value = Execute(node.op, operands, node.attrs);
    if (!value.ok()) continue;  // it fails when the graph runs, as eager does
    // What the metadata says has to stay; a view of a constant is as good as a fresh one.
    TensorMeta meta = node.metas[0];
    node.op = Op::k_constant;
    node.operands.clear();
    node.attrs.clear();
    node.constant = (*value)[0];
    node.metas[0] = std::move(meta);
    ++folded;
  }
  return folded;
}

}  // namespace thirdbook
