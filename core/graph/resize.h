// A graph read again for inputs of other sizes than those of the trace.
//
// In: a graph whose attributes may hold symbolic ints, and what is known of each input. Out: metadata, or a
// graph for just these sizes, without symbolic ints. Invariant: what does not infer is an error, as it is for
// eager calls.
#pragma once

#include "graph/graph.h"

namespace thirdbook {

struct ResizedInput {
  TensorMeta meta;
  int64_t number = 0;  // of a weak input: its value, where symbolic ints follow it
};

using NodeMetas = std::vector<std::vector<TensorMeta>>;

// The node's attributes with symbolic ints filled in.
Attrs AttrsFor(const Node& node, const std::vector<ResizedInput>& inputs);

// Goes on with `metas`, which has the first nodes', to the end of the graph.
Status InferResized(const Graph& graph, const std::vector<ResizedInput>& inputs, NodeMetas* metas);

Result<Graph> Resize(const Graph& graph, const std::vector<ResizedInput>& inputs);

}  // namespace thirdbook
