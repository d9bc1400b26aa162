// Decides which nodes run together: the units of a plan.
//
// In: a graph and the metadata of its values for the sizes at hand. Out: units in an order that respects
// every dependency. A unit is one node that runs by itself (a library call, a matrix product), or a group
// that becomes one loop kernel.
//
// A group has a *domain*: the sizes its loops run over, some dimensions of which may be folded. Each value
// inside knows which domain dimension each of its own dimensions is:
//
//   domain [B, T], T folded          x - mean(x, -1, keepdim):   sub   {0, 1}   element
//                                                                mean  {0, -}   row: the same for all T
//
// Views between members only move, add or drop dimensions; other views end a group. Invariant: members'
// operands are members, or values of units earlier in the order.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace thirdbook {

// Metadata of every value, by node and output, for one set of input sizes.
using ValueMetas = std::vector<std::vector<TensorMeta>>;

// For each dimension of a value the domain dimension, or -1 where the value has size 1 (or is repeated).
using DimMap = std::vector<int>;

struct Member {
  NodeId node;
  DimMap dims;  // of its output
};

struct Unit {
  std::vector<Member> members;  // in topological order
  bool fused = false;           // a loop kernel; else exactly one member, run by itself
  Sizes domain;
  uint32_t folded = 0;  // bit d: domain dimension d is folded by the reductions inside
};

struct FuseOptions {
  int max_members = 40;
  bool fuse = true;  // false: every node by itself (still as kernels where possible)
};

// Whether a node can be part of a loop kernel at all.
bool CanLower(const Graph& graph, const ValueMetas& metas, NodeId node);

std::vector<Unit> Fuse(const Graph& graph, const ValueMetas& metas, const FuseOptions& options = {});

// How `value` (used as an operand) appears inside a unit: the member it comes from and the dims of the
// operand as it is used, through views. False when it does not come from a member or the view cannot be
// followed.
bool FollowViews(const Graph& graph, const ValueMetas& metas, const Unit& unit, ValueRef value,
                 const Member** member, DimMap* dims);

// Which dimensions a reduction-like node folds, as a mask over its operand's dimensions; 0 when it is not
// one. `along`: the output keeps the operand's sizes (softmax, layer_norm).
uint32_t FoldedDims(const Node& node, const TensorMeta& operand, bool* along, bool* keepdim);

std::string PrintUnits(const Graph& graph, const std::vector<Unit>& units);

}  // namespace thirdbook
