#include "kernel/wasm_lanes.h"

#include <bit>
#include <limits>

#include "base/status.h"
#include "kernel/host_functions.h"

namespace thirdbook {
namespace {

constexpr uint8_t kNarrow64[16] = {0, 1, 2, 3, 8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11};

// The instruction of a prim for each lane type: i32x4, i64x2, f32x4, f64x2.
struct Row {
  Prim prim;
  W i32, i64, f32, f64;
};
constexpr W kNone = W::k_end;
constexpr Row kRows[] = {
    {Prim::k_add, W::k_i32x4_add, W::k_i64x2_add, W::k_f32x4_add, W::k_f64x2_add},
    {Prim::k_sub, W::k_i32x4_sub, W::k_i64x2_sub, W::k_f32x4_sub, W::k_f64x2_sub},
    {Prim::k_mul, W::k_i32x4_mul, W::k_i64x2_mul, W::k_f32x4_mul, W::k_f64x2_mul},
    {Prim::k_div, kNone, kNone, W::k_f32x4_div, W::k_f64x2_div},
    {Prim::k_neg, W::k_i32x4_neg, W::k_i64x2_neg, W::k_f32x4_neg, W::k_f64x2_neg},
    {Prim::k_abs, W::k_i32x4_abs, W::k_i64x2_abs, W::k_f32x4_abs, W::k_f64x2_abs},
    {Prim::k_sqrt, kNone, kNone, W::k_f32x4_sqrt, W::k_f64x2_sqrt},
    {Prim::k_floor, kNone, kNone, W::k_f32x4_floor, W::k_f64x2_floor},
    {Prim::k_ceil, kNone, kNone, W::k_f32x4_ceil, W::k_f64x2_ceil},
    {Prim::k_trunc, kNone, kNone, W::k_f32x4_trunc, W::k_f64x2_trunc},
    {Prim::k_nearest, kNone, kNone, W::k_f32x4_nearest, W::k_f64x2_nearest},
    {Prim::k_min, W::k_i32x4_min_s, kNone, W::k_f32x4_min, W::k_f64x2_min},
    {Prim::k_max, W::k_i32x4_max_s, kNone, W::k_f32x4_max, W::k_f64x2_max},
    {Prim::k_pmin, W::k_i32x4_min_s, kNone, W::k_f32x4_pmin, W::k_f64x2_pmin},
    {Prim::k_pmax, W::k_i32x4_max_s, kNone, W::k_f32x4_pmax, W::k_f64x2_pmax},
    {Prim::k_eq, W::k_i32x4_eq, W::k_i64x2_eq, W::k_f32x4_eq, W::k_f64x2_eq},
    {Prim::k_ne, W::k_i32x4_ne, W::k_i64x2_ne, W::k_f32x4_ne, W::k_f64x2_ne},
    {Prim::k_lt, W::k_i32x4_lt_s, W::k_i64x2_lt_s, W::k_f32x4_lt, W::k_f64x2_lt},
    {Prim::k_le, W::k_i32x4_le_s, W::k_i64x2_le_s, W::k_f32x4_le, W::k_f64x2_le},
    {Prim::k_gt, W::k_i32x4_gt_s, W::k_i64x2_gt_s, W::k_f32x4_gt, W::k_f64x2_gt},
    {Prim::k_ge, W::k_i32x4_ge_s, W::k_i64x2_ge_s, W::k_f32x4_ge, W::k_f64x2_ge},
    {Prim::k_and_, W::k_v128_and, W::k_v128_and, kNone, kNone},
    {Prim::k_or_, W::k_v128_or, W::k_v128_or, kNone, kNone},
    {Prim::k_xor_, W::k_v128_xor, W::k_v128_xor, kNone, kNone},
    {Prim::k_not_, W::k_v128_not, W::k_v128_not, kNone, kNone},
    {Prim::k_shl, W::k_i32x4_shl, W::k_i64x2_shl, kNone, kNone},
    {Prim::k_shr, W::k_i32x4_shr_s, W::k_i64x2_shr_s, kNone, kNone},
};

W Instruction(Prim prim, LaneType type) {
  for (const Row& row : kRows) {
    if (row.prim != prim) continue;
    switch (type) {
      case LaneType::kBool:
      case LaneType::kI32: return row.i32;
      case LaneType::kI64: return row.i64;
      case LaneType::kF32: return row.f32;
      case LaneType::kF64: return row.f64;
    }
  }
  return kNone;
}

WasmType ScalarType(LaneType type) {
  switch (type) {
    case LaneType::kI64: return WasmType::kI64;
    case LaneType::kF32: return WasmType::kF32;
    case LaneType::kF64: return WasmType::kF64;
    default: return WasmType::kI32;
  }
}
W ExtractOp(WasmType type) {
  return type == WasmType::kI64   ? W::k_i64x2_extract_lane
         : type == WasmType::kF32 ? W::k_f32x4_extract_lane
                                  : W::k_f64x2_extract_lane;
}
W ReplaceOp(WasmType type) {
  return type == WasmType::kI64   ? W::k_i64x2_replace_lane
         : type == WasmType::kF32 ? W::k_f32x4_replace_lane
                                  : W::k_f64x2_replace_lane;
}
W SplatOp(LaneType type) {
  switch (type) {
    case LaneType::kI64: return W::k_i64x2_splat;
    case LaneType::kF32: return W::k_f32x4_splat;
    case LaneType::kF64: return W::k_f64x2_splat;
    default: return W::k_i32x4_splat;
  }
}

}  // namespace

void LaneEmitter::NarrowMask() {
  const uint32_t t = f_.NewLocal(WasmType::kV128);
  f_.Local(W::k_local_tee, t);
  f_.Local(W::k_local_get, t);
  f_.Shuffle(kNarrow64);
}

void LaneEmitter::Constant(LaneType type, uint64_t bits) {
  uint64_t word;
  switch (type) {
    case LaneType::kBool: word = bits ? ~uint64_t{0} : 0; break;
    case LaneType::kI32:
    case LaneType::kF32: word = (bits & 0xffffffff) | bits << 32; break;
    default: word = bits;
  }
  char text[40] = "";
  if (type == LaneType::kF32) {
    std::snprintf(text, sizeof text, "f32x4 %.9g",
                  static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
  } else if (type == LaneType::kF64) {
    std::snprintf(text, sizeof text, "f64x2 %.17g", std::bit_cast<double>(bits));
  }
  f_.V128(word, word, text);
}

// Converts lane by lane through scalars.
void LaneEmitter::ScalarLanes(WasmType from, WasmType to, W convert, const std::function<void(int)>& push) {
  const uint32_t in = f_.NewLocal(WasmType::kV128);
  push(0);
  f_.Local(W::k_local_set, in);
  f_.V128(0, 0, "");
  for (int lane = 0; lane < 2; ++lane) {
    f_.Local(W::k_local_get, in);
    f_.Lane(ExtractOp(from), lane);
    f_.Op(convert);
    f_.Lane(ReplaceOp(to), lane);
  }
}

void LaneEmitter::Cast(LaneType from, LaneType to, const std::function<void(int)>& push) {
  using L = LaneType;
  if (from == to) return push(0);
  if (to == L::kBool) {
    push(0);
    Constant(from, 0);
    Compare(Prim::k_ne, from);
    return;
  }
  if (from == L::kBool) {
    push(0);
    if (!IsWide(to) && lanes_ == 2) NarrowMask();
    const uint64_t one = to == L::kF32   ? std::bit_cast<uint32_t>(1.0f)
                         : to == L::kF64 ? std::bit_cast<uint64_t>(1.0)
                                         : 1;
    Constant(to, one);
    f_.Op(W::k_v128_and);
    return;
  }
  const auto simple = [&](W op) {
    push(0);
    f_.Op(op);
  };
  if (from == L::kI32 && to == L::kF32) return simple(W::k_f32x4_convert_i32x4);
  if (from == L::kF32 && to == L::kI32) return simple(W::k_i32x4_trunc_sat_f32x4);
  if (from == L::kI32 && to == L::kI64) return simple(W::k_i64x2_extend_low_s);
  if (from == L::kI32 && to == L::kF64) return simple(W::k_f64x2_convert_low);
  if (from == L::kF32 && to == L::kF64) return simple(W::k_f64x2_promote_low);
  if (from == L::kF64 && to == L::kF32) return simple(W::k_f32x4_demote_zero);
  if (from == L::kF64 && to == L::kI32) return simple(W::k_i32x4_trunc_sat_f64x2);
  if (from == L::kI64 && to == L::kI32) {
    push(0);
    return NarrowMask();
  }
  if (from == L::kI64 && to == L::kF32)
    return ScalarLanes(WasmType::kI64, WasmType::kF32, W::k_f32_convert_i64_s, push);
  if (from == L::kI64 && to == L::kF64)
    return ScalarLanes(WasmType::kI64, WasmType::kF64, W::k_f64_convert_i64_s, push);
  if (from == L::kF32 && to == L::kI64)
    return ScalarLanes(WasmType::kF32, WasmType::kI64, W::k_i64_trunc_sat_f32_s, push);
  if (from == L::kF64 && to == L::kI64)
    return ScalarLanes(WasmType::kF64, WasmType::kI64, W::k_i64_trunc_sat_f64_s, push);
  TB_CHECK(false);
}

// Both operands on the stack -> bool.
void LaneEmitter::Compare(Prim prim, LaneType operands) {
  if (operands == LaneType::kBool) {
    f_.Op(W::k_v128_xor);
    if (prim == Prim::k_eq) f_.Op(W::k_v128_not);
    return;
  }
  f_.Op(Instruction(prim, operands));
  if (lanes_ == 2 && !IsWide(operands)) f_.Op(W::k_i64x2_extend_low_s);
}

void LaneEmitter::Call(const Instr& instr, const std::function<void(int)>& push) {
  const HostFunction& host = GetHostFunction(static_cast<int>(instr.imm));
  const bool patch = instr.prim == Prim::k_patch1 || instr.prim == Prim::k_patch2;
  const int first = patch ? 2 : 0;
  const WasmType type = ScalarType(instr.type);
  // In a wasm module the address of a C function is its index in the table.
  intptr_t address;
  if (instr.type == LaneType::kF32) {
    address =
        host.arity == 1 ? reinterpret_cast<intptr_t>(host.f32_1) : reinterpret_cast<intptr_t>(host.f32_2);
  } else {
    address =
        host.arity == 1 ? reinterpret_cast<intptr_t>(host.f64_1) : reinterpret_cast<intptr_t>(host.f64_2);
  }
  const int32_t index = sizeof(void*) == 4
                            ? static_cast<int32_t>(address)
                            : static_cast<int32_t>(instr.imm * 2 + (instr.type == LaneType::kF64));
  const uint32_t out = f_.NewLocal(WasmType::kV128), x = f_.NewLocal(WasmType::kV128);
  const uint32_t y = host.arity == 2 ? f_.NewLocal(WasmType::kV128) : x;
  const uint32_t mask = patch ? f_.NewLocal(WasmType::kV128) : 0;
  if (patch) {
    push(1);
    f_.Local(W::k_local_set, out);
    push(0);
    f_.Local(W::k_local_tee, mask);
    f_.Op(W::k_v128_any_true);
    f_.Block(W::k_if_);
  }
  push(first);
  f_.Local(W::k_local_set, x);
  if (host.arity == 2) {
    push(first + 1);
    f_.Local(W::k_local_set, y);
  }
  const uint32_t result = patch ? f_.NewLocal(WasmType::kV128) : out;
  f_.V128(0, 0, "");
  for (int lane = 0; lane < lanes_; ++lane) {
    f_.Local(W::k_local_get, x);
    f_.Lane(ExtractOp(type), lane);
    if (host.arity == 2) {
      f_.Local(W::k_local_get, y);
      f_.Lane(ExtractOp(type), lane);
    }
    f_.I32(index);
    f_.CallIndirect(std::vector<WasmType>(static_cast<size_t>(host.arity), type), type, host.name);
    f_.Lane(ReplaceOp(type), lane);
  }
  f_.Local(W::k_local_set, result);
  if (patch) {
    f_.Local(W::k_local_get, result);
    f_.Local(W::k_local_get, out);
    f_.Local(W::k_local_get, mask);
    if (lanes_ == 2 && !IsWide(instr.type)) NarrowMask();
    f_.Op(W::k_v128_bitselect);
    f_.Local(W::k_local_set, out);
    f_.End();
  }
  f_.Local(W::k_local_get, out);
}

void LaneEmitter::Compute(const Instr& instr, const LaneType* types, const std::function<void(int)>& push) {
  switch (instr.prim) {
    case Prim::k_constant: return Constant(instr.type, instr.imm);
    case Prim::k_cast: return Cast(types[0], instr.type, push);
    case Prim::k_bits: return push(0);
    case Prim::k_madd:
    case Prim::k_nmadd:
    case Prim::k_msub: {
      const bool f64 = instr.type == LaneType::kF64;
      if (relaxed_) {
        push(0), push(1), push(2);
        if (instr.prim == Prim::k_msub) f_.Op(f64 ? W::k_f64x2_neg : W::k_f32x4_neg);
        if (instr.prim == Prim::k_nmadd)
          f_.Op(f64 ? W::k_f64x2_relaxed_nmadd : W::k_f32x4_relaxed_nmadd);
        else
          f_.Op(f64 ? W::k_f64x2_relaxed_madd : W::k_f32x4_relaxed_madd);
        return;
      }
      if (instr.prim == Prim::k_nmadd) push(2);
      push(0), push(1);
      f_.Op(Instruction(Prim::k_mul, instr.type));
      if (instr.prim == Prim::k_nmadd) return f_.Op(Instruction(Prim::k_sub, instr.type));
      push(2);
      return f_.Op(Instruction(instr.prim == Prim::k_madd ? Prim::k_add : Prim::k_sub, instr.type));
    }
    case Prim::k_select: {
      push(1), push(2), push(0);
      const bool narrow = lanes_ == 2 && !Wide(instr.type);
      if (narrow) NarrowMask();
      if (!relaxed_) return f_.Op(W::k_v128_bitselect);
      return f_.Op(lanes_ == 2 && !narrow ? W::k_i64x2_relaxed_select : W::k_i32x4_relaxed_select);
    }
    case Prim::k_eq:
    case Prim::k_ne:
    case Prim::k_lt:
    case Prim::k_le:
    case Prim::k_gt:
    case Prim::k_ge: push(0), push(1); return Compare(instr.prim, types[0]);
    case Prim::k_shl:
    case Prim::k_shr:
      push(0);
      f_.I32(static_cast<int32_t>(instr.imm));
      return f_.Op(Instruction(instr.prim, instr.type));
    case Prim::k_call1:
    case Prim::k_call2:
    case Prim::k_patch1:
    case Prim::k_patch2: return Call(instr, push);
    case Prim::k_min:
    case Prim::k_max:
    case Prim::k_pmin:
    case Prim::k_pmax:
      if (instr.type == LaneType::kI64) {
        const bool max = instr.prim == Prim::k_max || instr.prim == Prim::k_pmax;
        push(0), push(1), push(0), push(1);
        f_.Op(max ? W::k_i64x2_gt_s : W::k_i64x2_lt_s);
        return f_.Op(W::k_v128_bitselect);
      }
      break;
    default: break;
  }
  for (int k = 0; k < PrimArity(instr.prim); ++k) push(k);
  const W op = Instruction(instr.prim, instr.type);
  TB_CHECK(op != kNone);
  f_.Op(op);
}

void LaneEmitter::Identity(FoldKind kind, LaneType type) {
  const bool max = kind == FoldKind::kMax || kind == FoldKind::kMaxNumber;
  switch (kind) {
    case FoldKind::kSum:
    case FoldKind::kAny: return Constant(type, 0);
    case FoldKind::kAll: return Constant(type, 1);
    case FoldKind::kProd:
      return Constant(type, type == LaneType::kF32   ? std::bit_cast<uint32_t>(1.0f)
                            : type == LaneType::kF64 ? std::bit_cast<uint64_t>(1.0)
                                                     : 1);
    default: break;
  }
  const double inf = std::numeric_limits<double>::infinity();
  switch (type) {
    case LaneType::kF32: return Constant(type, std::bit_cast<uint32_t>(static_cast<float>(max ? -inf : inf)));
    case LaneType::kF64: return Constant(type, std::bit_cast<uint64_t>(max ? -inf : inf));
    case LaneType::kI64:
      return Constant(type, static_cast<uint64_t>(max ? std::numeric_limits<int64_t>::min()
                                                      : std::numeric_limits<int64_t>::max()));
    case LaneType::kI32:
      return Constant(type, static_cast<uint32_t>(max ? std::numeric_limits<int32_t>::min()
                                                      : std::numeric_limits<int32_t>::max()));
    case LaneType::kBool: return Constant(type, max ? 0 : 1);
  }
}

void LaneEmitter::Accumulate(FoldKind kind, LaneType type) {
  switch (kind) {
    case FoldKind::kSum: return f_.Op(Instruction(Prim::k_add, type));
    case FoldKind::kProd: return f_.Op(Instruction(Prim::k_mul, type));
    case FoldKind::kAny: return f_.Op(W::k_v128_or);
    case FoldKind::kAll: return f_.Op(W::k_v128_and);
    default: break;
  }
  // Floating: the caller watches for NaN, so the one-instruction forms do.
  const bool max = kind == FoldKind::kMax || kind == FoldKind::kMaxNumber;
  if (type == LaneType::kBool) return f_.Op(max ? W::k_v128_or : W::k_v128_and);
  if (type == LaneType::kI64) {
    const uint32_t a = f_.NewLocal(WasmType::kV128), b = f_.NewLocal(WasmType::kV128);
    f_.Local(W::k_local_set, b);
    f_.Local(W::k_local_tee, a);
    f_.Local(W::k_local_get, b), f_.Local(W::k_local_get, a), f_.Local(W::k_local_get, b);
    f_.Op(max ? W::k_i64x2_gt_s : W::k_i64x2_lt_s);
    return f_.Op(W::k_v128_bitselect);
  }
  f_.Op(Instruction(max ? Prim::k_pmax : Prim::k_pmin, type));
}

void LaneEmitter::UnpackLanes(DType dtype) {
  if (dtype != DType::kBool && dtype != DType::kUInt8) return;
  f_.Op(W::k_i16x8_extend_low_u);
  f_.Op(W::k_i32x4_extend_low_u);
  if (dtype == DType::kBool) {
    Constant(LaneType::kI32, 0);
    Compare(Prim::k_ne, LaneType::kI32);
  }
}

void LaneEmitter::LoadUnit(DType dtype, uint32_t offset, bool splat) {
  const int size = ItemSize(dtype);
  if (size == 8) return f_.Memory(splat ? W::k_v128_load64_splat : W::k_v128_load, 8, offset);
  if (size == 4) {
    if (splat) return f_.Memory(W::k_v128_load32_splat, 4, offset);
    return lanes_ == 4 ? f_.Memory(W::k_v128_load, 4, offset) : f_.Memory(W::k_v128_load64_zero, 4, offset);
  }
  if (splat) {
    f_.Memory(W::k_i32_load8_u, 1, offset);
    f_.Op(W::k_i32x4_splat);
    if (dtype == DType::kBool) {
      Constant(LaneType::kI32, 0);
      Compare(Prim::k_ne, LaneType::kI32);
    }
    return;
  }
  if (lanes_ == 4) {
    f_.Memory(W::k_v128_load32_zero, 1, offset);
  } else {
    f_.Memory(W::k_i32_load16_u, 1, offset);
    f_.Op(W::k_i32x4_splat);
  }
  UnpackLanes(dtype);
}

void LaneEmitter::LoadLane(DType dtype, uint32_t vector_local, uint32_t address_local, int lane) {
  f_.Local(W::k_local_get, address_local);
  f_.Local(W::k_local_get, vector_local);
  const int size = ItemSize(dtype);
  f_.MemoryLane(size == 8   ? W::k_v128_load64_lane
                : size == 4 ? W::k_v128_load32_lane
                            : W::k_v128_load8_lane,
                size, 0, lane);
  f_.Local(W::k_local_set, vector_local);
}

void LaneEmitter::LoadScalar(DType dtype, LaneType type) {
  const LaneType from = LaneTypeOf(dtype);
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8: f_.Memory(W::k_i32_load8_u, 1, 0); break;
    case DType::kInt32: f_.Memory(W::k_i32_load, 4, 0); break;
    case DType::kInt64: f_.Memory(W::k_i64_load, 8, 0); break;
    case DType::kFloat32: f_.Memory(W::k_f32_load, 4, 0); break;
    case DType::kFloat64: f_.Memory(W::k_f64_load, 8, 0); break;
  }
  using L = LaneType;
  if (type == L::kBool) {  // 0 or -1
    switch (from) {
      case L::kI64: f_.I64(0), f_.Op(W::k_i64_ne); break;
      case L::kF32: f_.F32(0), f_.Op(W::k_f32_ne); break;
      case L::kF64: f_.F64(0), f_.Op(W::k_f64_ne); break;
      default: f_.I32(0), f_.Op(W::k_i32_ne);
    }
    const uint32_t t = f_.NewLocal(WasmType::kI32);
    f_.Local(W::k_local_set, t);
    f_.I32(0), f_.Local(W::k_local_get, t), f_.Op(W::k_i32_sub);
    return f_.Op(W::k_i64_extend_i32_s), f_.Op(W::k_i64x2_splat);
  }
  const bool word = from == L::kI32 || from == L::kBool;
  if (dtype == DType::kBool) f_.I32(0), f_.Op(W::k_i32_ne);
  if (word && type == L::kI64) f_.Op(W::k_i64_extend_i32_s);
  if (word && type == L::kF32) f_.Op(W::k_f32_convert_i32_s);
  if (word && type == L::kF64) f_.Op(W::k_f64_convert_i32_s);
  if (from == L::kI64 && type == L::kI32) f_.Op(W::k_i32_wrap_i64);
  if (from == L::kI64 && type == L::kF32) f_.Op(W::k_f32_convert_i64_s);
  if (from == L::kI64 && type == L::kF64) f_.Op(W::k_f64_convert_i64_s);
  if (from == L::kF32 && type == L::kI32) f_.Op(W::k_i32_trunc_sat_f32_s);
  if (from == L::kF32 && type == L::kI64) f_.Op(W::k_i64_trunc_sat_f32_s);
  if (from == L::kF32 && type == L::kF64) f_.Op(W::k_f64_promote_f32);
  if (from == L::kF64 && type == L::kI32) f_.Op(W::k_i32_trunc_sat_f64_s);
  if (from == L::kF64 && type == L::kI64) f_.Op(W::k_i64_trunc_sat_f64_s);
  if (from == L::kF64 && type == L::kF32) f_.Op(W::k_f32_demote_f64);
  f_.Op(SplatOp(type));
}

void LaneEmitter::Pack(DType dtype) {
  if (dtype != DType::kBool && dtype != DType::kUInt8) return;
  if (dtype == DType::kBool) {
    if (lanes_ == 2) NarrowMask();
    Constant(LaneType::kI32, 1);
    f_.Op(W::k_v128_and);
  }
  const uint32_t t = f_.NewLocal(WasmType::kV128);
  f_.Local(W::k_local_tee, t), f_.Local(W::k_local_get, t);
  f_.Op(W::k_i16x8_narrow_u);
  f_.Local(W::k_local_tee, t), f_.Local(W::k_local_get, t);
  f_.Op(W::k_i8x16_narrow_u);
}

// The value in `vector_local` has been packed.
void LaneEmitter::StoreLane(DType dtype, uint32_t address_local, uint32_t vector_local, int lane) {
  f_.Local(W::k_local_get, address_local);
  f_.Local(W::k_local_get, vector_local);
  const int size = ItemSize(dtype);
  f_.MemoryLane(size == 8   ? W::k_v128_store64_lane
                : size == 4 ? W::k_v128_store32_lane
                            : W::k_v128_store8_lane,
                size, 0, lane);
}

void LaneEmitter::StoreUnit(DType dtype, uint32_t address_local, uint32_t offset, uint32_t vector_local,
                            int count) {
  f_.Local(W::k_local_get, address_local);
  f_.Local(W::k_local_get, vector_local);
  const int size = ItemSize(dtype), bytes = size * count;
  if (bytes == 16) return f_.Memory(W::k_v128_store, size, offset);
  f_.MemoryLane(bytes == 8   ? W::k_v128_store64_lane
                : bytes == 4 ? W::k_v128_store32_lane
                : bytes == 2 ? W::k_v128_store16_lane
                             : W::k_v128_store8_lane,
                size, offset, 0);
}

void LaneEmitter::Rotate(LaneType type, uint32_t local, int by) {
  const int width = lanes_ == 4 ? 4 : Wide(type) ? 8 : 4;
  uint8_t lanes[16];
  for (int i = 0; i < 16; ++i) lanes[i] = static_cast<uint8_t>((i + by * width) % (width * lanes_) % 16);
  f_.Local(W::k_local_get, local);
  f_.Local(W::k_local_get, local);
  f_.Shuffle(lanes);
}

void LaneEmitter::SplatFirst(LaneType type, uint32_t local) {
  const int width = lanes_ == 4 ? 4 : Wide(type) ? 8 : 4;
  uint8_t lanes[16];
  for (int i = 0; i < 16; ++i) lanes[i] = static_cast<uint8_t>(i % width);
  f_.Local(W::k_local_get, local);
  f_.Local(W::k_local_get, local);
  f_.Shuffle(lanes);
}

}  // namespace thirdbook
