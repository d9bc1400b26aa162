// Nodes that become packed products: matmul and its kin, linear layers, convolutions.
//
// In: a node and the metadata of its operands. Out: the product's shape, where its operands are, and its
// bias; false when the node has to run as a library kernel (other dtypes, layouts that packing does not read,
// too small to gain).
#pragma once

#include "kernel/fuse.h"
#include "kernel/product.h"

namespace thirdbook {

// A matrix product as the graph has it.
struct ProductNode {
  ProductShape shape;
  ValueRef a, b, bias;
  int row_dim = 0;  // of the output
  DimMap bias_dims;
  int groups = 1;
};

// `small`: products of any size, and of vectors, too.
bool AsProduct(const Graph& graph, const ValueMetas& metas, NodeId id, bool small, ProductNode* out);

}  // namespace thirdbook
