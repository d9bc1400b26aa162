// Control flow over an image: stack depths, reachability, and edits that move instructions.
//
// In: a CodeImage whose jumps and regions are in range. Out: depths, or the image rewritten in place.
// Invariant: an edit keeps what every surviving instruction does; jumps and regions follow their targets.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "bytecode/instruction.h"

namespace thirdbook {

constexpr int32_t kUnreachable = -1;

// Indices in range, regions well formed, no opcode that code objects never hold.
Status CheckImage(const CodeImage& image);

// For each instruction, the region that covers it (index into image.regions, the innermost), or -1.
std::vector<int32_t> RegionOf(const CodeImage& image);

struct StackDepths {
  std::vector<int32_t> before;  // stack depth before each instruction; kUnreachable where control never comes
  int32_t max = 0;              // the stack size the code object must ask for
};

// Follows jumps, falls through and enters handlers. An error when two ways to an instruction disagree, when
// the stack would run dry, or when control runs off the end.
Result<StackDepths> ComputeStackDepths(const CodeImage& image);

// Replaces each instruction by zero or more. `position[i]` is where instruction i now begins, position[size]
// the new size; `instructions` are the new ones, with jump arguments still in old indices.
void Relocate(CodeImage* image, std::vector<Instruction> instructions, const std::vector<int32_t>& position);

// Drops what control never reaches. `new_index`, when given, gets the position table of Relocate.
Status RemoveUnreachable(CodeImage* image, std::vector<int32_t>* new_index);

// Moves localsplus slot i to new_slot[i]. Instructions on two slots are split where a slot no longer fits
// into 4 bits.
Status RenumberLocals(CodeImage* image, const std::vector<int32_t>& new_slot,
                      std::vector<int32_t>* new_index);

}  // namespace thirdbook
