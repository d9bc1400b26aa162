// See resize.h.
#include "graph/resize.h"

#include <algorithm>

namespace thirdbook {

// Whether outputs are as many and of the same ranks and dtypes; more than that the sizes may not change.
static bool SameForm(const std::vector<TensorMeta>& a, const std::vector<TensorMeta>& b) {
  return std::ranges::equal(a, b, [](const TensorMeta& x, const TensorMeta& y) {
    return x.rank() == y.rank() && x.dtype == y.dtype;
  });
}

Attrs AttrsFor(const Node& node, const std::vector<ResizedInput>& inputs) {
  Attrs attrs = node.attrs;
  for (const SymbolicInt& s : node.symbolic) {
    Attr& attr = attrs[static_cast<size_t>(s.attr)];
    const int64_t value = inputs[static_cast<size_t>(s.input)].number;
    if (s.element < 0) {
      attr = value;
    } else {
      std::get<Sizes>(attr)[static_cast<size_t>(s.element)] = value;
    }
  }
  return attrs;
}

Status InferResized(const Graph& graph, const std::vector<ResizedInput>& inputs, NodeMetas* metas) {
  size_t next_input = 0;
  for (size_t i = 0; i < metas->size(); ++i) next_input += graph.nodes()[i].op == Op::k_input;
  for (size_t i = metas->size(); i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.op == Op::k_input) {
      metas->push_back({inputs[next_input++].meta});
      continue;
    }
    if (node.op == Op::k_constant) {
      metas->push_back(node.metas);
      continue;
    }
    std::vector<const TensorMeta*> operands;
    for (ValueRef v : node.operands) {
      operands.push_back(v.defined()
                             ? &(*metas)[static_cast<size_t>(v.node.value)][static_cast<size_t>(v.output)]
                             : nullptr);
    }
    TB_ASSIGN_OR_RETURN(
        std::vector<TensorMeta> inferred,
        Infer(node.op, operands, node.symbolic.empty() ? node.attrs : AttrsFor(node, inputs)));
    if (!SameForm(inferred, node.metas))
      return RuntimeError("other sizes change what the operation gives, not only how large it is");
    metas->push_back(std::move(inferred));
  }
  return Status::Ok();
}

Result<Graph> Resize(const Graph& graph, const std::vector<ResizedInput>& inputs) {
  NodeMetas metas;
  TB_RETURN_IF_ERROR(InferResized(graph, inputs, &metas));
  Graph resized = graph;
  for (size_t i = 0; i < metas.size(); ++i) {
    Node& node = resized.mutable_nodes()[i];
    node.metas = std::move(metas[i]);
    if (node.symbolic.empty()) continue;
    node.attrs = AttrsFor(node, inputs);
    node.symbolic.clear();
  }
  return resized;
}

}  // namespace thirdbook
