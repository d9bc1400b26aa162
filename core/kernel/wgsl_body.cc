#include "kernel/wgsl_body.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "base/status.h"
#include "kernel/wgsl_functions.h"

namespace thirdbook {
namespace {

const char* StorageType(DType dtype) {
  switch (dtype) {
    case DType::kBool: return "u32";
    case DType::kUInt8:
    case DType::kInt32: return "i32";
    case DType::kFloat32: return "f32";
    case DType::kInt64:
    case DType::kFloat64: return "vec2<u32>";
  }
  TB_CHECK(false);
}

std::string Hex(uint32_t bits) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%xu", bits);
  return text;
}

bool CanEmitInstr(const LoopKernel& kernel, const Instr& instr) {
  if (instr.type == LaneType::kF64 || ClassOf(instr.prim) == PrimClass::kHost) return false;
  if (instr.prim == Prim::k_load && kernel.buffers[instr.imm].dtype == DType::kFloat64)
    return instr.type == LaneType::kF32 || instr.type == LaneType::kBool;
  if (instr.prim == Prim::k_shl || instr.prim == Prim::k_shr) return instr.type == LaneType::kI32;
  if (ClassOf(instr.prim) == PrimClass::kMath) return instr.type == LaneType::kF32;
  return true;
}

}  // namespace

bool WgslCanEmit(const LoopKernel& kernel) {
  for (const Stage& stage : kernel.stages) {
    for (int id : stage.body) {
      if (!CanEmitInstr(kernel, kernel.instrs[static_cast<size_t>(id)])) return false;
    }
  }
  return std::none_of(kernel.buffers.begin(), kernel.buffers.end(),
                      [](const Buffer& b) { return b.output && b.dtype == DType::kFloat64; });
}

WgslBody::WgslBody(const LoopKernel& kernel, std::vector<int> bindings)
    : k_(kernel), bindings_(std::move(bindings)), offsets_(kernel.buffers.size()) {}

void WgslBody::Line(const std::string& text) { text_ += indent_ + text + "\n"; }
void WgslBody::Open(const std::string& head) {
  Line(head);
  indent_ += "  ";
}
void WgslBody::Close() {
  indent_.resize(indent_.size() - 2);
  Line("}");
}

std::string WgslBody::Cell(WgslCell cell) {
  const auto at = std::find(cells_.begin(), cells_.end(), cell);
  const auto index = static_cast<size_t>(at - cells_.begin());
  if (at == cells_.end()) cells_.push_back(cell);
  return "p.c[" + std::to_string(index / 4) + "]." + "xyzw"[index % 4];
}

void WgslBody::Indices(int first, int last, const std::string& number) {
  std::string rest = number;
  for (int d = last - 1; d >= first; --d) {
    const std::string name = "i" + std::to_string(d);
    if (d == first) {
      Line("let " + name + " = " + rest + ";");
      break;
    }
    const std::string size = Cell({WgslCell::Kind::kSize, -1, d});
    Line("let " + name + " = " + rest + " % " + size + ";");
    Line("let n" + std::to_string(d) + " = " + rest + " / " + size + ";");
    rest = "n" + std::to_string(d);
  }
}

std::string WgslBody::Offset(int buffer, const std::string& from, int first, int last) {
  const Buffer& b = k_.buffers[static_cast<size_t>(buffer)];
  std::string text = from;
  for (int d = first; d < last; ++d) {
    if (!(b.varies >> d & 1)) continue;
    text += " + i" + std::to_string(d);
    if (d != k_.lane_dim() || b.walk != Walk::kUnit)
      text += " * " + Cell({WgslCell::Kind::kStride, buffer, d});
  }
  return text;
}

std::string WgslBody::TypeName(LaneType type) {
  switch (type) {
    case LaneType::kBool: return "bool";
    case LaneType::kI32: return "i32";
    case LaneType::kI64: return "vec2<u32>";
    case LaneType::kF32: return "f32";
    case LaneType::kF64: break;
  }
  TB_CHECK(false);
}

// Of no WGSL constant may the value be infinite, NaN or -0.
std::string WgslBody::Constant(LaneType type, uint64_t bits) const {
  const auto low = static_cast<uint32_t>(bits);
  switch (type) {
    case LaneType::kBool: return bits ? "true" : "false";
    case LaneType::kI32:
      return low == 0x80000000u ? "i32(-2147483648)" : std::to_string(static_cast<int32_t>(low)) + "i";
    case LaneType::kI64: return "vec2<u32>(" + Hex(low) + ", " + Hex(static_cast<uint32_t>(bits >> 32)) + ")";
    case LaneType::kF32: {
      const auto value = std::bit_cast<float>(low);
      if (!std::isfinite(value) || (value == 0 && low != 0)) return "tb_float(" + Hex(low) + ")";
      char text[40];
      std::snprintf(text, sizeof text, "%.9gf", static_cast<double>(value));
      return text;
    }
    case LaneType::kF64: break;
  }
  TB_CHECK(false);
}

std::string WgslBody::Cast(const std::string& value, LaneType from, LaneType to) {
  if (from == to) return value;
  switch (to) {
    case LaneType::kBool:  // NaN is true; adapters differ about NaN != 0
      if (from == LaneType::kF32) return "((bitcast<u32>(" + value + ") & 0x7fffffffu) != 0u)";
      return from == LaneType::kI64 ? "any(" + value + " != vec2<u32>(0u, 0u))" : "(" + value + " != 0)";
    case LaneType::kI32:
      if (from == LaneType::kI64) return "bitcast<i32>(" + value + ".x)";
      return (from == LaneType::kF32 ? "tb_f32_i32(" : "i32(") + value + ")";
    case LaneType::kI64:
      if (from == LaneType::kBool) return "vec2<u32>(u32(" + value + "), 0u)";
      return (from == LaneType::kF32 ? "tb_f32_i64(" : "tb_i32_i64(") + value + ")";
    case LaneType::kF32: return (from == LaneType::kI64 ? "tb_i64_f32(" : "f32(") + value + ")";
    case LaneType::kF64: break;
  }
  TB_CHECK(false);
}

std::string WgslBody::Count(LaneType type) {
  const std::string count = Cell({WgslCell::Kind::kCount});
  if (type == LaneType::kI64) return "vec2<u32>(" + count + ", 0u)";
  return TypeName(type) + "(" + count + ")";
}

std::string WgslBody::Wide(const Instr& instr, const std::string& a, const std::string& b) const {
  switch (instr.prim) {
    case Prim::k_add: return "tb_add64(" + a + ", " + b + ")";
    case Prim::k_sub: return "tb_add64(" + a + ", tb_neg64(" + b + "))";
    case Prim::k_mul: return "tb_mul64(" + a + ", " + b + ")";
    case Prim::k_neg: return "tb_neg64(" + a + ")";
    case Prim::k_abs: return "tb_abs64(" + a + ")";
    case Prim::k_min:
    case Prim::k_pmin: return "tb_min64(" + a + ", " + b + ")";
    case Prim::k_max:
    case Prim::k_pmax: return "tb_max64(" + a + ", " + b + ")";
    case Prim::k_eq: return "all(" + a + " == " + b + ")";
    case Prim::k_ne: return "any(" + a + " != " + b + ")";
    case Prim::k_lt: return "tb_lt64(" + a + ", " + b + ")";
    case Prim::k_le: return "!tb_lt64(" + b + ", " + a + ")";
    case Prim::k_gt: return "tb_lt64(" + b + ", " + a + ")";
    case Prim::k_ge: return "!tb_lt64(" + a + ", " + b + ")";
    default: return {};
  }
}

std::string WgslBody::Expression(const Instr& instr) {
  const auto arg = [&](int i) { return Name(instr.args[i]); };
  const std::string a = PrimArity(instr.prim) > 0 ? arg(0) : "", b = PrimArity(instr.prim) > 1 ? arg(1) : "";
  const LaneType t = instr.type, operand = a.empty() ? t : TypeOf(instr.args[0]);
  const auto infix = [&](const char* op) { return a + " " + op + " " + b; };
  const auto call = [&](const std::string& f) { return f + "(" + a + (b.empty() ? "" : ", " + b) + ")"; };
  if (operand == LaneType::kI64) {
    const std::string wide = Wide(instr, a, b);
    if (!wide.empty()) return wide;
  }
  const bool is_bool = t == LaneType::kBool, is_float = t == LaneType::kF32;
  switch (instr.prim) {
    case Prim::k_constant: return Constant(t, instr.imm);
    case Prim::k_load: {
      const auto buffer = static_cast<int>(instr.imm);
      const DType dtype = k_.buffers[instr.imm].dtype;
      const auto replaced = replaced_.find(buffer);
      if (replaced != replaced_.end()) return Cast(replaced->second, LaneTypeOf(dtype), t);
      const std::string element =
          "g" + std::to_string(bindings_[instr.imm]) + "[" + offsets_[instr.imm] + "]";
      if (dtype == DType::kFloat64) return Cast("tb_f64_f32(" + element + ")", LaneType::kF32, t);
      if (dtype == DType::kBool) return Cast("(" + element + " != 0u)", LaneType::kBool, t);
      if (k_.buffers[instr.imm].half) return Cast("f32(" + element + ")", LaneType::kF32, t);
      return Cast(element, LaneTypeOf(dtype), t);
    }
    case Prim::k_load_at: {
      const std::string element = "g" + std::to_string(bindings_[instr.imm]) + "[u32(" + a + ")]";
      const Buffer& buffer = k_.buffers[instr.imm];
      if (buffer.dtype == DType::kBool) return "(" + element + " != 0u)";
      return buffer.half ? "f32(" + element + ")" : element;
    }
    case Prim::k_index: return "i32(i" + std::to_string(instr.imm) + ")";
    case Prim::k_parameter:
      return "bitcast<" + TypeName(t) + ">(" +
             Cell({WgslCell::Kind::kParameter, -1, static_cast<int>(instr.imm)}) + ")";
    case Prim::k_count: return Count(t);
    case Prim::k_fold: return "f" + std::to_string(instr.imm);
    case Prim::k_cast: return Cast(a, operand, t);
    case Prim::k_bits: return "bitcast<" + TypeName(t) + ">(" + a + ")";
    case Prim::k_add: return infix("+");
    case Prim::k_sub: return infix("-");
    case Prim::k_mul: return infix("*");
    case Prim::k_div: return infix("/");
    case Prim::k_neg: return "-" + a;
    case Prim::k_nearest: return call("round");
    case Prim::k_sqrt: return call("tb_sqrt");
    case Prim::k_min: return is_bool ? infix("&&") : call(is_float ? "tb_min" : "min");
    case Prim::k_max: return is_bool ? infix("||") : call(is_float ? "tb_max" : "max");
    case Prim::k_pmin: return "select(" + a + ", " + b + ", " + b + " < " + a + ")";
    case Prim::k_pmax: return "select(" + a + ", " + b + ", " + a + " < " + b + ")";
    case Prim::k_madd: return "tb_mad(" + a + ", " + b + ", " + arg(2) + ")";
    case Prim::k_nmadd: return "tb_mad(-" + a + ", " + b + ", " + arg(2) + ")";
    case Prim::k_msub: return "tb_mad(" + a + ", " + b + ", -" + arg(2) + ")";
    case Prim::k_eq: return infix("==");
    case Prim::k_ne:
      if (operand != LaneType::kF32) return infix("!=");
      return a == b ? "tb_nan(" + a + ")" : "!(" + infix("==") + ")";
    case Prim::k_lt: return infix("<");
    case Prim::k_le: return infix("<=");
    case Prim::k_gt: return infix(">");
    case Prim::k_ge: return infix(">=");
    case Prim::k_and_: return infix(is_bool ? "&&" : "&");
    case Prim::k_or_: return infix(is_bool ? "||" : "|");
    case Prim::k_xor_: return infix(is_bool ? "!=" : "^");
    case Prim::k_not_: return (is_bool ? "!" : "~") + a;
    case Prim::k_shl: return a + " << " + std::to_string(instr.imm) + "u";
    case Prim::k_shr: return a + " >> " + std::to_string(instr.imm) + "u";
    case Prim::k_select: return "select(" + arg(2) + ", " + b + ", " + a + ")";
    case Prim::k_exp_negative: return call("tb_exp_negative");
    case Prim::k_abs:
    case Prim::k_floor:
    case Prim::k_ceil:
    case Prim::k_trunc: return call(PrimName(instr.prim));
    default:
      TB_CHECK(ClassOf(instr.prim) == PrimClass::kMath);
      return call(std::string("tb_") + PrimName(instr.prim));
  }
}

void WgslBody::Define(int id) {
  Line("let " + Name(id) + " = " + Expression(k_.instrs[static_cast<size_t>(id)]) + ";");
}

void WgslBody::StoreValue(const Store& store) {
  const auto b = static_cast<size_t>(store.buffer);
  const char* type = k_.buffers[b].dtype == DType::kBool ? "u32" : k_.buffers[b].half ? "f16" : "";
  const std::string value = *type ? std::string(type) + "(" + Name(store.value) + ")" : Name(store.value);
  Line("g" + std::to_string(bindings_[b]) + "[" + offsets_[b] + "] = " + value + ";");
}

WgslShader WgslBody::Finish(const std::string& head) const {
  std::string declarations = "struct Cells { c: array<vec4<u32>, " + std::to_string((cells_.size() + 3) / 4) +
                             "> }\n@group(0) @binding(0) var<uniform> p: Cells;\n";
  std::map<int, Buffer> bound;
  for (size_t b = 0; b < bindings_.size(); ++b) {
    if (IsBound(static_cast<int>(b))) bound[bindings_[b]] = k_.buffers[b];
  }
  for (const auto& [binding, buffer] : more_) bound[binding] = buffer;
  bool half = false;
  for (const auto& [binding, buffer] : bound) {
    declarations += "@group(0) @binding(" + std::to_string(binding) + ") var<storage, " +
                    (buffer.output ? "read_write" : "read") + "> g" + std::to_string(binding) + ": array<" +
                    (buffer.half ? "f16" : StorageType(buffer.dtype)) + ">;\n";
    half |= buffer.half;
  }
  const std::string body = head + text_;
  return {(half ? "enable f16;\n" : "") + extensions_ + declarations + WgslFunctions(body) + body, cells_};
}

}  // namespace thirdbook
