// A loop form as a wasm module.
//
// In: an expanded kernel (math_expand.h). Out: the module's bytes and their annotated dump; the exported
// function takes the address of the argument cells (loops.h). Invariant: the module reads and writes only
// what the cells describe; nothing in it can trap for cells that describe valid memory.
//
// The lane loop runs two or more vectors at a time, then element by element (every lane computes the same
// element). Folds keep one accumulator a vector; float32 sums are cut into blocks whose partial sums are
// added, so that the error does not grow with the length.
#pragma once

#include "kernel/loops.h"
#include "kernel/wasm_writer.h"

namespace thirdbook {

struct EmitOptions {
  bool relaxed = false;  // the engine has relaxed SIMD: madd is one instruction
  bool hoist_constants = true;
  bool annotate = false;  // also write the dump
};

FunctionWriter::Module EmitWasm(const LoopKernel& kernel, const EmitOptions& options);

}  // namespace thirdbook
