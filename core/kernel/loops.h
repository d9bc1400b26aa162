// The loop form of one kernel: what the planner lowers a fused group of nodes to, and what every emitter
// (wasm, WGSL) and the loop interpreter read.
//
//   for each outer position (a "row"):            outer dims, one loop each
//     stage 0  row        values that do not change inside the row
//     stage 1  element    for each inner position: load, compute, store, fold
//     stage 2  row        ... results of the folds ...
//     stage 3  element    ...
//
// A pointwise kernel has no fold: its inner loop is the innermost dimension. A reduction's inner loops are
// the folded dimensions. One dimension is cut into vectors ("lanes"): the last inner one, or, when the folded
// dimensions are not the contiguous ones, the last outer one.
//
// In: nothing but numbers (no graph, no addresses): sizes, strides and pointers are arguments of the kernel.
// Invariant (VerifyLoops): operands are defined before use at the same or an earlier stage; only element
// stages store whole buffers that vary inside the row; fold results are read after their stage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/dtype.h"

namespace thirdbook {

enum class Prim : uint8_t {
#define TB_PRIM(name, arity, prim_class) k_##name,
#include "kernel/prims.def"
#undef TB_PRIM
  kCount
};
enum class PrimClass : uint8_t { kLeaf, kCore, kMath, kHost, kPlace };
const char* PrimName(Prim prim);
int PrimArity(Prim prim);
PrimClass ClassOf(Prim prim);

// What a value is while it is computed. uint8 computes as kI32 (the lowering masks).
enum class LaneType : uint8_t { kBool, kI32, kI64, kF32, kF64 };
LaneType LaneTypeOf(DType dtype);
const char* LaneTypeName(LaneType type);
inline bool IsWide(LaneType type) { return type == LaneType::kI64 || type == LaneType::kF64; }
inline bool IsFloat(LaneType type) { return type == LaneType::kF32 || type == LaneType::kF64; }

struct Instr {
  Prim prim;
  LaneType type;
  int args[4] = {-1, -1, -1, -1};
  uint64_t imm = 0;
};

// How a buffer is stepped through along the lane dimension.
enum class Walk : uint8_t { kZero, kUnit, kStrided };

struct Buffer {
  DType dtype = DType::kFloat32;
  bool output = false;
  uint32_t varies = 0;  // bit d: the address changes with domain dimension d (outer dims first, then inner)
  Walk walk = Walk::kZero;  // along the lane dimension
  bool half = false;        // float32 that a GPU stores as float16
};

enum class FoldKind : uint8_t {
  kSum,
  kProd,
  kMin,
  kMax,
  kAny,
  kAll,
  kMaxNumber /* NaN counts for nothing */
};
const char* FoldName(FoldKind kind);
struct Fold {
  FoldKind kind;
  LaneType type;
  int value = -1;  // instruction folded, at an element stage
};
struct Store {
  int value = -1;
  int buffer = -1;
};
struct Stage {
  bool element = false;
  std::vector<int> body;  // instructions in order of evaluation
  std::vector<Store> stores;
  std::vector<int> folds;             // indices into LoopKernel::folds; element stages only
  std::vector<Store> scratch_stores;  // `buffer` is the scratch row
};

struct LoopKernel {
  std::string name;
  int outer = 0;  // number of outer dimensions
  int inner = 0;  // number of inner dimensions; 0: a scalar kernel (one element stage visits one element)
  bool lane_outer = false;  // the lanes run along the last outer dimension
  std::vector<Buffer> buffers;
  std::vector<Instr> instrs;
  std::vector<Fold> folds;
  std::vector<Stage> stages;
  int parameters = 0;
  std::vector<LaneType> scratch;  // scratch rows, each as long as the inner loops; never with lane_outer

  int dims() const { return outer + inner; }
  int lane_dim() const { return lane_outer ? outer - 1 : dims() - 1; }
  int Append(Instr instr) {
    instrs.push_back(instr);
    return static_cast<int>(instrs.size()) - 1;
  }
};

// Where an instruction can be computed: once per kernel, once per row, once per element.
enum class Depth : uint8_t { kKernel, kRow, kElement };
Depth DepthOf(const LoopKernel& kernel, const Instr& instr, const std::vector<Depth>& earlier);
std::vector<Depth> Depths(const LoopKernel& kernel);

// 4 lanes, or 2 when a 64-bit value is computed per lane. (64-bit scalars that are cast while loading do not
// count.)
int LaneCount(const LoopKernel& kernel);

std::string Print(const LoopKernel& kernel);
// Text that is equal for kernels with the same code: the cache key.
std::string Key(const LoopKernel& kernel);
// An empty string, or what is wrong.
std::string VerifyLoops(const LoopKernel& kernel);

// ---- Arguments
// A kernel is called with the address of cells of 8 bytes (little endian; the high half is zero on wasm32):
//   [0, B)                 addresses of the buffers' first elements
//   [B, B+D)               sizes of the dimensions
//   [B+D, B+D+B*D)         strides in bytes, buffer by buffer
//   then                   addresses of the scratch rows, then the parameters
using Cell = int64_t;
inline int SizeCell(const LoopKernel& k, int dim) { return static_cast<int>(k.buffers.size()) + dim; }
inline int StrideCell(const LoopKernel& k, int buffer, int dim) {
  return static_cast<int>(k.buffers.size()) + k.dims() + buffer * k.dims() + dim;
}
inline int ScratchCell(const LoopKernel& k, int scratch) {
  return static_cast<int>(k.buffers.size()) * (1 + k.dims()) + k.dims() + scratch;
}
inline int ParameterCell(const LoopKernel& k, int parameter) {
  return ScratchCell(k, static_cast<int>(k.scratch.size())) + parameter;
}
inline int CellCount(const LoopKernel& k) { return ParameterCell(k, k.parameters); }

}  // namespace thirdbook
