// Code objects as plain data: decoded instructions with jump targets as indices, exception regions, source
// positions.
//
// In: the bytes of a CPython 3.14 code object. Out: CodeImage, and back again (Encode(Decode(x)) behaves as
// x). Invariant: `arg` of a jump is the *index* of its target instruction; EXTENDED_ARG and CACHE entries
// never appear in an image.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace thirdbook {

enum class Opcode : uint8_t {
#define TB_OPCODE(name, number, ...) name = number,
#include "bytecode/opcodes.def"
};

// What an opcode's argument means and where control goes after it (last column of opcodes.def).
namespace opcode_flag {
enum Bits : uint16_t {
  kPlain = 0,            // no argument
  kArg = 1 << 0,         // a number that means something to this opcode only
  kConst = 1 << 1,       // index into constants
  kName = 1 << 2,        // index into names
  kNameShift1 = 1 << 3,  // the same, shifted left by 1 (LOAD_GLOBAL, LOAD_ATTR); bit 0 is a flag
  kNameShift2 = 1 << 4,  // the same, shifted left by 2 (LOAD_SUPER_ATTR)
  kLocal = 1 << 5,       // index into localsplus, value used raw
  kLocalPair = 1 << 6,   // two such indices, 4 bits each: first << 4 | second
  kCell = 1 << 7,        // index into localsplus, the cell there is read, written or made
  kJump = 1 << 8,        // distance to another instruction; in an image, that instruction's index
  kBackward = 1 << 9,    // the distance counts backwards
  kEnd = 1 << 10,        // control never falls through
  kNever = 1 << 11,      // not in code that Decode accepts
};
}  // namespace opcode_flag

struct Position {
  int line = -1, end_line = -1, column = -1, end_column = -1;  // -1: none
  friend bool operator==(const Position&, const Position&) = default;
};

struct Instruction {
  Opcode op;
  int32_t arg = 0;
  Position position;
  int32_t offset = -1;  // byte offset (of the opcode, after its EXTENDED_ARGs) in the code it was decoded
                        // from; -1 when made by us
};

// Instructions [begin, end) are covered by `handler`; on an exception the stack is cut to `depth`, then lasti
// is pushed if asked, then the exception.
struct ExceptionRegion {
  int32_t begin, end, handler;
  int32_t depth;
  bool push_lasti;
};

// Kinds of a slot of localsplus, as CPython numbers them (a slot may be Local and Cell at once).
enum LocalKind : uint8_t { kLocalHidden = 0x10, kLocalLocal = 0x20, kLocalCell = 0x40, kLocalFree = 0x80 };

struct CodeImage {
  std::vector<Instruction> instructions;
  std::vector<ExceptionRegion>
      regions;  // innermost region of an instruction = the last one in order that covers it
  int32_t first_line = 1;
  int32_t stack_size = 0;  // Encode computes it when 0
};

struct EncodedCode {
  std::string code, line_table, exception_table;
  int32_t stack_size;
};

// Facts of one opcode, from opcodes.def.
const char* OpcodeName(Opcode op);
bool HasOpcode(uint8_t number);   // and Decode accepts it
uint16_t OpcodeFlags(Opcode op);  // opcode_flag bits
bool IsJump(Opcode op);           // conditional or not; forward or backward
bool IsBackwardJump(Opcode op);
bool IsUnconditional(Opcode op);  // control never falls through (jumps, returns, raises)
int CacheEntries(Opcode op);      // code units after it
int StackPops(Opcode op, int32_t arg);
int StackPushes(Opcode op, int32_t arg);
int StackEffect(Opcode op, int32_t arg, bool jump);  // 3.14: the same whether it jumps or not

Result<CodeImage> Decode(const std::string& code, const std::string& line_table,
                         const std::string& exception_table, int32_t first_line);
Result<EncodedCode> Encode(const CodeImage& image);
std::string Print(const CodeImage& image);
// `annotate` gives a note for an instruction (the name or constant its argument stands for), or nothing.
std::string Print(const CodeImage& image, const std::function<std::string(const Instruction&)>& annotate);

}  // namespace thirdbook
