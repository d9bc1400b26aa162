// Print: an image as text, for reports and golden tests. No addresses, no offsets: the same image prints the
// same.
//
//    line  index        opcode          argument
//       3      7  >> LOAD_FAST          2
//              8     JUMP_BACKWARD      -> 4
#include <cstdio>

#include "bytecode/instruction.h"

namespace thirdbook {

std::string Print(const CodeImage& image) {
  return Print(image, [](const Instruction&) { return std::string(); });
}

std::string Print(const CodeImage& image, const std::function<std::string(const Instruction&)>& annotate) {
  std::string out;
  std::vector<bool> is_target(image.instructions.size(), false);
  auto mark = [&](int32_t index) {
    if (index >= 0 && static_cast<size_t>(index) < is_target.size())
      is_target[static_cast<size_t>(index)] = true;
  };
  for (const Instruction& instruction : image.instructions) {
    if (IsJump(instruction.op)) mark(instruction.arg);
  }
  for (const ExceptionRegion& region : image.regions) mark(region.handler);

  int line = -2;
  for (size_t i = 0; i < image.instructions.size(); ++i) {
    const Instruction& instruction = image.instructions[i];
    char text[160], line_text[16] = "", arg_text[32] = "";
    if (instruction.position.line != line) {
      line = instruction.position.line;
      std::snprintf(line_text, sizeof line_text, line < 0 ? "--" : "%d", line);
    }
    if (IsJump(instruction.op)) {
      std::snprintf(arg_text, sizeof arg_text, "-> %d", instruction.arg);
    } else if ((OpcodeFlags(instruction.op) & opcode_flag::kLocalPair) != 0) {
      std::snprintf(arg_text, sizeof arg_text, "%d, %d", instruction.arg >> 4, instruction.arg & 15);
    } else if (OpcodeFlags(instruction.op) != opcode_flag::kPlain || instruction.arg != 0) {
      if (instruction.op != Opcode::RETURN_VALUE)
        std::snprintf(arg_text, sizeof arg_text, "%d", instruction.arg);
    }
    std::string note = annotate(instruction);
    int length = std::snprintf(text, sizeof text, "%6s %6zu %s %-26s %s", line_text, i,
                               is_target[i] ? ">>" : "  ", OpcodeName(instruction.op), arg_text);
    std::string row(text, static_cast<size_t>(length));
    if (!note.empty()) row += "  (" + note + ")";
    while (!row.empty() && row.back() == ' ') row.pop_back();
    out += row + "\n";
  }
  for (const ExceptionRegion& region : image.regions) {
    char text[120];
    std::snprintf(text, sizeof text, "handler %d for %d..%d, stack depth %d%s\n", region.handler,
                  region.begin, region.end, region.depth, region.push_lasti ? ", lasti" : "");
    out += text;
  }
  return out;
}

}  // namespace thirdbook
