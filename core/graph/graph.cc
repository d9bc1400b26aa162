// Building a graph.
#include "graph/graph.h"

#include "graph/shape.h"

namespace thirdbook {

ValueRef Graph::AddInput(std::string name, TensorMeta meta) {
  Node node{};
  node.op = Op::k_input;
  node.metas.push_back(std::move(meta));
  node.name = std::move(name);
  NodeId id{static_cast<int32_t>(nodes_.size())};
  nodes_.push_back(std::move(node));
  inputs_.push_back(id);
  return {id, 0};
}

ValueRef Graph::AddConstant(Tensor value, bool weak) {
  Node node{};
  node.op = Op::k_constant;
  TensorMeta meta = value.meta();
  meta.weak = weak;
  node.metas.push_back(std::move(meta));
  node.constant = std::move(value);
  NodeId id{static_cast<int32_t>(nodes_.size())};
  nodes_.push_back(std::move(node));
  return {id, 0};
}

Result<ValueRef> Graph::AddNode(Op op, std::vector<ValueRef> operands, Attrs attrs, SourceSpan span) {
  Node node{};
  node.op = op;
  node.attrs = CompleteAttrs(op, std::move(attrs));
  std::vector<const TensorMeta*> metas;
  metas.reserve(operands.size());
  for (ValueRef v : operands) metas.push_back(v.defined() ? &meta(v) : nullptr);
  TB_ASSIGN_OR_RETURN(node.metas, Infer(op, metas, node.attrs));
  node.operands = std::move(operands);
  node.span = std::move(span);
  NodeId id{static_cast<int32_t>(nodes_.size())};
  nodes_.push_back(std::move(node));
  return ValueRef{id, 0};
}

void Graph::ReplaceNodes(std::vector<Node> nodes, std::vector<ValueRef> outputs) {
  nodes_ = std::move(nodes);
  outputs_ = std::move(outputs);
  inputs_.clear();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].op == Op::k_input) inputs_.push_back(NodeId{static_cast<int32_t>(i)});
  }
}

}  // namespace thirdbook
