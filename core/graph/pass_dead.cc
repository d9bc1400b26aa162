// drop-dead: removes pure nodes that no output reaches; renumbers the rest.
//
// Inputs stay (the caller hands them over), random ops stay (their draws move the generator), and so does
// what may raise.
#include "graph/passes.h"

namespace thirdbook {

int DropDead(Graph* graph) {
  std::vector<Node>& nodes = graph->mutable_nodes();
  std::vector<bool> live(nodes.size(), false);
  for (ValueRef v : graph->outputs()) live[static_cast<size_t>(v.node.value)] = true;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!IsPure(nodes[i]) || MayFail(nodes[i])) live[i] = true;
    if (!live[i]) continue;
    for (ValueRef v : nodes[i].operands) {
      if (v.defined()) live[static_cast<size_t>(v.node.value)] = true;
    }
  }
  std::vector<NodeId> moved(nodes.size());
  std::vector<Node> kept;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!live[i]) continue;
    moved[i] = NodeId{static_cast<int32_t>(kept.size())};
    kept.push_back(std::move(nodes[i]));
  }
  int dropped = static_cast<int>(nodes.size() - kept.size());
  auto renumber = [&moved](ValueRef v) {
    return v.defined() ? ValueRef{moved[static_cast<size_t>(v.node.value)], v.output} : v;
  };
  for (Node& node : kept) {
    for (ValueRef& v : node.operands) v = renumber(v);
  }
  std::vector<ValueRef> outputs = graph->outputs();
  for (ValueRef& v : outputs) v = renumber(v);
  graph->ReplaceNodes(std::move(kept), std::move(outputs));
  return dropped;
}

}  // namespace thirdbook
