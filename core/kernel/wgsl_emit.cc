#include "kernel/wgsl_emit.h"

#include <limits>
#include <set>

#include "base/status.h"

namespace thirdbook {
namespace {

using Kind = WgslCell::Kind;
constexpr int kBlock = 64;
constexpr size_t kShortBody = 12;  // instructions of a body that is written out kRound times
constexpr int kRound = 8;

class Emitter {
 public:
  Emitter(const LoopKernel& kernel, const std::vector<int>& bindings, WgslForm form, bool subgroups)
      : k_(kernel),
        form_(form),
        subgroups_(subgroups && form == WgslForm::kRowGroups),
        body_(kernel, bindings),
        depths_(Depths(kernel)),
        stored_at_(kernel.scratch.size(), -1) {
    for (const Stage& stage : k_.stages) {
      for (const Store& store : stage.scratch_stores)
        stored_at_[static_cast<size_t>(store.buffer)] = store.value;
    }
  }

  WgslShader Emit() {
    body_.Line("@compute @workgroup_size(" + std::to_string(kWgslGroup) + ")");
    if (subgroups_) body_.Enable("subgroups");
    body_.Open(
        std::string("fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: "
                    "vec3<u32>,\n    @builtin(local_invocation_index) lane: u32") +
        (subgroups_ ? ", @builtin(subgroup_size) width: u32,\n"
                      "    @builtin(subgroup_invocation_id) within: u32) {"
                    : ") {"));
    if (form_ == WgslForm::kElements)
      Elements();
    else
      Rows();
    body_.Close();
    return body_.Finish(head_);
  }

 private:
  const Instr& I(int id) const { return k_.instrs[static_cast<size_t>(id)]; }
  bool IsElement(int id) const { return depths_[static_cast<size_t>(id)] == Depth::kElement; }
  bool Inside(size_t buffer) const { return k_.buffers[buffer].varies >> k_.outer; }
  bool grouped() const { return form_ == WgslForm::kRowGroups; }

  // ---- No folds

  void Elements() {
    const std::string group = std::to_string(kWgslGroup) + "u", total = body_.Cell({Kind::kTotal});
    body_.Line("let each = (" + total + " - 1u) / (groups.x * groups.y * " + group + ") + 1u;");
    body_.Line("let first = (group.y * groups.x + group.x) * each * " + group + " + lane;");
    body_.Line("let end = min(first + each * " + group + ", " + total + ");");
    // What is the same for all elements is loaded once.
    for (const Stage& stage : k_.stages) {
      for (int id : stage.body) {
        if (depths_[static_cast<size_t>(id)] != Depth::kKernel) continue;
        if (I(id).prim == Prim::k_load) {
          const auto buffer = static_cast<int>(I(id).imm);
          body_.SetOffset(buffer, body_.Cell({Kind::kBase, buffer}));
        }
        body_.Define(id);
      }
    }
    body_.Open("for (var e = first; e < end; e += " + group + ") {");
    EmitElement(k_, "e", &body_, Depth::kRow);
    body_.Close();
  }

  // ---- Folds

  void Rows() {
    const std::string rows = body_.Cell({Kind::kRows}), group = std::to_string(kWgslGroup) + "u";
    body_.Open(grouped() ? "for (var row = group.x; row < " + rows + "; row += groups.x) {"
                         : "for (var row = group.x * " + group + " + lane; row < " + rows +
                               "; row += groups.x * " + group + ") {");
    if (k_.outer > 0) body_.Indices(0, k_.outer, "row");
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      const auto buffer = static_cast<int>(b);
      if (!body_.IsBound(buffer)) continue;
      const std::string name = "r" + std::to_string(b);
      body_.Line("let " + name + " = " +
                 body_.Offset(buffer, body_.Cell({Kind::kBase, buffer}), 0, k_.outer) + ";");
      body_.SetOffset(buffer, name);
    }
    for (const Stage& stage : k_.stages) {
      for (int id : stage.body) {
        if (!IsElement(id)) body_.Define(id);
      }
      if (stage.element)
        ElementStage(stage);
      else
        RowStores(stage);
    }
    body_.Close();
  }

  void RowStores(const Stage& stage) {
    if (stage.stores.empty()) return;
    if (grouped()) body_.Open("if (lane == 0u) {");
    for (const Store& store : stage.stores) body_.StoreValue(store);
    if (grouped()) body_.Close();
  }

  // The elements of a row in blocks of kBlock of each invocation: a float sum starts anew with each block, so
  // that its error does not grow with the length. Whole rounds of a short body are written out.
  void ElementStage(const Stage& stage) {
    const std::string count = body_.Cell({Kind::kCount});
    const int step = grouped() ? kWgslGroup : 1;
    const auto in_elements = [&](int n) { return std::to_string(n * step) + "u"; };
    for (int f : stage.folds) {
      body_.Line("var a" + std::to_string(f) + " = " + Start(FoldAt(f)) + ";");
      if (InBlocks(FoldAt(f))) body_.Line("var t" + std::to_string(f) + " = 0.0f;");
    }
    body_.Open("for (var block = " + std::string(grouped() ? "lane" : "0u") + "; block < " + count +
               "; block += " + in_elements(kBlock) + ") {");
    body_.Line("let end = min(block + " + in_elements(kBlock) + ", " + count + ");");
    body_.Line("var at = block;");
    if (stage.body.size() <= kShortBody) {
      body_.Open("for (; at + " + in_elements(kRound - 1) + " < end; at += " + in_elements(kRound) + ") {");
      for (int i = 0; i < kRound; ++i) OneElement(stage, "at + " + in_elements(i));
      body_.Close();
    }
    body_.Open("for (; at < end; at += " + in_elements(1) + ") {");
    OneElement(stage, "at");
    body_.Close();
    for (int f : stage.folds) {
      if (!InBlocks(FoldAt(f))) continue;
      const std::string n = std::to_string(f);
      body_.Line("t" + n + " += a" + n + ";");
      body_.Line("a" + n + " = 0.0f;");
    }
    body_.Close();
    for (size_t b = 0; b < k_.buffers.size(); ++b)
      body_.SetOffset(static_cast<int>(b), "r" + std::to_string(b));
    for (int f : stage.folds) FinishFold(f);
  }

  void OneElement(const Stage& stage, const std::string& number) {
    body_.Open("{");
    body_.Line("let e = " + number + ";");
    body_.Indices(k_.outer, k_.dims(), "e");
    defined_.clear();
    placed_.clear();
    for (int id : stage.body) {
      if (IsElement(id)) Element(id);
    }
    for (const Store& store : stage.stores) {
      PlaceBuffer(static_cast<size_t>(store.buffer));
      body_.StoreValue(store);
    }
    for (int f : stage.folds) {
      const std::string a = "a" + std::to_string(f);
      body_.Line(a + " = " + Combine(FoldAt(f), a, WgslBody::Name(FoldAt(f).value)) + ";");
    }
    body_.Close();
  }

  // Defines an element value in the loop at hand, with what it is computed from: a value of an earlier stage
  // that was kept in a scratch row is computed again.
  void Element(int id) {
    if (!defined_.insert(id).second) return;
    const Instr& instr = I(id);
    if (instr.prim == Prim::k_scratch) {
      const int value = stored_at_[instr.imm];
      if (IsElement(value)) Element(value);
      body_.Line("let " + WgslBody::Name(id) + " = " + WgslBody::Name(value) + ";");
      return;
    }
    for (int i = 0; i < PrimArity(instr.prim); ++i) {
      if (IsElement(instr.args[i])) Element(instr.args[i]);
    }
    if (instr.prim == Prim::k_load) PlaceBuffer(instr.imm);
    body_.Define(id);
  }
  void PlaceBuffer(size_t b) {
    if (!Inside(b) || !placed_.insert(b).second) return;
    const std::string name = "o" + std::to_string(b);
    body_.Line("let " + name + " = " +
               body_.Offset(static_cast<int>(b), "r" + std::to_string(b), k_.outer, k_.dims()) + ";");
    body_.SetOffset(static_cast<int>(b), name);
  }

  const Fold& FoldAt(int f) const { return k_.folds[static_cast<size_t>(f)]; }
  static bool InBlocks(const Fold& fold) {
    return fold.kind == FoldKind::kSum && fold.type == LaneType::kF32;
  }

  std::string Start(const Fold& fold) const {
    const bool lowest = fold.kind == FoldKind::kMax || fold.kind == FoldKind::kMaxNumber;
    const bool one = fold.kind == FoldKind::kProd || fold.kind == FoldKind::kAll;
    const bool highest = fold.kind == FoldKind::kMin;
    switch (fold.type) {
      case LaneType::kBool: return one || highest ? "true" : "false";
      case LaneType::kF32:
        return lowest ? "tb_float(0xff800000u)" : highest ? "tb_float(0x7f800000u)" : one ? "1.0f" : "0.0f";
      case LaneType::kI32:
        return body_.Constant(fold.type, lowest ? 0x80000000u : highest ? 0x7fffffffu : one ? 1 : 0);
      case LaneType::kI64:
        return body_.Constant(fold.type, lowest    ? uint64_t{1} << 63
                                         : highest ? ~(uint64_t{1} << 63)
                                         : one     ? 1
                                                   : 0);
      case LaneType::kF64: break;
    }
    TB_CHECK(false);
  }

  static std::string Combine(const Fold& fold, const std::string& a, const std::string& b) {
    const bool wide = fold.type == LaneType::kI64, is_bool = fold.type == LaneType::kBool,
               is_float = fold.type == LaneType::kF32;
    const auto call = [&](const char* f) { return std::string(f) + "(" + a + ", " + b + ")"; };
    switch (fold.kind) {
      case FoldKind::kSum: return is_bool ? a + " || " + b : wide ? call("tb_add64") : a + " + " + b;
      case FoldKind::kProd: return is_bool ? a + " && " + b : wide ? call("tb_mul64") : a + " * " + b;
      case FoldKind::kMin:
        return is_bool ? a + " && " + b : call(wide ? "tb_min64" : is_float ? "tb_min" : "min");
      case FoldKind::kMax:
        return is_bool ? a + " || " + b : call(wide ? "tb_max64" : is_float ? "tb_max" : "max");
      case FoldKind::kMaxNumber: return "select(" + a + ", " + b + ", " + a + " < " + b + ")";
      case FoldKind::kAny: return a + " || " + b;
      case FoldKind::kAll: return a + " && " + b;
    }
    TB_CHECK(false);
  }

  // The fold's result, the same in every invocation of the row.
  void FinishFold(int f) {
    const Fold& fold = FoldAt(f);
    const std::string n = std::to_string(f), own = (InBlocks(fold) ? "t" : "a") + n;
    if (!grouped()) {
      body_.Line("let f" + n + " = " + own + ";");
      return;
    }
    const std::string w = Shared(fold.type);
    if (subgroups_) {
      FinishThroughSubgroups(fold, n, own, w);
      return;
    }
    body_.Line(w + "[lane] = " + own + ";");
    body_.Line("workgroupBarrier();");
    body_.Open("for (var s = " + std::to_string(kWgslGroup / 2) + "u; s > 0u; s >>= 1u) {");
    body_.Line("if (lane < s) { " + w + "[lane] = " + Combine(fold, w + "[lane]", w + "[lane + s]") + "; }");
    body_.Line("workgroupBarrier();");
    body_.Close();
    body_.Line("let f" + n + " = " + w + "[0];");
    body_.Line("workgroupBarrier();");
  }
  // Twice the same: first what the invocations of a subgroup have, then, in each subgroup, what the subgroups
  // have. Which invocations make a subgroup is not asked: all but one of each leave a neutral element.
  void FinishThroughSubgroups(const Fold& fold, const std::string& n, const std::string& own,
                              const std::string& w) {
    const std::string q = "q" + n;
    const bool is_bool = fold.type == LaneType::kBool;
    const auto meet = [&] {
      const std::string other =
          is_bool ? "(subgroupShuffleXor(u32(" + q + "), s) != 0u)" : "subgroupShuffleXor(" + q + ", s)";
      body_.Open("for (var s = 1u; s < width; s <<= 1u) {");
      body_.Line("let other = " + other + ";");
      body_.Line(q + " = " + Combine(fold, q, "other") + ";");
      body_.Close();
    };
    body_.Line("var " + q + " = " + own + ";");
    meet();
    body_.Line("if (within != 0u) { " + q + " = " + Start(fold) + "; }");
    body_.Line(w + "[lane] = " + q + ";");
    body_.Line("workgroupBarrier();");
    body_.Line(q + " = " + Start(fold) + ";");
    body_.Line("for (var s = within; s < " + std::to_string(kWgslGroup) + "u; s += width) { " + q + " = " +
               Combine(fold, q, w + "[s]") + "; }");
    meet();
    body_.Line("let f" + n + " = " + q + ";");
    body_.Line("workgroupBarrier();");
  }
  std::string Shared(LaneType type) {
    const std::string name = std::string("w_") + LaneTypeName(type);
    if (shared_.insert(type).second) {
      head_ += "var<workgroup> " + name + ": array<" + WgslBody::TypeName(type) + ", " +
               std::to_string(kWgslGroup) + ">;\n";
    }
    return name;
  }

  const LoopKernel& k_;
  const WgslForm form_;
  const bool subgroups_;
  WgslBody body_;
  const std::vector<Depth> depths_;
  std::vector<int> stored_at_;  // by scratch row: the value that is kept in it
  std::string head_;
  std::set<int> defined_;
  std::set<size_t> placed_;
  std::set<LaneType> shared_;
};

}  // namespace

void EmitElement(const LoopKernel& kernel, const std::string& number, WgslBody* body, Depth from) {
  const std::vector<Depth> depths = Depths(kernel);
  body->Indices(0, kernel.dims(), number);
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const auto buffer = static_cast<int>(b);
    if (!body->IsBound(buffer) ||
        (from > Depth::kKernel && kernel.buffers[b].varies == 0 && !kernel.buffers[b].output))
      continue;
    const std::string name = "o" + std::to_string(b);
    body->Line("let " + name + " = " +
               body->Offset(buffer, body->Cell({Kind::kBase, buffer}), 0, kernel.dims()) + ";");
    body->SetOffset(buffer, name);
  }
  for (const Stage& stage : kernel.stages) {
    for (int id : stage.body) {
      if (depths[static_cast<size_t>(id)] >= from) body->Define(id);
    }
    if (stage.stores.empty()) continue;
    if (!stage.element) {
      std::string inside;
      for (int d = kernel.outer; d < kernel.dims(); ++d)
        inside += (inside.empty() ? "i" : " + i") + std::to_string(d);
      body->Open("if (" + (inside.empty() ? "true" : inside + " == 0u") + ") {");
    }
    for (const Store& store : stage.stores) body->StoreValue(store);
    if (!stage.element) body->Close();
  }
}

WgslShader EmitWgsl(const LoopKernel& kernel, const std::vector<int>& bindings, WgslForm form,
                    bool subgroups) {
  TB_CHECK((form == WgslForm::kElements) == kernel.folds.empty());
  return Emitter(kernel, bindings, form, subgroups).Emit();
}

}  // namespace thirdbook
