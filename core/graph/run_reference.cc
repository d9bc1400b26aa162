// The reference executor: node by node, library kernels only.
#include "graph/graph.h"
#include "graph/shape.h"
#include "tensor/convert.h"
#include "tensor/kernels.h"

namespace thirdbook {
namespace {

// For each node the last node that reads it, so that intermediates are freed as soon as possible.
std::vector<size_t> LastUses(const Graph& graph) {
  std::vector<size_t> last(graph.nodes().size());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    last[i] = i;
    for (ValueRef v : graph.nodes()[i].operands) {
      if (v.defined()) last[static_cast<size_t>(v.node.value)] = i;
    }
  }
  for (ValueRef v : graph.outputs()) last[static_cast<size_t>(v.node.value)] = graph.nodes().size();
  return last;
}

}  // namespace

Result<std::vector<Tensor>> RunReference(const Graph& graph, const std::vector<Tensor>& inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return TypeError(Format("the graph takes %zu inputs, got %zu", graph.inputs().size(), inputs.size()));
  }
  std::vector<std::vector<Tensor>> values(graph.nodes().size());
  std::vector<size_t> last = LastUses(graph);
  std::vector<std::vector<size_t>> dying(graph.nodes().size());
  for (size_t i = 0; i < last.size(); ++i) {
    if (last[i] < graph.nodes().size()) dying[last[i]].push_back(i);
  }
  std::vector<const void*>
      taken;  // storages that an output must not share: inputs', constants', earlier outputs'
  size_t next_input = 0;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.op == Op::k_input || node.op == Op::k_constant) {
      Tensor value = node.op == Op::k_input ? inputs[next_input++] : node.constant;
      if (!value.defined()) return TypeError("an input of the graph is missing");
      TensorMeta meta = value.meta();
      meta.weak = node.metas[0].weak;
      taken.push_back(value.storage().get());
      values[i].push_back(value.WithMeta(std::move(meta)));
    } else {
      std::vector<Tensor> operands;
      operands.reserve(node.operands.size());
      for (ValueRef v : node.operands) {
        operands.push_back(v.defined()
                               ? values[static_cast<size_t>(v.node.value)][static_cast<size_t>(v.output)]
                               : Tensor());
      }
      TB_ASSIGN_OR_RETURN(values[i], Execute(node.op, operands, node.attrs));
    }
    for (size_t dead : dying[i]) values[dead].clear();
  }
  std::vector<Tensor> outputs;
  for (ValueRef v : graph.outputs()) {
    Tensor value = values[static_cast<size_t>(v.node.value)][static_cast<size_t>(v.output)];
    bool shared = false;
    for (const void* storage : taken) shared |= storage == value.storage().get();
    if (shared) {
      TB_ASSIGN_OR_RETURN(value, CopyLayout(value));
    }
    taken.push_back(value.storage().get());
    TensorMeta meta = value.meta();
    meta.weak = false;
    outputs.push_back(value.WithMeta(std::move(meta)));
  }
  return outputs;
}

}  // namespace thirdbook
