#include "kernel/loops.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/status.h"
#include "kernel/host_functions.h"

namespace thirdbook {
namespace {

struct PrimRow {
  const char* name;
  int arity;
  PrimClass prim_class;
};
constexpr PrimRow kPrims[] = {
#define TB_PRIM(name, arity, prim_class) {#name, arity, PrimClass::prim_class},
#include "kernel/prims.def"
#undef TB_PRIM
};

std::string ConstantText(const Instr& instr) {
  char text[40];
  switch (instr.type) {
    case LaneType::kF32: {
      float value;
      const auto low = static_cast<uint32_t>(instr.imm);
      std::memcpy(&value, &low, 4);
      std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
      break;
    }
    case LaneType::kF64: {
      double value;
      std::memcpy(&value, &instr.imm, 8);
      std::snprintf(text, sizeof text, "%.17g", value);
      break;
    }
    case LaneType::kBool: return instr.imm ? "true" : "false";
    default: std::snprintf(text, sizeof text, "%" PRId64, static_cast<int64_t>(instr.imm));
  }
  return text;
}

std::string InstrText(const LoopKernel& kernel, int id) {
  const Instr& instr = kernel.instrs[static_cast<size_t>(id)];
  const PrimRow& row = kPrims[static_cast<int>(instr.prim)];
  std::string text = "v" + std::to_string(id) + " = ";
  text += row.name[std::strlen(row.name) - 1] == '_' ? std::string(row.name, std::strlen(row.name) - 1)
                                                     : row.name;
  switch (instr.prim) {
    case Prim::k_constant: text += " " + ConstantText(instr); break;
    case Prim::k_load:
    case Prim::k_load_at: text += " b" + std::to_string(instr.imm); break;
    case Prim::k_index: text += " i" + std::to_string(instr.imm); break;
    case Prim::k_parameter: text += " p" + std::to_string(instr.imm); break;
    case Prim::k_fold: text += " f" + std::to_string(instr.imm); break;
    case Prim::k_scratch: text += " s" + std::to_string(instr.imm); break;
    case Prim::k_call1:
    case Prim::k_call2:
    case Prim::k_patch1:
    case Prim::k_patch2: text += std::string(" ") + HostFunctionName(static_cast<int>(instr.imm)); break;
    default: break;
  }
  for (int i = 0; i < row.arity; ++i) text += (i ? ", v" : " v") + std::to_string(instr.args[i]);
  if (instr.prim == Prim::k_shl || instr.prim == Prim::k_shr) text += ", " + std::to_string(instr.imm);
  return text + " " + LaneTypeName(instr.type);
}

}  // namespace

const char* PrimName(Prim prim) { return kPrims[static_cast<int>(prim)].name; }
int PrimArity(Prim prim) { return kPrims[static_cast<int>(prim)].arity; }
PrimClass ClassOf(Prim prim) { return kPrims[static_cast<int>(prim)].prim_class; }

LaneType LaneTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kBool: return LaneType::kBool;
    case DType::kUInt8:
    case DType::kInt32: return LaneType::kI32;
    case DType::kInt64: return LaneType::kI64;
    case DType::kFloat32: return LaneType::kF32;
    case DType::kFloat64: return LaneType::kF64;
  }
  TB_CHECK(false);
}

const char* LaneTypeName(LaneType type) {
  constexpr const char* kNames[] = {"bool", "i32", "i64", "f32", "f64"};
  return kNames[static_cast<int>(type)];
}

const char* FoldName(FoldKind kind) {
  constexpr const char* kNames[] = {"sum", "prod", "min", "max", "any", "all", "max_number"};
  return kNames[static_cast<int>(kind)];
}

Depth DepthOf(const LoopKernel& kernel, const Instr& instr, const std::vector<Depth>& earlier) {
  switch (instr.prim) {
    case Prim::k_constant:
    case Prim::k_parameter:
    case Prim::k_count: return Depth::kKernel;
    case Prim::k_index: return static_cast<int>(instr.imm) >= kernel.outer ? Depth::kElement : Depth::kRow;
    case Prim::k_fold: return Depth::kRow;
    case Prim::k_scratch: return Depth::kElement;
    case Prim::k_load: {
      const uint32_t varies = kernel.buffers[static_cast<size_t>(instr.imm)].varies;
      if (varies == 0) return Depth::kKernel;
      return varies >> kernel.outer ? Depth::kElement : Depth::kRow;
    }
    default: break;
  }
  Depth depth = Depth::kKernel;
  for (int i = 0; i < PrimArity(instr.prim); ++i) {
    const Depth d = earlier[static_cast<size_t>(instr.args[i])];
    if (d > depth) depth = d;
  }
  return depth;
}

std::vector<Depth> Depths(const LoopKernel& kernel) {
  std::vector<Depth> depths;
  depths.reserve(kernel.instrs.size());
  for (const Instr& instr : kernel.instrs) depths.push_back(DepthOf(kernel, instr, depths));
  return depths;
}

int LaneCount(const LoopKernel& kernel) {
  for (const Stage& stage : kernel.stages) {
    for (int id : stage.body) {
      if (IsWide(kernel.instrs[static_cast<size_t>(id)].type)) return 2;
    }
  }
  for (const Fold& fold : kernel.folds) {
    if (IsWide(fold.type)) return 2;
  }
  return 4;
}

std::string Print(const LoopKernel& kernel) {
  std::string text = "kernel " + kernel.name + ": " + std::to_string(kernel.outer) + " outer, " +
                     std::to_string(kernel.inner) + " inner, lanes along " +
                     (kernel.lane_outer ? "outer" : "inner") + "\n";
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const Buffer& buffer = kernel.buffers[b];
    text += "  b" + std::to_string(b) + (buffer.output ? " out " : " in ") +
            std::string(DTypeName(buffer.dtype)) + " [";
    for (int d = 0; d < kernel.dims(); ++d) {
      if (d == kernel.outer && d > 0) text += " |";
      const bool varies = buffer.varies >> d & 1;
      const char* mark = !varies                      ? "."
                         : d != kernel.lane_dim()     ? "s"
                         : buffer.walk == Walk::kUnit ? "1"
                                                      : "s";
      text += std::string(d ? " " : "") + mark;
    }
    text += "]\n";
  }
  for (const Stage& stage : kernel.stages) {
    text += stage.element ? "  each element:\n" : "  each row:\n";
    for (int id : stage.body) text += "    " + InstrText(kernel, id) + "\n";
    for (const Store& store : stage.scratch_stores) {
      text += "    s" + std::to_string(store.buffer) + " <- v" + std::to_string(store.value) + "\n";
    }
    for (const Store& store : stage.stores) {
      text += "    b" + std::to_string(store.buffer) + " <- v" + std::to_string(store.value) + "\n";
    }
    for (int f : stage.folds) {
      const Fold& fold = kernel.folds[static_cast<size_t>(f)];
      text += "    f" + std::to_string(f) + " = " + FoldName(fold.kind) + " v" + std::to_string(fold.value) +
              " " + LaneTypeName(fold.type) + "\n";
    }
  }
  return text;
}

std::string Key(const LoopKernel& kernel) {
  std::string key;
  const auto put = [&key](int64_t v) { key.append(reinterpret_cast<const char*>(&v), sizeof v); };
  put(kernel.outer), put(kernel.inner), put(kernel.lane_outer),
      put(static_cast<int64_t>(kernel.buffers.size()));
  for (const Buffer& b : kernel.buffers) {
    put(static_cast<int64_t>(b.dtype) | int64_t{b.output} << 8 | static_cast<int64_t>(b.walk) << 16 |
        int64_t{b.varies} << 32);
  }
  for (const Instr& i : kernel.instrs) {
    put(static_cast<int64_t>(i.prim) | static_cast<int64_t>(i.type) << 8), put(static_cast<int64_t>(i.imm));
    for (int k = 0; k < PrimArity(i.prim); ++k) put(i.args[k]);
  }
  for (const Fold& f : kernel.folds)
    put(static_cast<int64_t>(f.kind) | static_cast<int64_t>(f.type) << 8 | int64_t{f.value} << 16);
  for (const Stage& s : kernel.stages) {
    put(s.element), put(static_cast<int64_t>(s.body.size()));
    for (int id : s.body) put(id);
    for (const Store& store : s.stores) put(store.value), put(store.buffer);
    put(-1);
    for (const Store& store : s.scratch_stores) put(store.value), put(store.buffer);
    put(-2);
    for (int f : s.folds) put(f);
  }
  for (LaneType t : kernel.scratch) put(static_cast<int64_t>(t));
  return key;
}

std::string VerifyLoops(const LoopKernel& kernel) {
  const auto fail = [&kernel](const char* what, int id) {
    return kernel.name + ": " + what + " at v" + std::to_string(id);
  };
  const std::vector<Depth> depths = Depths(kernel);
  std::vector<char> defined(kernel.instrs.size(), 0), folded(kernel.folds.size(), 0),
      rows(kernel.scratch.size(), 0);
  std::vector<int> element_stage(kernel.instrs.size(), -1);  // element values live within one stage
  if (kernel.lane_outer && (!kernel.scratch.empty() || kernel.outer == 0))
    return kernel.name + ": scratch or no lanes";
  for (size_t s = 0; s < kernel.stages.size(); ++s) {
    const Stage& stage = kernel.stages[s];
    for (int id : stage.body) {
      const Instr& instr = kernel.instrs[static_cast<size_t>(id)];
      for (int k = 0; k < PrimArity(instr.prim); ++k) {
        const int a = instr.args[k];
        if (a < 0 || a >= id || !defined[static_cast<size_t>(a)])
          return fail("operand used before its definition", id);
        if (element_stage[static_cast<size_t>(a)] >= 0 &&
            element_stage[static_cast<size_t>(a)] != static_cast<int>(s)) {
          return fail("element value of another stage", id);
        }
      }
      if (instr.prim == Prim::k_fold && !folded[instr.imm]) return fail("fold read before its stage", id);
      if (instr.prim == Prim::k_scratch && !rows[instr.imm])
        return fail("scratch read before it is written", id);
      if ((instr.prim == Prim::k_load || instr.prim == Prim::k_load_at) && kernel.buffers[instr.imm].output)
        return fail("load of an output", id);
      if (!stage.element && depths[static_cast<size_t>(id)] == Depth::kElement)
        return fail("element value in a row stage", id);
      defined[static_cast<size_t>(id)] = 1;
      if (depths[static_cast<size_t>(id)] == Depth::kElement)
        element_stage[static_cast<size_t>(id)] = static_cast<int>(s);
    }
    for (const Store& store : stage.stores) {
      if (!defined[static_cast<size_t>(store.value)]) return fail("store of an undefined value", store.value);
      const Buffer& buffer = kernel.buffers[static_cast<size_t>(store.buffer)];
      if (!buffer.output) return fail("store into an input", store.value);
      if (!stage.element && buffer.varies >> kernel.outer)
        return fail("row stage stores elements", store.value);
    }
    for (const Store& store : stage.scratch_stores) {
      if (!stage.element) return fail("scratch store outside an element stage", store.value);
      rows[static_cast<size_t>(store.buffer)] = 1;
    }
    for (int f : stage.folds) {
      if (!stage.element) return fail("fold outside an element stage", f);
      folded[static_cast<size_t>(f)] = 1;
    }
  }
  return {};
}

}  // namespace thirdbook
