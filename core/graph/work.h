// How much a graph computes, in numbers that do not depend on the machine.
#pragma once

#include "graph/graph.h"

namespace thirdbook {

struct GraphWork {
  double products = 0;  // multiplications with their additions, of matrix products and convolutions
  double elements = 0;  // elements that other operations compute or read
  double bytes = 0;     // of inputs and outputs
};

// For the sizes of the metadata. Nothing at all where an operation or a dtype has no shader: then no GPU is
// worth asking.
GraphWork WorkOf(const Graph& graph);

}  // namespace thirdbook
