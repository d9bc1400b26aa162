// Instructions of a loop form as statements of WGSL: what the loops (wgsl_emit.cc) and the tiles of a product
// (wgsl_product.cc) around them share.
//
// In: a loop form, and where its buffers are bound. Out: text, line by line, and the cells of the uniform
// that the text reads. Invariant: nothing of sizes, strides or offsets is in the text; a value's name is "v"
// and its number.
//
//   dtype on the device   float32 f32 · int32, uint8 i32 · bool u32 · int64, float64 vec2<u32>
//   (an element takes 4 bytes, or 8, or as a half 2: f16, computed with as f32; a float64 is read, as float32 or bool, never computed with)
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernel/loops.h"

namespace thirdbook {

// A cell of 4 bytes of the uniform `p`. Sizes and offsets count elements.
struct WgslCell {
  enum class Kind : uint8_t {
    kZero,       // always the first
    kTotal,      // product of all sizes
    kRows,       // of the outer ones
    kCount,      // of the inner ones
    kSize,       // of dimension `dim`
    kBase,       // first element of buffer `buffer`
    kStride,     // of `buffer` along `dim`
    kShape,      // of a product: number `dim` of wgsl_product.h's list
    kParameter,  // of the kernel: number `dim`
  };
  Kind kind = Kind::kZero;
  int buffer = -1, dim = -1;
  friend bool operator==(const WgslCell&, const WgslCell&) = default;
};

struct WgslShader {
  std::string code;
  std::vector<WgslCell> cells;
};

// Whether every instruction and buffer has a form in WGSL: no float64 values, no calls of the host.
bool WgslCanEmit(const LoopKernel& kernel);

class WgslBody {
 public:
  // `bindings`: for each buffer of the kernel the number of its binding, 1 or more, and 0 for one that
  // nothing reads; equal ones are one buffer.
  WgslBody(const LoopKernel& kernel, std::vector<int> bindings);

  void Line(const std::string& text);
  void Open(const std::string& head);  // "for (...) {", and what follows is indented
  void Close();

  std::string Cell(WgslCell cell);  // "p.c[1].y"
  // One more buffer "g" and its number, only read, beside those of the kernel.
  void Bind(int binding, DType dtype, bool half = false) {
    more_[binding].dtype = dtype;
    more_[binding].half = half;
  }
  // "enable subgroups;"
  void Enable(const std::string& extension) { extensions_ += "enable " + extension + ";\n"; }
  // Loads of this buffer are that expression instead.
  void Replace(int buffer, std::string expression) { replaced_[buffer] = std::move(expression); }
  bool IsBound(int buffer) const {
    return bindings_[static_cast<size_t>(buffer)] > 0 && replaced_.count(buffer) == 0;
  }
  // The name of the variable that holds the buffer's current offset, or an expression.
  void SetOffset(int buffer, std::string offset) {
    offsets_[static_cast<size_t>(buffer)] = std::move(offset);
  }

  // Indices of dimensions [first, last) from the running number in `number`; declares them as "i0", "i1"...
  void Indices(int first, int last, const std::string& number);
  // `from` plus what the indices of dimensions [first, last) add.
  std::string Offset(int buffer, const std::string& from, int first, int last);

  void Define(int id);  // let v7 = ...;
  void StoreValue(const Store& store);
  static std::string Name(int id) { return "v" + std::to_string(id); }
  static std::string TypeName(LaneType type);
  std::string Constant(LaneType type, uint64_t bits) const;
  static std::string Cast(const std::string& value, LaneType from, LaneType to);
  std::string Count(LaneType type);

  // The whole shader: declarations, functions, `head` (module scope), then the lines so far.
  WgslShader Finish(const std::string& head) const;

 private:
  std::string Expression(const Instr& instr);
  std::string Wide(const Instr& instr, const std::string& a, const std::string& b) const;
  LaneType TypeOf(int id) const { return k_.instrs[static_cast<size_t>(id)].type; }

  const LoopKernel& k_;
  std::vector<int> bindings_;
  std::vector<std::string> offsets_;
  std::map<int, std::string> replaced_;
  std::map<int, Buffer> more_;
  std::string extensions_;
  std::vector<WgslCell> cells_{{WgslCell::Kind::kZero}};
  std::string text_;
  std::string indent_;
};

}  // namespace thirdbook
