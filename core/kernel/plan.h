// A plan: what one call does, step by step, for one set of input metadata.
//
//   slots   where values live:  input i · constant · arena block · output (fresh at each run) · given (by a
//   library step) steps   kernel   cells with addresses patched in, one generated function
//           product  packed matrix product or convolution, then its epilogue kernel on each band of rows
//           library  one node through tensor/kernels.h
//           copy     an output that would share its storage gets one of its own
//
// In: an optimised graph and metas. Out: a plan; executable.cc runs it. Invariant: a step reads slots that
// earlier steps wrote.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "kernel/engine.h"
#include "kernel/fuse.h"
#include "kernel/lower.h"
#include "kernel/product.h"

namespace thirdbook {

struct Slot {
  enum class Kind : uint8_t { kInput, kConstant, kArena, kOutput, kGiven } kind = Kind::kInput;
  int index = 0;  // input number
  Tensor constant;
  TensorMeta meta;     // of the base value
  int64_t reach = 0;   // inputs: elements of the storage that views use, where they may go beyond the input
  int64_t offset = 0;  // in the arena, bytes
  int first = -1, last = -1;  // steps that use it
};

// Where a value is: its slot and how it is seen there.
struct Place {
  int slot = -1;
  TensorMeta meta;
};

struct Pointer {
  int cell;
  int slot;
  int64_t offset;  // bytes from the slot's first element
};

// Elements that a step uses as indices, and where they must lie: [low, high).
struct IndexPlace {
  Place place;
  int64_t low, high;
};

struct Step {
  enum class Kind : uint8_t { kKernel, kProduct, kLibrary, kCopy } kind = Kind::kKernel;
  // kKernel, and the epilogue of kProduct
  std::shared_ptr<const CompiledKernel> kernel;
  std::vector<Cell> cells;
  std::vector<Pointer> pointers;
  std::vector<int64_t> scratch_offsets;  // in the arena
  std::vector<NodeId> nodes;             // what it computes
  std::vector<IndexPlace> indices;
  std::string name;
  // kProduct; `kernel` is its epilogue, if any
  ProductShape product;
  int product_buffer = -1;                           // the epilogue's buffer that it is
  int a = -1, b = -1, c = -1;                        // slots
  int64_t a_offset = 0, b_offset = 0, c_offset = 0;  // bytes
  std::vector<std::vector<int64_t>> batch_offsets;   // of each pointer, bytes
  std::vector<int64_t> row_strides;                  // of each pointer, bytes
  int rows_cell = -1;                                // the epilogue's row count
  int64_t workspace_offset = 0;                      // in the arena, as the kernel's scratch rows are
  // kLibrary: operands and results; kCopy: places[0] into slot `result`
  NodeId node;
  std::vector<Place> places;  // slot -1: a missing operand
  std::vector<int> results;
};

struct Plan {
  std::vector<TensorMeta> inputs;  // what it was made for
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<Place> outputs;
  int64_t arena_bytes = 0;
};

struct PlanOptions {
  bool generate = true;  // false: library steps only (Backend::kReference)
  // For a GPU: kernels are not compiled, slots have no place in an arena, every product is a product step,
  // and its epilogue (never folding) is lowered over the whole result.
  bool device = false;
  // Units whose loops it refuses run as library steps; null: it refuses none.
  bool (*emits)(const LoopKernel&) = nullptr;
  // What else may become a kernel (lower_indexed.h), and how many buffers it may bind.
  Result<LoweredUnit> (*lower)(const Graph&, const ValueMetas&, NodeId, int max_buffers) = nullptr;
  int max_buffers = 0;
  FuseOptions fuse;
};

Status BeyondStorage();  // an as_strided that leaves its base's storage

// Metadata of all values for these inputs; the error is the user's.
Result<ValueMetas> InferMetas(const Graph& graph, const std::vector<const TensorMeta*>& inputs);
Result<std::unique_ptr<Plan>> MakePlan(const Graph& graph, const std::vector<const TensorMeta*>& inputs,
                                       const PlanOptions& options);

std::string Print(const Graph& graph, const Plan& plan);

}  // namespace thirdbook
