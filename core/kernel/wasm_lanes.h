// One operation of the loop form as SIMD128 instructions.
//
// Representation of a value in a v128, by the kernel's lane count:
//
//             4 lanes               2 lanes
//   f32 i32   4 x 32 bits           the low two of 4 x 32 bits (the others hold anything)
//   f64 i64   -                     2 x 64 bits
//   bool      4 x 32-bit mask       2 x 64-bit mask        (all ones or all zeros)
//
// In: operands pushed through a callback. Out: instructions that leave the result on the stack. Invariant: no
// instruction can trap.
#pragma once

#include <functional>

#include "kernel/loops.h"
#include "kernel/wasm_writer.h"

namespace thirdbook {

class LaneEmitter {
 public:
  LaneEmitter(FunctionWriter& f, int lanes, bool relaxed) : f_(f), lanes_(lanes), relaxed_(relaxed) {}
  int lanes() const { return lanes_; }

  // `push(k)` puts operand k on the stack (it may be called more than once). Not for loads, counts, folds,
  // scratch.
  void Compute(const Instr& instr, const LaneType* operand_types, const std::function<void(int)>& push);
  void Constant(LaneType type, uint64_t bits);
  // The same two operands of a fold: acc op x.
  void Accumulate(FoldKind kind, LaneType type);  // both on the stack
  void Identity(FoldKind kind, LaneType type);
  // Address on the stack -> value: a vector of consecutive elements, or (`splat`) one element in all lanes.
  void LoadUnit(DType dtype, uint32_t offset, bool splat);
  // Loads one element into lane `lane` of the vector `local`, which holds raw elements of `dtype`; then
  // Unpack makes it a value.
  void LoadLane(DType dtype, uint32_t vector_local, uint32_t address_local, int lane);
  void UnpackLanes(DType dtype);  // raw lanes on the stack -> value
  // A scalar in memory (address on the stack), converted to `type`, in all lanes.
  void LoadScalar(DType dtype, LaneType type);
  // Stores `count` lanes of the value in `vector_local` at consecutive addresses (address in
  // `address_local`).
  void StoreUnit(DType dtype, uint32_t address_local, uint32_t offset, uint32_t vector_local, int count);
  void StoreLane(DType dtype, uint32_t address_local, uint32_t vector_local, int lane);
  // Leaves on the stack the value packed for storing lane by lane.
  void Pack(DType dtype);
  // The value in `local` with lane i + by moved to lane i (for folding across lanes).
  void Rotate(LaneType type, uint32_t local, int by);
  void SplatFirst(LaneType type, uint32_t local);

 private:
  bool Wide(LaneType type) const { return IsWide(type) || (type == LaneType::kBool && lanes_ == 2); }
  void NarrowMask();  // 64-bit mask -> 32-bit mask in the low lanes
  void Cast(LaneType from, LaneType to, const std::function<void(int)>& push);
  void ScalarLanes(WasmType from, WasmType to, W convert, const std::function<void(int)>& push);
  void Compare(Prim prim, LaneType operands);
  void Call(const Instr& instr, const std::function<void(int)>& push);

  FunctionWriter& f_;
  int lanes_;
  bool relaxed_;
};

}  // namespace thirdbook
