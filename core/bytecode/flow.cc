// See flow.h.
#include "bytecode/flow.h"

#include <algorithm>
#include <cstdio>

namespace thirdbook {
namespace {

Status At(size_t index, const CodeImage& image, const char* what) {
  char text[160];
  std::snprintf(text, sizeof text, "bytecode: %s at instruction %zu (%s)", what, index,
                OpcodeName(image.instructions[index].op));
  return ValueError(text);
}

// END_ASYNC_FOR names the SEND loop it ends but never goes there.
bool MayJump(Opcode op) { return IsJump(op) && op != Opcode::END_ASYNC_FOR; }

// Depth-first walk that carries the stack depth along.
class DepthWalk {
 public:
  explicit DepthWalk(const CodeImage& image) : image_(image), region_(RegionOf(image)) {
    depths_.before.assign(image.instructions.size(), kUnreachable);
  }

  Result<StackDepths> Run() {
    if (!image_.instructions.empty()) TB_RETURN_IF_ERROR(Enter(0, 0, 0));
    while (!pending_.empty()) {
      int32_t index = pending_.back();
      pending_.pop_back();
      TB_RETURN_IF_ERROR(Visit(static_cast<size_t>(index)));
    }
    return std::move(depths_);
  }

 private:
  Status Enter(size_t target, int32_t depth, size_t from) {
    if (target >= image_.instructions.size()) return At(from, image_, "control runs off the end");
    depths_.max = std::max(depths_.max, depth);
    int32_t& known = depths_.before[target];
    if (known == kUnreachable) {
      known = depth;
      pending_.push_back(static_cast<int32_t>(target));
    } else if (known != depth) {
      return At(target, image_, "two ways in with different stack depths");
    }
    return Status::Ok();
  }

  Status Visit(size_t index) {
    const Instruction& instruction = image_.instructions[index];
    int32_t depth = depths_.before[index];
    if (region_[index] >= 0) {
      const ExceptionRegion& region = image_.regions[static_cast<size_t>(region_[index])];
      if (region.depth > depth) return At(index, image_, "handler wants a deeper stack than there is");
      int32_t handler_depth = region.depth + (region.push_lasti ? 1 : 0) + 1;
      TB_RETURN_IF_ERROR(Enter(static_cast<size_t>(region.handler), handler_depth, index));
    }
    int32_t arg = IsJump(instruction.op) ? 0 : instruction.arg;
    if (StackPops(instruction.op, arg) > depth) return At(index, image_, "stack runs dry");
    depth += StackEffect(instruction.op, arg, false);
    depths_.max = std::max(depths_.max, depth);
    if (MayJump(instruction.op))
      TB_RETURN_IF_ERROR(Enter(static_cast<size_t>(instruction.arg), depth, index));
    if (!IsUnconditional(instruction.op)) TB_RETURN_IF_ERROR(Enter(index + 1, depth, index));
    return Status::Ok();
  }

  const CodeImage& image_;
  std::vector<int32_t> region_;
  StackDepths depths_;
  std::vector<int32_t> pending_;
};

// The two instructions that an instruction on two slots stands for; they run in this order.
struct PairParts {
  Opcode first, second;
};

bool SplitPair(Opcode op, PairParts* out) {
  switch (op) {
    case Opcode::LOAD_FAST_LOAD_FAST: *out = {Opcode::LOAD_FAST, Opcode::LOAD_FAST}; return true;
    case Opcode::LOAD_FAST_BORROW_LOAD_FAST_BORROW:
      *out = {Opcode::LOAD_FAST_BORROW, Opcode::LOAD_FAST_BORROW};
      return true;
    case Opcode::STORE_FAST_LOAD_FAST: *out = {Opcode::STORE_FAST, Opcode::LOAD_FAST}; return true;
    case Opcode::STORE_FAST_STORE_FAST: *out = {Opcode::STORE_FAST, Opcode::STORE_FAST}; return true;
    default: return false;
  }
}

}  // namespace

Status CheckImage(const CodeImage& image) {
  int32_t size = static_cast<int32_t>(image.instructions.size());
  for (size_t i = 0; i < image.instructions.size(); ++i) {
    const Instruction& instruction = image.instructions[i];
    if (!HasOpcode(static_cast<uint8_t>(instruction.op)) || instruction.op == Opcode::EXTENDED_ARG) {
      return At(i, image, "an opcode that images never hold");
    }
    if (instruction.arg < 0) return At(i, image, "negative argument");
    if (IsJump(instruction.op) && instruction.arg >= size) return At(i, image, "jump out of range");
  }
  for (const ExceptionRegion& region : image.regions) {
    bool ordered = 0 <= region.begin && region.begin <= region.end && region.end <= size;
    if (!ordered || region.handler < 0 || region.handler >= size || region.depth < 0) {
      return ValueError("bytecode: exception region out of range");
    }
  }
  return Status::Ok();
}

std::vector<int32_t> RegionOf(const CodeImage& image) {
  std::vector<int32_t> region(image.instructions.size(), -1);
  for (size_t r = 0; r < image.regions.size(); ++r) {
    for (int32_t i = image.regions[r].begin; i < image.regions[r].end; ++i) {
      region[static_cast<size_t>(i)] = static_cast<int32_t>(r);
    }
  }
  return region;
}

Result<StackDepths> ComputeStackDepths(const CodeImage& image) {
  TB_RETURN_IF_ERROR(CheckImage(image));
  return DepthWalk(image).Run();
}

void Relocate(CodeImage* image, std::vector<Instruction> instructions, const std::vector<int32_t>& position) {
  auto moved = [&](int32_t index) { return position[static_cast<size_t>(index)]; };
  for (Instruction& instruction : instructions) {
    if (IsJump(instruction.op)) instruction.arg = moved(instruction.arg);
  }
  std::vector<ExceptionRegion> regions;
  for (ExceptionRegion region : image->regions) {
    region.begin = moved(region.begin);
    region.end = moved(region.end);
    region.handler = moved(region.handler);
    if (region.begin < region.end) regions.push_back(region);
  }
  image->instructions = std::move(instructions);
  image->regions = std::move(regions);
}

Status RemoveUnreachable(CodeImage* image, std::vector<int32_t>* new_index) {
  TB_ASSIGN_OR_RETURN(StackDepths depths, ComputeStackDepths(*image));
  std::vector<Instruction> kept;
  std::vector<int32_t> position;
  for (size_t i = 0; i < image->instructions.size(); ++i) {
    position.push_back(static_cast<int32_t>(kept.size()));
    if (depths.before[i] != kUnreachable) kept.push_back(image->instructions[i]);
  }
  position.push_back(static_cast<int32_t>(kept.size()));
  Relocate(image, std::move(kept), position);
  if (new_index != nullptr) *new_index = std::move(position);
  return Status::Ok();
}

Status RenumberLocals(CodeImage* image, const std::vector<int32_t>& new_slot,
                      std::vector<int32_t>* new_index) {
  std::vector<Instruction> out;
  std::vector<int32_t> position;
  for (size_t i = 0; i < image->instructions.size(); ++i) {
    Instruction instruction = image->instructions[i];
    position.push_back(static_cast<int32_t>(out.size()));
    uint16_t flags = OpcodeFlags(instruction.op);
    bool pair = (flags & opcode_flag::kLocalPair) != 0;
    if (!pair && (flags & (opcode_flag::kLocal | opcode_flag::kCell)) == 0) {
      out.push_back(instruction);
      continue;
    }
    int32_t first = pair ? instruction.arg >> 4 : instruction.arg, second = pair ? instruction.arg & 15 : 0;
    int32_t slots = static_cast<int32_t>(new_slot.size());
    if (first >= slots || second >= slots) return At(i, *image, "slot out of range");
    first = new_slot[static_cast<size_t>(first)];
    second = new_slot[static_cast<size_t>(second)];
    PairParts parts;
    if (!pair) {
      instruction.arg = first;
      out.push_back(instruction);
    } else if (first < 16 && second < 16) {
      instruction.arg = first << 4 | second;
      out.push_back(instruction);
    } else if (SplitPair(instruction.op, &parts)) {
      instruction.op = parts.first;
      instruction.arg = first;
      out.push_back(instruction);
      instruction.op = parts.second;
      instruction.arg = second;
      instruction.offset = -1;
      out.push_back(instruction);
    } else {
      return At(i, *image, "no way to split an instruction on two slots");
    }
  }
  position.push_back(static_cast<int32_t>(out.size()));
  Relocate(image, std::move(out), position);
  if (new_index != nullptr) *new_index = std::move(position);
  return Status::Ok();
}

}  // namespace thirdbook
