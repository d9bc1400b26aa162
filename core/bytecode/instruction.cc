// Facts of single opcodes, all read from opcodes.def.
//
// In: an Opcode, sometimes with its argument. Out: name, flags, cache size, stack effect.
// Invariant: nothing here knows an opcode by name; a row added to the table is enough.
#include "bytecode/instruction.h"

namespace thirdbook {
namespace {

struct OpcodeFacts {
  const char* name = nullptr;  // nullptr: no such opcode
  uint16_t flags = opcode_flag::kNever;
  uint8_t caches = 0;
};

struct OpcodeTable {
  OpcodeFacts rows[256];
  constexpr OpcodeTable() {
    using namespace opcode_flag;
#define TB_OPCODE(name_, number, caches_, pops, pushes, flags_) \
  rows[number] = OpcodeFacts{#name_, static_cast<uint16_t>(flags_), caches_};
#include "bytecode/opcodes.def"
  }
};

constexpr OpcodeTable kTable;

const OpcodeFacts& FactsOf(Opcode op) { return kTable.rows[static_cast<uint8_t>(op)]; }

bool HasFlag(Opcode op, opcode_flag::Bits flag) { return (FactsOf(op).flags & flag) != 0; }

}  // namespace

const char* OpcodeName(Opcode op) {
  const char* name = FactsOf(op).name;
  return name != nullptr ? name : "<unknown>";
}

bool HasOpcode(uint8_t number) { return !HasFlag(static_cast<Opcode>(number), opcode_flag::kNever); }
uint16_t OpcodeFlags(Opcode op) { return FactsOf(op).flags; }
bool IsJump(Opcode op) { return HasFlag(op, opcode_flag::kJump); }
bool IsBackwardJump(Opcode op) { return HasFlag(op, opcode_flag::kBackward); }
bool IsUnconditional(Opcode op) { return HasFlag(op, opcode_flag::kEnd); }
int CacheEntries(Opcode op) { return FactsOf(op).caches; }

int StackPops(Opcode op, [[maybe_unused]] int32_t oparg) {
  switch (op) {
#define TB_OPCODE(name, number, caches, pops, pushes, flags) \
  case Opcode::name: return pops;
#include "bytecode/opcodes.def"
  }
  return 0;
}

int StackPushes(Opcode op, [[maybe_unused]] int32_t oparg) {
  switch (op) {
#define TB_OPCODE(name, number, caches, pops, pushes, flags) \
  case Opcode::name: return pushes;
#include "bytecode/opcodes.def"
  }
  return 0;
}

int StackEffect(Opcode op, int32_t arg, [[maybe_unused]] bool jump) {
  return StackPushes(op, arg) - StackPops(op, arg);
}

}  // namespace thirdbook
