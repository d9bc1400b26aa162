// See code_builder.h.
#include "assemble/code_builder.h"

namespace thirdbook {

const char* RoleText(Role role) {
  static const char* const kTexts[] = {
#define TB_ROLE(name, text) text,
#include "assemble/roles.def"
#undef TB_ROLE
  };
  return kTexts[static_cast<int>(role)];
}

bool CodeBuilder::TakesBackPush() {
  const auto last = [&](size_t back) -> const Instruction* {
    const size_t n = instructions_.size();
    return n < back || static_cast<int32_t>(n - back) < fixed_ ? nullptr : &instructions_[n - back];
  };
  const auto pushes = [](const Instruction* i) {
    return i != nullptr &&
           (i->op == Opcode::LOAD_FAST || i->op == Opcode::LOAD_CONST || i->op == Opcode::COPY);
  };
  size_t at = 1;
  if (last(1) != nullptr && last(1)->op == Opcode::STORE_FAST && last(2) != nullptr &&
      last(2)->op == Opcode::COPY && last(2)->arg == 1) {
    at = 2;  // COPY 1, STORE_FAST x, POP_TOP is STORE_FAST x
  } else if (!pushes(last(1))) {
    return false;
  }
  const auto place = static_cast<std::ptrdiff_t>(at);
  instructions_.erase(instructions_.end() - place);
  roles_.erase(roles_.end() - place);
  jump_labels_.erase(jump_labels_.end() - place);
  return true;
}

void CodeBuilder::Emit(Opcode op, int32_t arg) {
  if (op == Opcode::POP_TOP && TakesBackPush()) return;
  Instruction i;
  i.op = op;
  i.arg = arg;
  i.position = position_;
  instructions_.push_back(i);
  roles_.push_back(role_);
  jump_labels_.push_back(-1);
}

void CodeBuilder::EmitJump(Opcode op, Label target) {
  Emit(op);
  jump_labels_.back() = target.id;
}

Label CodeBuilder::NewLabel() {
  labels_.push_back(-1);
  return Label{static_cast<int32_t>(labels_.size()) - 1};
}

void CodeBuilder::Bind(Label label) { labels_[static_cast<size_t>(label.id)] = here(); }

void CodeBuilder::AddRegion(int32_t begin, int32_t end, Label handler, int32_t depth, bool push_lasti) {
  if (begin < end) regions_.push_back({begin, end, handler, depth, push_lasti});
}

CodeImage CodeBuilder::Finish(int32_t first_line, int32_t free_start) {
  CodeImage image;
  image.first_line = first_line;
  image.instructions = instructions_;
  for (size_t i = 0; i < image.instructions.size(); i++) {
    Instruction& instruction = image.instructions[i];
    if (jump_labels_[i] >= 0) {
      instruction.arg = labels_[static_cast<size_t>(jump_labels_[i])];
      TB_CHECK(instruction.arg >= 0);
    } else if (instruction.arg >= kFreeBase) {
      instruction.arg = free_start + (instruction.arg - kFreeBase);
    }
  }
  for (const PendingRegion& r : regions_) {
    image.regions.push_back(
        {r.begin, r.end, labels_[static_cast<size_t>(r.handler.id)], r.depth, r.push_lasti});
  }
  return image;
}

}  // namespace thirdbook
