// Writes a wasm module byte by byte, each run of bytes with a label: the same calls give the binary and its
// annotated dump.
//
// In: instructions of one function, in order. Out: a module that imports memory "e.m" and table "e.t" and
// exports the function as "k". Invariant: locals are declared before Finish; block depth is back to zero
// there.
//
//   002d: 20 03          ;   local.get 3
//   002f: fd 00 04 00    ;   v128.load align=16 offset=0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thirdbook {

enum class W : uint8_t {
#define TB_WASM(name, prefix, code, text) k_##name,
#include "kernel/wasm_opcodes.def"
#undef TB_WASM
};

enum class WasmType : uint8_t { kI32 = 0x7f, kI64 = 0x7e, kF32 = 0x7d, kF64 = 0x7c, kV128 = 0x7b };

class ByteWriter {
 public:
  struct Note {
    size_t offset;
    std::string text;  // empty when not annotated
  };
  void Byte(uint8_t byte) { bytes_.push_back(byte); }
  void U32(uint32_t value);  // LEB128
  void S32(int32_t value);
  void S64(int64_t value);
  void Raw(const void* data, size_t size);
  void Name(const char* text);  // length and bytes
  void Label(std::string text) {
    notes_.push_back({bytes_.size(), std::move(text)});
  }  // names the bytes that follow
  void LabelMore(const std::string& text) { notes_.back().text += text; }
  void Append(const ByteWriter& other);
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  std::string Dump() const;

 private:
  std::vector<uint8_t> bytes_;
  std::vector<Note> notes_;
};

class FunctionWriter {
 public:
  // Parameters come first; the function has no result. `annotate`: keep labels, for the dump.
  FunctionWriter(std::vector<WasmType> parameters, bool annotate);

  uint32_t NewLocal(WasmType type);
  void Op(W op);
  void Local(W op, uint32_t index);  // local.get, .set, .tee
  void I32(int32_t value);
  void I64(int64_t value);
  void F32(float value);
  void F64(double value);
  void V128(uint64_t low, uint64_t high, const char* comment);
  void Memory(W op, int bytes, uint32_t offset);  // bytes: natural alignment
  void MemoryLane(W op, int bytes, uint32_t offset, int lane);
  void Lane(W op, int lane);
  void Shuffle(const uint8_t (&lanes)[16]);
  void Block(W op);  // block, loop, if: without result
  void End();
  void Branch(W op, uint32_t depth);
  // Calls through the imported table; the operands and the table index are on the stack.
  void CallIndirect(std::vector<WasmType> parameters, WasmType result, const char* comment);

  struct Module {
    std::vector<uint8_t> bytes;
    std::string text;  // empty when not annotated
  };
  Module Finish() const;

 private:
  struct Signature {
    std::vector<WasmType> parameters, results;
    friend bool operator==(const Signature&, const Signature&) = default;
  };
  void Begin(W op);
  void Comment(const std::string& text) {
    if (annotate_) code_.LabelMore(text);
  }
  uint32_t TypeIndex(const Signature& signature);

  ByteWriter code_;
  std::vector<Signature> types_;
  std::vector<WasmType> locals_;
  size_t parameters_;
  bool annotate_;
  int depth_ = 0;
};

}  // namespace thirdbook
