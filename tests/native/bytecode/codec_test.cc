// Decode and Encode: jumps, prefixes, caches, refusals.
#include "image.h"

#include <gtest/gtest.h>

#include <random>

namespace thirdbook {
namespace {

CodeImage DecodeAgain(const EncodedCode& code, int32_t first_line = 1) {
  Result<CodeImage> image = Decode(code.code, code.line_table, code.exception_table, first_line);
  EXPECT_TRUE(image.ok()) << image.status().message();
  return image.ok() ? *image : CodeImage();
}

void ExpectSame(const CodeImage& a, const CodeImage& b) {
  ASSERT_EQ(a.instructions.size(), b.instructions.size());
  for (size_t i = 0; i < a.instructions.size(); ++i) {
    EXPECT_EQ(OpcodeName(a.instructions[i].op), OpcodeName(b.instructions[i].op)) << i;
    EXPECT_EQ(a.instructions[i].arg, b.instructions[i].arg) << i;
    EXPECT_EQ(a.instructions[i].position, b.instructions[i].position) << i;
  }
}

TEST(Codec, ALoopComesBackAsItWas) {
  CodeImage image = SumLoop();
  Result<EncodedCode> code = Encode(image);
  ASSERT_TRUE(code.ok()) << code.status().message();
  EXPECT_EQ(code->stack_size, 3);
  ExpectSame(DecodeAgain(*code), image);
}

TEST(Codec, OffsetsAreThoseOfTheOpcodeAfterItsPrefixes) {
  CodeImage image = Image({I(Opcode::RESUME), I(Opcode::LOAD_CONST, 0x1234), I(Opcode::RETURN_VALUE)});
  Result<EncodedCode> code = Encode(image);
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(code->code.size(), 8u);
  CodeImage again = DecodeAgain(*code);
  EXPECT_EQ(again.instructions[1].arg, 0x1234);
  EXPECT_EQ(again.instructions[1].offset, 4);
  EXPECT_EQ(again.instructions[2].offset, 6);
}

TEST(Codec, JumpsTakeTheDirectionThatTheirTargetAsksFor) {
  CodeImage image = Image({I(Opcode::RESUME), I(Opcode::JUMP_BACKWARD, 3), I(Opcode::NOP), I(Opcode::NOP),
                           I(Opcode::JUMP_FORWARD, 2)});
  Result<EncodedCode> code = Encode(image);
  ASSERT_TRUE(code.ok()) << code.status().message();
  CodeImage again = DecodeAgain(*code);
  EXPECT_EQ(again.instructions[1].op, Opcode::JUMP_FORWARD);
  EXPECT_EQ(again.instructions[1].arg, 3);
  EXPECT_EQ(again.instructions[4].op, Opcode::JUMP_BACKWARD);
  EXPECT_EQ(again.instructions[4].arg, 2);
}

TEST(Codec, AJumpToItselfGoesBackward) {
  Result<EncodedCode> code = Encode(Image({I(Opcode::RESUME), I(Opcode::JUMP_FORWARD, 1)}));
  ASSERT_TRUE(code.ok());
  CodeImage again = DecodeAgain(*code);
  EXPECT_EQ(again.instructions[1].op, Opcode::JUMP_BACKWARD);
  EXPECT_EQ(again.instructions[1].arg, 1);
}

TEST(Codec, ConditionalJumpsDoNotGoBackward) {
  Result<EncodedCode> code =
      Encode(Image({I(Opcode::RESUME), I(Opcode::LOAD_FAST, 0), I(Opcode::POP_JUMP_IF_TRUE, 1),
                    I(Opcode::LOAD_FAST, 0), I(Opcode::RETURN_VALUE)}));
  ASSERT_FALSE(code.ok());
  EXPECT_NE(code.status().message().find("POP_JUMP_IF_TRUE at instruction 2 cannot jump backward"),
            std::string::npos);
}

TEST(Codec, JumpsGrowAsTheirDistanceDoes) {
  for (int32_t filler : {10, 254, 255, 256, 257, 65'534, 65'540}) {
    CodeImage image = Image({I(Opcode::RESUME), I(Opcode::LOAD_FAST, 0), I(Opcode::POP_JUMP_IF_FALSE, 0)});
    for (int32_t i = 0; i < filler; ++i) image.instructions.push_back(I(Opcode::NOP));
    image.instructions.push_back(I(Opcode::JUMP_BACKWARD, 1));
    int32_t end = static_cast<int32_t>(image.instructions.size());
    image.instructions.push_back(I(Opcode::LOAD_FAST, 0));
    image.instructions.push_back(I(Opcode::RETURN_VALUE));
    image.instructions[2].arg = end;
    Result<EncodedCode> code = Encode(image);
    ASSERT_TRUE(code.ok()) << filler;
    ExpectSame(DecodeAgain(*code), image);
  }
}

TEST(Codec, InnermostRegionWins) {
  CodeImage image =
      Image({I(Opcode::RESUME), I(Opcode::NOP), I(Opcode::NOP), I(Opcode::NOP), I(Opcode::LOAD_CONST, 0),
             I(Opcode::RETURN_VALUE), I(Opcode::RERAISE, 0), I(Opcode::RERAISE, 1)});
  image.regions = {{1, 5, 6, 0, false}, {2, 3, 7, 0, true}};
  Result<EncodedCode> code = Encode(image);
  ASSERT_TRUE(code.ok()) << code.status().message();
  CodeImage again = DecodeAgain(*code);
  ASSERT_EQ(again.regions.size(), 3u);
  EXPECT_EQ(again.regions[0].end, 2);
  EXPECT_EQ(again.regions[1].handler, 7);
  EXPECT_TRUE(again.regions[1].push_lasti);
  EXPECT_EQ(again.regions[2].begin, 3);
  EXPECT_EQ(again.regions[2].handler, 6);
}

TEST(Codec, WhatIsNoCodeIsRefused) {
  auto refused = [](const std::string& code, const std::string& exceptions = "") {
    return !Decode(code, "", exceptions, 1).ok();
  };
  auto unit = [](Opcode op, int arg) { return std::string{static_cast<char>(op), static_cast<char>(arg)}; };
  EXPECT_TRUE(refused("\x23"));                                // half a unit
  EXPECT_TRUE(refused(unit(Opcode::EXTENDED_ARG, 1)));         // prefix of nothing
  EXPECT_TRUE(refused(unit(Opcode::CACHE, 0)));                // a cache where an instruction should be
  EXPECT_TRUE(refused(unit(Opcode::INSTRUMENTED_RESUME, 0)));  // instrumented
  EXPECT_TRUE(refused(unit(Opcode::LOAD_ATTR, 0)));            // caches missing
  EXPECT_TRUE(refused(unit(Opcode::JUMP_FORWARD, 9)));         // out of range
  EXPECT_TRUE(refused(unit(Opcode::JUMP_FORWARD, 1) + unit(Opcode::TO_BOOL, 0) +
                      std::string(6, '\0')));          // into a cache
  EXPECT_TRUE(refused(unit(Opcode::NOP, 0), "\x81"));  // exception table cut short
  EXPECT_TRUE(refused(unit(Opcode::NOP, 0), std::string("\x80\x05\x00\x00", 4)));
}

TEST(Codec, ImagesOutOfRangeAreRefused) {
  EXPECT_FALSE(Encode(Image({I(Opcode::JUMP_FORWARD, 5)})).ok());
  EXPECT_FALSE(Encode(Image({I(Opcode::LOAD_CONST, -1), I(Opcode::RETURN_VALUE)})).ok());
  EXPECT_FALSE(Encode(Image({I(Opcode::EXTENDED_ARG, 1), I(Opcode::RETURN_VALUE)})).ok());
  CodeImage image = Image({I(Opcode::LOAD_CONST), I(Opcode::RETURN_VALUE)});
  image.regions = {{0, 3, 0, 0, false}};
  EXPECT_FALSE(Encode(image).ok());
}

TEST(Codec, ArbitraryBytesAreDecodedOrRefused) {
  std::mt19937 random(7);
  auto bytes = [&](size_t size) {
    std::string out;
    for (size_t i = 0; i < size; ++i) out.push_back(static_cast<char>(random()));
    return out;
  };
  int decoded = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string code;
    for (unsigned i = 0, units = random() % 12; i < units; ++i) {  // mostly opcodes that exist
      code.push_back(static_cast<char>(random() % 121));
      code.push_back(static_cast<char>(random() % 4));
    }
    Result<CodeImage> image = Decode(code, bytes(random() % 12), round % 2 ? bytes(random() % 9) : "", 1);
    if (!image.ok()) continue;
    ++decoded;
    (void)Print(*image);
    (void)Encode(*image).ok();
  }
  EXPECT_GT(decoded, 100);
}

}  // namespace
}  // namespace thirdbook
