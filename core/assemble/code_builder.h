// Writes the instructions of a rewritten function: labels, exception regions, roles.
//
// In: Emit calls in order. Out: a CodeImage whose jumps are indices, and a role for each instruction (for
// reports). Invariant: every label that was jumped to is bound before Finish. Knows no CPython: constants and
// names are indices into pools that the caller keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bytecode/instruction.h"

namespace thirdbook {

enum class Role : uint8_t {
#define TB_ROLE(name, text) k##name,
#include "assemble/roles.def"
#undef TB_ROLE
};
const char* RoleText(Role role);

struct Label {
  int32_t id = -1;
};

class CodeBuilder {
 public:
  void SetRole(Role role) { role_ = role; }
  void SetPosition(const Position& position) { position_ = position; }
  const Position& position() const { return position_; }
  // A POP_TOP right behind a push without effect takes the push back instead.
  void Emit(Opcode op, int32_t arg = 0);
  void EmitJump(Opcode op, Label target);
  Label NewLabel();
  void Bind(Label label);
  // The index of the next instruction; what has been emitted before it stays.
  int32_t here() { return fixed_ = static_cast<int32_t>(instructions_.size()); }
  // Instructions [begin, end) are handled at `handler`, with `depth` values left on the stack.
  void AddRegion(int32_t begin, int32_t end, Label handler, int32_t depth, bool push_lasti);

  // Closure cells are slots behind the temporaries, whose number is not known before the end: this stands for
  // cell i until Finish.
  static int32_t FreeSlot(int32_t i) { return kFreeBase + i; }
  CodeImage Finish(int32_t first_line, int32_t free_start);
  const std::vector<Role>& roles() const { return roles_; }

 private:
  static constexpr int32_t kFreeBase = 1 << 20;
  bool TakesBackPush();
  struct PendingRegion {
    int32_t begin, end;
    Label handler;
    int32_t depth;
    bool push_lasti;
  };
  std::vector<Instruction> instructions_;
  std::vector<Role> roles_;
  std::vector<int32_t> labels_;       // index, -1 while unbound
  std::vector<int32_t> jump_labels_;  // per instruction: label id or -1
  std::vector<PendingRegion> regions_;
  int32_t fixed_ = 0;  // instructions before this one are named by a label or a region
  Role role_ = Role::kLoad;
  Position position_;
};

}  // namespace thirdbook
