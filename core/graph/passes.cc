// The table of passes and what they share.
#include "graph/passes.h"

#include "graph/graph.h"

namespace thirdbook {

const std::vector<Pass>& Passes() {
  static const std::vector<Pass> passes = {
      {"fold-constants", "nodes whose operands are all constants become constants", FoldConstants},
      {"simplify-algebra", "x * 1, x / 1, x ** 1, not not x... become x, where IEEE results stay the same",
       SimplifyAlgebra},
      {"drop-no-ops", "views, conversions and copies that change nothing are skipped", DropNoOps},
      {"merge-common", "equal nodes with equal operands become one", MergeCommon},
      {"drop-dead", "nodes that no output needs are removed", DropDead},
  };
  return passes;
}

void Optimise(Graph* graph, std::vector<PassTrace>* trace) {
  // Every change removes or replaces a node, so this ends; the bound only guards against a pass that lies
  // about it.
  for (size_t round = 0; round <= graph->nodes().size() + 1; ++round) {
    int changes = 0;
    for (const Pass& pass : Passes()) {
      int count = pass.run(graph);
      changes += count;
      if (count > 0 && trace) trace->push_back({pass.name, count, Print(*graph)});
    }
    if (changes == 0) return;
  }
}

bool IsPure(const Node& node) { return node.op != Op::k_input && Info(node.op).op_class != OpClass::kRandom; }

bool MayFail(const Node& node) {
  if (Info(node.op).op_class == OpClass::kIndexing) return true;
  switch (node.op) {
    case Op::k_bincount:
    case Op::k_linalg_solve:
    case Op::k_linalg_inv:
    case Op::k_linalg_cholesky: return true;
    case Op::k_floor_divide:
    case Op::k_remainder:
    case Op::k_fmod:
    case Op::k_div: return !IsFloating(node.metas[0].dtype);
    default: return false;
  }
}

Replacement::Replacement(const Graph& graph) {
  for (const Node& node : graph.nodes()) by_node_.emplace_back(node.metas.size());
}

void Replacement::Set(ValueRef from, ValueRef to) {
  by_node_[static_cast<size_t>(from.node.value)][static_cast<size_t>(from.output)] = to;
}

ValueRef Replacement::Find(ValueRef value) const {
  while (value.defined()) {
    ValueRef next = by_node_[static_cast<size_t>(value.node.value)][static_cast<size_t>(value.output)];
    if (!next.defined()) break;
    value = next;
  }
  return value;
}

int Replacement::Apply(Graph* graph) const {
  int uses = 0;
  auto rewrite = [&](ValueRef* v) {
    ValueRef found = Find(*v);
    if (found == *v) return;
    *v = found;
    ++uses;
  };
  for (Node& node : graph->mutable_nodes()) {
    for (ValueRef& v : node.operands) rewrite(&v);
  }
  std::vector<ValueRef> outputs = graph->outputs();
  for (ValueRef& v : outputs) rewrite(&v);
  graph->set_outputs(std::move(outputs));
  return uses;
}

}  // namespace thirdbook
