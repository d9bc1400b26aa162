// Decode and Encode: code bytes and their tables ⇄ CodeImage.
//
// In: 2-byte code units (opcode, argument byte) with EXTENDED_ARG prefixes and inline caches; or an image.
// Out: an image without either; or bytes with the smallest prefixes that fit and zeroed caches.
// Invariant: Encode(Decode(x)) runs, reports positions and finds handlers as x does.
#include <algorithm>
#include <cstdio>

#include "bytecode/flow.h"
#include "bytecode/instruction.h"
#include "bytecode/tables.h"

namespace thirdbook {
namespace {

std::string Message(const char* what, size_t where) {
  char text[120];
  std::snprintf(text, sizeof text, "bytecode: %s at code unit %zu", what, where);
  return text;
}

// Code unit → instruction that begins there (its first EXTENDED_ARG counts as its begin), -1 inside one; the
// end of the code maps to the number of instructions.
using UnitMap = std::vector<int32_t>;

Status DecodeInstructions(const std::string& code, std::vector<Instruction>* out, UnitMap* index_at) {
  if (code.size() % 2 != 0) return ValueError("bytecode: odd number of bytes");
  size_t units = code.size() / 2;
  index_at->assign(units + 1, -1);
  std::vector<size_t> after;  // code unit after each instruction and its caches
  for (size_t unit = 0; unit < units;) {
    (*index_at)[unit] = static_cast<int32_t>(out->size());
    uint64_t arg = 0;
    uint8_t number;
    for (;;) {
      if (unit >= units) return ValueError(Message("EXTENDED_ARG without instruction", unit));
      number = static_cast<uint8_t>(code[2 * unit]);
      arg = arg << 8 | static_cast<uint8_t>(code[2 * unit + 1]);
      if (number != static_cast<uint8_t>(Opcode::EXTENDED_ARG)) break;
      ++unit;
    }
    if (!HasOpcode(number)) return ValueError(Message("unknown opcode", unit));
    if (arg > INT32_MAX) return ValueError(Message("argument too large", unit));
    Opcode op = static_cast<Opcode>(number);
    out->push_back({op, static_cast<int32_t>(arg), {}, static_cast<int32_t>(2 * unit)});
    unit += 1 + static_cast<size_t>(CacheEntries(op));
    if (unit > units) return ValueError(Message("cache entries missing", unit));
    after.push_back(unit);
  }
  (*index_at)[units] = static_cast<int32_t>(out->size());
  for (size_t i = 0; i < out->size(); ++i) {
    Instruction& instruction = (*out)[i];
    if (!IsJump(instruction.op)) continue;
    int64_t distance = IsBackwardJump(instruction.op) ? -int64_t{instruction.arg} : int64_t{instruction.arg};
    int64_t target = static_cast<int64_t>(after[i]) + distance;
    if (target < 0 || target >= static_cast<int64_t>(units) || (*index_at)[static_cast<size_t>(target)] < 0) {
      return ValueError(Message("jump to a place that is no instruction", after[i]));
    }
    instruction.arg = (*index_at)[static_cast<size_t>(target)];
  }
  return Status::Ok();
}

Status AttachPositions(const std::string& line_table, int32_t first_line, const UnitMap& index_at,
                       std::vector<Instruction>* instructions) {
  TB_ASSIGN_OR_RETURN(std::vector<LocationRun> runs, DecodeLocations(line_table, first_line));
  size_t unit = 0;
  for (const LocationRun& run : runs) {
    for (int32_t i = 0; i < run.units && unit + 1 < index_at.size(); ++i, ++unit) {
      if (index_at[unit] >= 0) (*instructions)[static_cast<size_t>(index_at[unit])].position = run.position;
    }
  }
  return Status::Ok();
}

Status AttachRegions(const std::string& exception_table, const UnitMap& index_at,
                     std::vector<ExceptionRegion>* regions) {
  TB_ASSIGN_OR_RETURN(std::vector<ExceptionEntry> entries, DecodeExceptions(exception_table));
  for (const ExceptionEntry& entry : entries) {
    auto index = [&](int64_t unit) {
      return unit < static_cast<int64_t>(index_at.size()) ? index_at[static_cast<size_t>(unit)] : -1;
    };
    ExceptionRegion region{index(entry.start), index(int64_t{entry.start} + entry.size), index(entry.handler),
                           entry.depth, entry.push_lasti};
    if (region.begin < 0 || region.end < 0 || region.handler < 0) {
      return ValueError("exception table: an entry does not begin or end at an instruction");
    }
    regions->push_back(region);
  }
  return Status::Ok();
}

// Where each instruction of an image goes: opcodes with the right direction, argument values, sizes.
class Layout {
 public:
  explicit Layout(const CodeImage& image) : image_(image) {}

  Status Compute() {
    size_t count = image_.instructions.size();
    ops_.resize(count);
    extended_.assign(count, 0);
    args_.assign(count, 0);
    for (size_t i = 0; i < count; ++i) TB_RETURN_IF_ERROR(ChooseOpcode(i));
    for (bool grown = true; grown;) {  // sizes only grow, so this ends
      PlaceAll();
      grown = false;
      for (size_t i = 0; i < count; ++i) {
        args_[i] = IsJump(ops_[i]) ? Distance(i) : image_.instructions[i].arg;
        int needed = args_[i] > 0xffffff ? 3 : args_[i] > 0xffff ? 2 : args_[i] > 0xff ? 1 : 0;
        if (needed > extended_[i]) {
          extended_[i] = needed;
          grown = true;
        }
      }
    }
    return Status::Ok();
  }

  int32_t begin(int32_t index) const { return begin_[static_cast<size_t>(index)]; }  // in code units

  void Append(size_t index, std::string* code) const {
    auto byte = [&](int shift) { return static_cast<char>(args_[index] >> shift & 0xff); };
    for (int prefix = extended_[index]; prefix > 0; --prefix) {
      code->push_back(static_cast<char>(Opcode::EXTENDED_ARG));
      code->push_back(byte(8 * prefix));
    }
    code->push_back(static_cast<char>(ops_[index]));
    code->push_back(byte(0));
    code->append(2 * static_cast<size_t>(CacheEntries(ops_[index])), '\0');
  }

 private:
  Status ChooseOpcode(size_t index) {
    const Instruction& instruction = image_.instructions[index];
    ops_[index] = instruction.op;
    if (!IsJump(instruction.op)) return Status::Ok();
    bool backward = instruction.arg <= static_cast<int32_t>(index);
    if (backward == IsBackwardJump(instruction.op)) return Status::Ok();
    switch (instruction.op) {
      case Opcode::JUMP_FORWARD: ops_[index] = Opcode::JUMP_BACKWARD; return Status::Ok();
      case Opcode::JUMP_BACKWARD:
      case Opcode::JUMP_BACKWARD_NO_INTERRUPT: ops_[index] = Opcode::JUMP_FORWARD; return Status::Ok();
      default: {
        char text[160];
        std::snprintf(text, sizeof text, "bytecode: %s at instruction %zu cannot jump %s (to %d)",
                      OpcodeName(instruction.op), index, backward ? "backward" : "forward", instruction.arg);
        return ValueError(text);
      }
    }
  }

  void PlaceAll() {
    begin_.clear();
    int32_t unit = 0;
    for (size_t i = 0; i < ops_.size(); ++i) {
      begin_.push_back(unit);
      unit += extended_[i] + 1 + CacheEntries(ops_[i]);
    }
    begin_.push_back(unit);
  }

  int32_t Distance(size_t index) const {
    int32_t distance = begin(image_.instructions[index].arg) - begin_[index + 1];
    return IsBackwardJump(ops_[index]) ? -distance : distance;
  }

  const CodeImage& image_;
  std::vector<Opcode> ops_;
  std::vector<int> extended_;  // EXTENDED_ARG prefixes
  std::vector<int32_t> args_;
  std::vector<int32_t> begin_;  // one more than instructions: the last is the size
};

// Overlapping regions of an image become entries that do not overlap: each instruction keeps its innermost
// region.
std::vector<ExceptionEntry> FlattenRegions(const CodeImage& image, const Layout& layout) {
  std::vector<ExceptionEntry> entries;
  std::vector<int32_t> region_of = RegionOf(image);
  int32_t count = static_cast<int32_t>(region_of.size());
  auto same = [&](int32_t a, int32_t b) {
    if (a < 0 || b < 0) return a == b;
    const ExceptionRegion &x = image.regions[static_cast<size_t>(a)],
                          &y = image.regions[static_cast<size_t>(b)];
    return x.handler == y.handler && x.depth == y.depth && x.push_lasti == y.push_lasti;
  };
  for (int32_t begin = 0, end; begin < count; begin = end) {
    int32_t current = region_of[static_cast<size_t>(begin)];
    for (end = begin + 1; end < count && same(region_of[static_cast<size_t>(end)], current);) ++end;
    if (current < 0) continue;
    const ExceptionRegion& region = image.regions[static_cast<size_t>(current)];
    entries.push_back({layout.begin(begin), layout.begin(end) - layout.begin(begin),
                       layout.begin(region.handler), region.depth, region.push_lasti});
  }
  return entries;
}

}  // namespace

Result<CodeImage> Decode(const std::string& code, const std::string& line_table,
                         const std::string& exception_table, int32_t first_line) {
  CodeImage image;
  image.first_line = first_line;
  UnitMap index_at;
  TB_RETURN_IF_ERROR(DecodeInstructions(code, &image.instructions, &index_at));
  TB_RETURN_IF_ERROR(AttachPositions(line_table, first_line, index_at, &image.instructions));
  TB_RETURN_IF_ERROR(AttachRegions(exception_table, index_at, &image.regions));
  return image;
}

Result<EncodedCode> Encode(const CodeImage& image) {
  TB_RETURN_IF_ERROR(CheckImage(image));
  EncodedCode out;
  out.stack_size = image.stack_size;
  if (image.stack_size == 0) {
    TB_ASSIGN_OR_RETURN(StackDepths depths, ComputeStackDepths(image));
    out.stack_size = std::max(depths.max, 1);
  }
  Layout layout(image);
  TB_RETURN_IF_ERROR(layout.Compute());
  std::vector<LocationRun> runs;
  for (size_t i = 0; i < image.instructions.size(); ++i) {
    layout.Append(i, &out.code);
    int32_t index = static_cast<int32_t>(i);
    runs.push_back({layout.begin(index + 1) - layout.begin(index), image.instructions[i].position});
  }
  out.line_table = EncodeLocations(runs, image.first_line);
  out.exception_table = EncodeExceptions(FlattenRegions(image, layout));
  return out;
}

}  // namespace thirdbook
