// Stack depths, reachability, moving instructions and slots, stack shapes.
#include "bytecode/flow.h"

#include <gtest/gtest.h>

#include "bytecode/stack_shape.h"
#include "image.h"

namespace thirdbook {
namespace {

TEST(Depths, FollowALoop) {
  Result<StackDepths> depths = ComputeStackDepths(SumLoop());
  ASSERT_TRUE(depths.ok()) << depths.status().message();
  EXPECT_EQ(depths->before, (std::vector<int32_t>{0, 0, 1, 0, 1, 1, 2, 1, 3, 2, 1, 2, 1, 0, 1}));
  EXPECT_EQ(depths->max, 3);
}

TEST(Depths, HandlersBeginAtTheirOwnDepth) {
  CodeImage image = Image({I(Opcode::RESUME), I(Opcode::LOAD_CONST), I(Opcode::LOAD_CONST),
                           I(Opcode::RETURN_VALUE), I(Opcode::PUSH_EXC_INFO), I(Opcode::RERAISE, 0)});
  image.regions = {{2, 4, 4, 1, true}};
  Result<StackDepths> depths = ComputeStackDepths(image);
  ASSERT_TRUE(depths.ok());
  EXPECT_EQ(depths->before[4], 3);
  EXPECT_EQ(depths->max, 4);
}

TEST(Depths, WhatCannotBeIsRefused) {
  auto message = [](const CodeImage& image) { return ComputeStackDepths(image).status().message(); };
  EXPECT_NE(message(Image({I(Opcode::POP_TOP), I(Opcode::RETURN_VALUE)})).find("runs dry"),
            std::string::npos);
  EXPECT_NE(message(Image({I(Opcode::RESUME)})).find("off the end"), std::string::npos);
  EXPECT_NE(message(Image({I(Opcode::LOAD_CONST), I(Opcode::JUMP_BACKWARD, 0)})).find("different"),
            std::string::npos);
  CodeImage image = Image({I(Opcode::LOAD_CONST), I(Opcode::RETURN_VALUE)});
  image.regions = {{0, 1, 1, 5, false}};
  EXPECT_NE(message(image).find("deeper"), std::string::npos);
}

TEST(Reachability, DeadInstructionsGoAndJumpsFollow) {
  CodeImage image = Image({I(Opcode::JUMP_FORWARD, 3), I(Opcode::LOAD_CONST), I(Opcode::RETURN_VALUE),
                           I(Opcode::LOAD_CONST), I(Opcode::RETURN_VALUE), I(Opcode::RERAISE)});
  image.regions = {{1, 3, 5, 0, false}};
  std::vector<int32_t> position;
  ASSERT_TRUE(RemoveUnreachable(&image, &position).ok());
  ASSERT_EQ(image.instructions.size(), 3u);
  EXPECT_EQ(image.instructions[0].arg, 1);
  EXPECT_TRUE(image.regions.empty());
  EXPECT_EQ(position, (std::vector<int32_t>{0, 1, 1, 1, 2, 3, 3}));
}

TEST(Slots, PairsAreSplitWhereTheirSlotsGrowTooLarge) {
  CodeImage image = Image({I(Opcode::LOAD_FAST_LOAD_FAST, 0x01), I(Opcode::STORE_FAST_LOAD_FAST, 0x10),
                           I(Opcode::POP_TOP), I(Opcode::LOAD_DEREF, 2), I(Opcode::JUMP_BACKWARD, 1)});
  std::vector<int32_t> position;
  ASSERT_TRUE(RenumberLocals(&image, {20, 3, 300}, &position).ok());
  ASSERT_EQ(image.instructions.size(), 7u);
  EXPECT_EQ(image.instructions[0].op, Opcode::LOAD_FAST);
  EXPECT_EQ(image.instructions[0].arg, 20);
  EXPECT_EQ(image.instructions[1].arg, 3);
  EXPECT_EQ(image.instructions[2].op, Opcode::STORE_FAST);
  EXPECT_EQ(image.instructions[2].arg, 3);
  EXPECT_EQ(image.instructions[3].op, Opcode::LOAD_FAST);
  EXPECT_EQ(image.instructions[5].arg, 300);
  EXPECT_EQ(image.instructions[6].arg, 2);  // the jump goes to the first half
  EXPECT_FALSE(RenumberLocals(&image, {0}, nullptr).ok());
}

TEST(Shapes, HandlersShowInTheStack) {
  CodeImage image = Image({
      I(Opcode::RESUME),         // 0
      I(Opcode::LOAD_CONST),     // 1: covered
      I(Opcode::RETURN_VALUE),   // 2
      I(Opcode::PUSH_EXC_INFO),  // 3: [lasti, exc]
      I(Opcode::NOP),            // 4: [lasti, previous, current]
      I(Opcode::POP_TOP),        // 5
      I(Opcode::NOP),            // 6: [lasti, previous]
      I(Opcode::POP_EXCEPT),     // 7
      I(Opcode::POP_TOP),        // 8: [lasti]
      I(Opcode::LOAD_CONST),     // 9
      I(Opcode::RETURN_VALUE),   // 10
  });
  image.regions = {{1, 2, 3, 0, true}};
  Result<std::vector<StackShape>> shapes = ComputeStackShapes(image);
  ASSERT_TRUE(shapes.ok());
  using enum StackKind;
  EXPECT_EQ((*shapes)[3], (StackShape{kLasti, kValue}));
  EXPECT_EQ((*shapes)[4], (StackShape{kLasti, kPrevious, kCurrent}));
  EXPECT_EQ((*shapes)[6], (StackShape{kLasti, kPrevious}));
  EXPECT_EQ((*shapes)[8], (StackShape{kLasti}));
}

}  // namespace
}  // namespace thirdbook
