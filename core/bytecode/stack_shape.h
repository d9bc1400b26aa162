// What lies on the stack before an instruction, as far as exception handlers are concerned.
//
//   handler entered (stack cut to `depth`)      [..., lasti?, exception]
//   PUSH_EXC_INFO                               [..., lasti?, previous, current]
//   exception taken off (except clause matched) [..., lasti?, previous]              "bare"
//   POP_EXCEPT                                  [..., lasti?]
//
// In: an image. Out: a kind per stack position. Invariant: kinds come from the code alone, so tracer and
// resume code agree.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "bytecode/instruction.h"

namespace thirdbook {

enum class StackKind : uint8_t {
  kValue,
  kPrevious,  // the exception that was being handled before this handler; POP_EXCEPT puts it back
  kCurrent,   // right above kPrevious: the exception being handled
  kGroup,     // a kCurrent after CHECK_EG_MATCH: except* now handles a part of it, which is not on the stack
              // here
  kLasti,     // a tagged integer that only the interpreter can make
};

using StackShape = std::vector<StackKind>;  // bottom first

// Shape before each instruction; empty for unreachable ones (and where the stack is empty).
Result<std::vector<StackShape>> ComputeStackShapes(const CodeImage& image);

}  // namespace thirdbook
