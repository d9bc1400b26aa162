// Print, against text written out.
#include <gtest/gtest.h>

#include "image.h"

namespace thirdbook {
namespace {

TEST(Print, ShowsLinesTargetsPairsNotesAndHandlers) {
  CodeImage image = SumLoop();
  image.regions = {{5, 11, 11, 1, true}};
  std::string text = Print(image, [](const Instruction& instruction) {
    return instruction.op == Opcode::BINARY_OP ? std::string("+=") : std::string();
  });
  EXPECT_EQ(text,
            "     1      0    RESUME                     0\n"
            "     2      1    LOAD_SMALL_INT             0\n"
            "            2    STORE_FAST                 1\n"
            "     3      3    LOAD_FAST                  0\n"
            "            4    GET_ITER\n"
            "            5 >> FOR_ITER                   -> 11\n"
            "            6    STORE_FAST                 2\n"
            "     4      7    LOAD_FAST_LOAD_FAST        1, 2\n"
            "            8    BINARY_OP                  13  (+=)\n"
            "            9    STORE_FAST                 1\n"
            "           10    JUMP_BACKWARD              -> 5\n"
            "     3     11 >> END_FOR\n"
            "           12    POP_ITER\n"
            "     5     13    LOAD_FAST                  1\n"
            "           14    RETURN_VALUE\n"
            "handler 11 for 5..11, stack depth 1, lasti\n");
}

TEST(Print, InstructionsWithoutLineShowIt) {
  CodeImage image = Image({I(Opcode::NOP, 0, -1)});
  EXPECT_EQ(Print(image), "    --      0    NOP\n");
}

}  // namespace
}  // namespace thirdbook
