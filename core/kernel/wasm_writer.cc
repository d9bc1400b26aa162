#include "kernel/wasm_writer.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/lines.h"
#include "base/status.h"

namespace thirdbook {
namespace {

struct OpcodeRow {
  uint8_t prefix;
  uint32_t code;
};
constexpr OpcodeRow kOpcodes[] = {
#define TB_WASM(name, prefix, code, text) {prefix, code},
#include "kernel/wasm_opcodes.def"
#undef TB_WASM
};
constexpr std::string_view kTexts =
#define TB_WASM(name, prefix, code, text) text "\n"
#include "kernel/wasm_opcodes.def"
#undef TB_WASM
    "";

const char* TypeText(WasmType type) {
  switch (type) {
    case WasmType::kI32: return "i32";
    case WasmType::kI64: return "i64";
    case WasmType::kF32: return "f32";
    case WasmType::kF64: return "f64";
    case WasmType::kV128: return "v128";
  }
  return "?";
}

void Section(ByteWriter& module, uint8_t id, const char* name, const ByteWriter& body) {
  module.Label(std::string("section ") + name);
  module.Byte(id);
  module.U32(static_cast<uint32_t>(body.bytes().size()));
  module.Append(body);
}

}  // namespace

void ByteWriter::U32(uint32_t value) {
  do {
    const uint8_t low = value & 0x7f;
    value >>= 7;
    Byte(value ? low | 0x80 : low);
  } while (value);
}
void ByteWriter::S64(int64_t value) {
  for (;;) {
    const uint8_t low = value & 0x7f;
    value >>= 7;
    if ((value == 0 && !(low & 0x40)) || (value == -1 && (low & 0x40))) {
      Byte(low);
      return;
    }
    Byte(low | 0x80);
  }
}
void ByteWriter::S32(int32_t value) { S64(value); }
void ByteWriter::Raw(const void* data, size_t size) {
  const auto* p = static_cast<const uint8_t*>(data);
  bytes_.insert(bytes_.end(), p, p + size);
}
void ByteWriter::Name(const char* text) {
  U32(static_cast<uint32_t>(std::strlen(text)));
  Raw(text, std::strlen(text));
}
void ByteWriter::Append(const ByteWriter& other) {
  for (const Note& note : other.notes_) notes_.push_back({bytes_.size() + note.offset, note.text});
  bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
}

std::string ByteWriter::Dump() const {
  std::string text;
  for (size_t i = 0; i < notes_.size(); ++i) {
    const size_t end = i + 1 < notes_.size() ? notes_[i + 1].offset : bytes_.size();
    char line[24];
    std::snprintf(line, sizeof line, "%04zx:", notes_[i].offset);
    std::string row = line;
    for (size_t at = notes_[i].offset; at < end; ++at) {
      std::snprintf(line, sizeof line, " %02x", bytes_[at]);
      row += line;
    }
    if (row.size() < 30) row.resize(30, ' ');
    text += row + " ; " + notes_[i].text + "\n";
  }
  return text;
}

FunctionWriter::FunctionWriter(std::vector<WasmType> parameters, bool annotate)
    : locals_(parameters), parameters_(parameters.size()), annotate_(annotate) {
  types_.push_back({std::move(parameters), {}});
}

uint32_t FunctionWriter::NewLocal(WasmType type) {
  locals_.push_back(type);
  return static_cast<uint32_t>(locals_.size() - 1);
}

void FunctionWriter::Begin(W op) {
  const OpcodeRow& row = kOpcodes[static_cast<int>(op)];
  if (annotate_) {
    std::string indent(static_cast<size_t>(depth_ + 1) * 2, ' ');
    code_.Label(indent.append(Line(kTexts, static_cast<size_t>(op))));
  }
  if (row.prefix) {
    code_.Byte(row.prefix);
    code_.U32(row.code);
  } else {
    code_.Byte(static_cast<uint8_t>(row.code));
  }
}
void FunctionWriter::Op(W op) { Begin(op); }
void FunctionWriter::Local(W op, uint32_t index) {
  Begin(op);
  if (annotate_) Comment(" " + std::to_string(index));
  code_.U32(index);
}
void FunctionWriter::I32(int32_t value) {
  Begin(W::k_i32_const);
  if (annotate_) Comment(" " + std::to_string(value));
  code_.S32(value);
}
void FunctionWriter::I64(int64_t value) {
  Begin(W::k_i64_const);
  if (annotate_) Comment(" " + std::to_string(value));
  code_.S64(value);
}
void FunctionWriter::F32(float value) {
  char text[24];
  std::snprintf(text, sizeof text, " %.9g", static_cast<double>(value));
  Begin(W::k_f32_const);
  Comment(text);
  code_.Raw(&value, 4);
}
void FunctionWriter::F64(double value) {
  char text[32];
  std::snprintf(text, sizeof text, " %.17g", value);
  Begin(W::k_f64_const);
  Comment(text);
  code_.Raw(&value, 8);
}
void FunctionWriter::V128(uint64_t low, uint64_t high, const char* comment) {
  Begin(W::k_v128_const);
  if (annotate_) {
    char text[64];
    std::snprintf(text, sizeof text, " 0x%016" PRIx64 " 0x%016" PRIx64, low, high);
    Comment(text + std::string(*comment ? "  = " : "") + comment);
  }
  code_.Raw(&low, 8);
  code_.Raw(&high, 8);
}
void FunctionWriter::Memory(W op, int bytes, uint32_t offset) {
  Begin(op);
  if (annotate_) Comment(" align=" + std::to_string(bytes) + " offset=" + std::to_string(offset));
  uint32_t log = 0;
  while ((1 << log) < bytes) ++log;
  code_.U32(log);
  code_.U32(offset);
}
void FunctionWriter::MemoryLane(W op, int bytes, uint32_t offset, int lane) {
  Memory(op, bytes, offset);
  code_.Byte(static_cast<uint8_t>(lane));
}
void FunctionWriter::Lane(W op, int lane) {
  Begin(op);
  if (annotate_) Comment(" " + std::to_string(lane));
  code_.Byte(static_cast<uint8_t>(lane));
}
void FunctionWriter::Shuffle(const uint8_t (&lanes)[16]) {
  Begin(W::k_i8x16_shuffle);
  if (annotate_) {
    for (uint8_t lane : lanes) Comment(" " + std::to_string(lane));
  }
  code_.Raw(lanes, 16);
}
void FunctionWriter::Block(W op) {
  Begin(op);
  code_.Byte(0x40);
  ++depth_;
}
void FunctionWriter::End() {
  --depth_;
  Begin(W::k_end);
}
void FunctionWriter::Branch(W op, uint32_t depth) {
  Begin(op);
  if (annotate_) Comment(" " + std::to_string(depth));
  code_.U32(depth);
}
uint32_t FunctionWriter::TypeIndex(const Signature& signature) {
  for (size_t i = 0; i < types_.size(); ++i) {
    if (types_[i] == signature) return static_cast<uint32_t>(i);
  }
  types_.push_back(signature);
  return static_cast<uint32_t>(types_.size() - 1);
}
void FunctionWriter::CallIndirect(std::vector<WasmType> parameters, WasmType result, const char* comment) {
  const uint32_t type = TypeIndex({std::move(parameters), {result}});
  Begin(W::k_call_indirect);
  if (annotate_) Comment(" type=" + std::to_string(type) + "  = " + comment);
  code_.U32(type);
  code_.U32(0);
}

FunctionWriter::Module FunctionWriter::Finish() const {
  TB_CHECK(depth_ == 0);
  ByteWriter module;
  module.Label("magic, version 1");
  module.Raw("\0asm\1\0\0\0", 8);

  ByteWriter types;
  types.U32(static_cast<uint32_t>(types_.size()));
  for (const Signature& signature : types_) {
    std::string text = "  func (";
    for (WasmType t : signature.parameters) text += std::string(" ") + TypeText(t);
    text += " ) -> (";
    for (WasmType t : signature.results) text += std::string(" ") + TypeText(t);
    types.Label(text + " )");
    types.Byte(0x60);
    types.U32(static_cast<uint32_t>(signature.parameters.size()));
    for (WasmType t : signature.parameters) types.Byte(static_cast<uint8_t>(t));
    types.U32(static_cast<uint32_t>(signature.results.size()));
    for (WasmType t : signature.results) types.Byte(static_cast<uint8_t>(t));
  }
  Section(module, 1, "type", types);

  ByteWriter imports;
  imports.U32(2);
  imports.Label("  e.m memory");
  imports.Name("e"), imports.Name("m"), imports.Byte(2), imports.Byte(0), imports.U32(0);
  imports.Label("  e.t table of funcref");
  imports.Name("e"), imports.Name("t"), imports.Byte(1), imports.Byte(0x70), imports.Byte(0), imports.U32(0);
  Section(module, 2, "import", imports);

  ByteWriter functions;
  functions.U32(1), functions.U32(0);
  Section(module, 3, "function", functions);

  ByteWriter exports;
  exports.U32(1), exports.Name("k"), exports.Byte(0), exports.U32(0);
  Section(module, 7, "export", exports);

  ByteWriter body;
  body.Label("  locals");
  std::vector<std::pair<uint32_t, WasmType>> runs;
  for (size_t i = parameters_; i < locals_.size(); ++i) {
    if (!runs.empty() && runs.back().second == locals_[i])
      ++runs.back().first;
    else
      runs.push_back({1, locals_[i]});
  }
  body.U32(static_cast<uint32_t>(runs.size()));
  for (const auto& [count, type] : runs) body.U32(count), body.Byte(static_cast<uint8_t>(type));
  body.Append(code_);
  body.Label("end of function");
  body.Byte(0x0b);
  ByteWriter code;
  code.U32(1);
  code.U32(static_cast<uint32_t>(body.bytes().size()));
  code.Append(body);
  Section(module, 10, "code", code);
  return {module.bytes(), annotate_ ? module.Dump() : std::string()};
}

}  // namespace thirdbook
