// A fused unit as a loop kernel with its bindings.
//
// In: a unit (fuse.h), the metadata of the values at hand, and which of its members are needed outside. Out:
// the loop form, and for each of its buffers the graph value it stands for, with strides and sizes, ready to
// become argument cells. Invariant: kernel.Key depends on the structure only (which dimensions vary, which
// are contiguous), never on sizes.
//
// Dimensions of size 1 are dropped, neighbours that every buffer walks through in one stride are joined, and
// the lanes go where most buffers are contiguous.
#pragma once

#include "base/status.h"
#include "kernel/fuse.h"
#include "kernel/loops.h"

namespace thirdbook {

struct BufferBinding {
  ValueRef value;        // the graph value (a view's base is found by the planner)
  Sizes strides;         // in bytes, by loop dimension
  Sizes domain_strides;  // in bytes, by dimension of the unit's domain
};

// Elements of an operand that are used as indices: those of `value` lie in [low, high).
struct IndexBounds {
  ValueRef value;
  int64_t low, high;
};

struct LoweredUnit {
  LoopKernel kernel;
  std::vector<BufferBinding> buffers;  // as kernel.buffers
  Sizes sizes;                         // of the loop dimensions
  std::vector<int64_t> parameters;     // as k_parameter counts them
  std::vector<IndexBounds> indices;
  int row_loop = -1;  // which loop is LowerOptions::row_dim; -1: none (size 1)
  // Scratch rows are as long as the product of the inner sizes.
  int64_t RowLength() const;
};

struct LowerOptions {
  // For the epilogue of a product, which runs on bands of rows: dimensions that the caller iterates (their
  // loops are left out), and the dimension of the rows, which becomes the only outer loop.
  uint32_t outside = 0;
  int row_dim = -1;
  // A member that is computed elsewhere (the product): read from its own buffer instead; an optional second
  // value is added to it.
  ValueRef product;
  ValueRef product_bias;
  DimMap product_bias_dims;
};

// `outputs`: the members' values that have to be stored.
Result<LoweredUnit> Lower(const Graph& graph, const ValueMetas& metas, const Unit& unit,
                          const std::vector<ValueRef>& outputs, const LowerOptions& options = {});

// "mul_add_tanh": the ops of a unit, shortened.
std::string UnitName(const Graph& graph, const Unit& unit);

}  // namespace thirdbook
