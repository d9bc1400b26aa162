// Runs a loop form directly: the executor of the native twin, and what runs when an engine refuses a
// generated kernel.
//
// In: an expanded kernel (no kMath rows) and its argument cells (loops.h). Out: the output buffers. It works
// on blocks of elements, one operation at a time, so that the compiler's own vectors carry it. Invariant: the
// same values as the generated code, except that folds add in another order and madd rounds twice.
#pragma once

#include "kernel/loops.h"

namespace thirdbook {

void InterpretLoops(const LoopKernel& kernel, const Cell* cells);

}  // namespace thirdbook
