// Short ways to write images in tests.
#pragma once

#include <initializer_list>

#include "bytecode/instruction.h"

namespace thirdbook {

inline Instruction I(Opcode op, int32_t arg = 0, int line = 1) { return {op, arg, {line, line, 0, 1}, -1}; }

inline CodeImage Image(std::initializer_list<Instruction> instructions) {
  CodeImage image;
  image.instructions = instructions;
  return image;
}

// total = 0; for x in arg: total += x; return total
inline CodeImage SumLoop() {
  return Image({
      I(Opcode::RESUME, 0, 1),
      I(Opcode::LOAD_SMALL_INT, 0, 2),
      I(Opcode::STORE_FAST, 1, 2),
      I(Opcode::LOAD_FAST, 0, 3),
      I(Opcode::GET_ITER, 0, 3),
      I(Opcode::FOR_ITER, 11, 3),
      I(Opcode::STORE_FAST, 2, 3),
      I(Opcode::LOAD_FAST_LOAD_FAST, 0x12, 4),
      I(Opcode::BINARY_OP, 13, 4),
      I(Opcode::STORE_FAST, 1, 4),
      I(Opcode::JUMP_BACKWARD, 5, 4),
      I(Opcode::END_FOR, 0, 3),
      I(Opcode::POP_ITER, 0, 3),
      I(Opcode::LOAD_FAST, 1, 5),
      I(Opcode::RETURN_VALUE, 0, 5),
  });
}

}  // namespace thirdbook
