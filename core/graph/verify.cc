// The executable specification of a legal graph.
#include "graph/graph.h"
#include "graph/shape.h"

namespace thirdbook {
namespace {

Status Broken(size_t node, const std::string& what) {
  return RuntimeError("graph: %" + std::to_string(node) + ": " + what);
}

Status CheckSource(const Graph& graph, size_t i) {
  const Node& node = graph.nodes()[i];
  if (!node.operands.empty() || node.metas.size() != 1)
    return Broken(i, "a source has no operands and one output");
  const TensorMeta& meta = node.metas[0];
  if (meta.sizes.size() != meta.strides.size()) return Broken(i, "sizes and strides differ in length");
  TB_RETURN_IF_ERROR(CheckedNumel(meta.sizes).status());
  if (node.op == Op::k_constant) {
    if (!node.constant.defined()) return Broken(i, "a constant without a value");
    const TensorMeta& value = node.constant.meta();
    if (value.dtype != meta.dtype || value.sizes != meta.sizes)
      return Broken(i, "the constant's value is not what its meta says");
  }
  if (meta.weak && meta.rank() != 0) return Broken(i, "a weak value has dimensions");
  return Status::Ok();
}

bool Exists(const Graph& graph, ValueRef v, size_t before) {
  if (!v.defined() || static_cast<size_t>(v.node.value) >= before) return false;
  return v.output >= 0 && static_cast<size_t>(v.output) < graph.node(v.node).metas.size();
}

}  // namespace

Status Verify(const Graph& graph) {
  size_t inputs = 0;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.op >= Op::kCount) return Broken(i, "no such op");
    if (node.op == Op::k_input || node.op == Op::k_constant) {
      TB_RETURN_IF_ERROR(CheckSource(graph, i));
      if (node.op == Op::k_input) {
        bool listed =
            inputs < graph.inputs().size() && graph.inputs()[inputs].value == static_cast<int32_t>(i);
        if (!listed) return Broken(i, "an input out of order");
        ++inputs;
      }
      continue;
    }
    std::vector<const TensorMeta*> metas;
    for (ValueRef v : node.operands) {
      if (v.defined() && !Exists(graph, v, i)) return Broken(i, "an operand that is not computed before");
      metas.push_back(v.defined() ? &graph.meta(v) : nullptr);
    }
    Result<std::vector<TensorMeta>> inferred = Infer(node.op, metas, node.attrs);
    if (!inferred.ok()) return Broken(i, inferred.status().message());
    if (*inferred != node.metas) return Broken(i, "metadata differs from what Infer says");
  }
  if (inputs != graph.inputs().size()) return RuntimeError("graph: the list of inputs names other nodes");
  for (ValueRef v : graph.outputs()) {
    if (!Exists(graph, v, graph.nodes().size())) return RuntimeError("graph: an output that does not exist");
  }
  return Status::Ok();
}

}  // namespace thirdbook
