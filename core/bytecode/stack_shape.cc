// See stack_shape.h. Same walk as ComputeStackDepths, which has already checked the image.
#include "bytecode/stack_shape.h"

#include <algorithm>
#include <utility>

#include "bytecode/flow.h"

namespace thirdbook {
namespace {

void Push(StackShape* shape, StackKind kind) { shape->push_back(kind); }

// The shape after an instruction. What an instruction only looks at lies at the bottom of what it pops and
// pushes, and keeps its kind.
StackShape After(const Instruction& instruction, StackShape shape) {
  switch (instruction.op) {
    case Opcode::PUSH_EXC_INFO:
      shape.pop_back();
      Push(&shape, StackKind::kPrevious);
      Push(&shape, StackKind::kCurrent);
      return shape;
    case Opcode::COPY:
      Push(&shape, shape[shape.size() - static_cast<size_t>(instruction.arg)]);
      if (shape.back() == StackKind::kCurrent) shape.back() = StackKind::kValue;
      return shape;
    case Opcode::CHECK_EG_MATCH:
      for (size_t i = shape.size(); i > 0; --i) {
        if (shape[i - 1] != StackKind::kCurrent) continue;
        shape[i - 1] = StackKind::kGroup;
        break;
      }
      return shape;
    case Opcode::SWAP:
      std::swap(shape.back(), shape[shape.size() - static_cast<size_t>(instruction.arg)]);
      return shape;
    default: break;
  }
  int32_t arg = IsJump(instruction.op) ? 0 : instruction.arg;
  int pops = StackPops(instruction.op, arg), pushes = StackPushes(instruction.op, arg);
  int kept = std::min(pops, pushes);
  shape.resize(shape.size() - static_cast<size_t>(pops - kept));
  shape.resize(shape.size() + static_cast<size_t>(pushes - kept), StackKind::kValue);
  return shape;
}

}  // namespace

Result<std::vector<StackShape>> ComputeStackShapes(const CodeImage& image) {
  TB_ASSIGN_OR_RETURN(StackDepths depths, ComputeStackDepths(image));
  std::vector<int32_t> region_of = RegionOf(image);
  std::vector<StackShape> before(image.instructions.size());
  std::vector<bool> seen(image.instructions.size(), false);
  std::vector<size_t> pending;
  auto enter = [&](size_t index, StackShape shape) {
    if (seen[index]) return;
    seen[index] = true;
    before[index] = std::move(shape);
    pending.push_back(index);
  };
  if (!image.instructions.empty()) enter(0, {});
  while (!pending.empty()) {
    size_t index = pending.back();
    pending.pop_back();
    const Instruction& instruction = image.instructions[index];
    if (region_of[index] >= 0) {
      const ExceptionRegion& region = image.regions[static_cast<size_t>(region_of[index])];
      StackShape shape(before[index].begin(), before[index].begin() + region.depth);
      if (region.push_lasti) Push(&shape, StackKind::kLasti);
      Push(&shape, StackKind::kValue);
      enter(static_cast<size_t>(region.handler), std::move(shape));
    }
    StackShape after = After(instruction, before[index]);
    if (IsJump(instruction.op) && instruction.op != Opcode::END_ASYNC_FOR) {
      enter(static_cast<size_t>(instruction.arg), after);
    }
    if (!IsUnconditional(instruction.op)) enter(index + 1, std::move(after));
  }
  return before;
}

}  // namespace thirdbook
