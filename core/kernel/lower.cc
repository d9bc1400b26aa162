#include "kernel/lower.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "graph/attrs.h"
#include "kernel/expr.h"
#include "kernel/lower_ops.h"
#include "tensor/convert.h"

namespace thirdbook {
namespace {

// A value as seen from the domain: what becomes a buffer.
struct Access {
  ValueRef value;
  DType dtype = DType::kFloat32;
  Sizes strides;  // bytes, by domain dimension
  bool output = false;
};

class Lowering {
 public:
  Lowering(const Graph& graph, const ValueMetas& metas, const Unit& unit, const LowerOptions& options)
      : g_(graph), m_(metas), u_(unit), options_(options) {}

  Result<LoweredUnit> Run(const std::vector<ValueRef>& outputs) {
    ChooseInnerDims();
    for (const Member& member : u_.members) LowerMember(member);
    for (ValueRef v : outputs) {
      const Member* member = nullptr;
      for (const Member& m : u_.members) {
        if (m.node == v.node) member = &m;
      }
      TB_CHECK(member != nullptr);
      Access access{v, Meta(v).dtype, StridesOf(ContiguousMeta(Meta(v).dtype, Meta(v).sizes), member->dims),
                    true};
      outputs_.push_back({AddAccess(access), values_.at(v.node.value).id});
    }
    if (pool_.size() > 600) return NotImplementedError("too long for one kernel");
    ArrangeDims();
    BuildStages();
    kernel_.name = UnitName(g_, u_);
    LoweredUnit out;
    for (const Access& access : accesses_) {
      Sizes strides;
      for (const std::vector<int>& joined : loops_)
        strides.push_back(access.strides[static_cast<size_t>(joined.back())]);
      Sizes domain_strides(access.strides.begin(), access.strides.end() - 1);
      out.buffers.push_back({access.value, std::move(strides), std::move(domain_strides)});
    }
    for (size_t l = 0; l < loops_.size(); ++l) {
      if (options_.row_dim >= 0 && loops_[l].front() == options_.row_dim) out.row_loop = static_cast<int>(l);
    }
    for (const std::vector<int>& joined : loops_) {
      int64_t size = 1;
      for (int d : joined) size *= DomainSize(d);
      out.sizes.push_back(size);
    }
    const std::string problem = VerifyLoops(kernel_);
    if (!problem.empty()) std::fprintf(stderr, "thirdbook: %s\n%s", problem.c_str(), Print(kernel_).c_str());
    TB_CHECK(problem.empty());
    out.kernel = std::move(kernel_);
    return out;
  }

 private:
  const TensorMeta& Meta(ValueRef v) const {
    return m_[static_cast<size_t>(v.node.value)][static_cast<size_t>(v.output)];
  }
  // Domain dimension `domain.size()` is a dimension of size 1, for kernels without any.
  int64_t DomainSize(int d) const {
    return d < static_cast<int>(u_.domain.size()) && !(options_.outside >> d & 1)
               ? u_.domain[static_cast<size_t>(d)]
               : 1;
  }

  // ---- Values

  Sizes StridesOf(const TensorMeta& meta, const DimMap& dims) const {
    Sizes strides(u_.domain.size() + 1, 0);
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] >= 0 && meta.sizes[i] != 1)
        strides[static_cast<size_t>(dims[i])] += meta.strides[i] * ItemSize(meta.dtype);
    }
    return strides;
  }
  int AddAccess(const Access& access) {
    for (size_t i = 0; i < accesses_.size(); ++i) {
      const Access& a = accesses_[i];
      if (!a.output && !access.output && a.value == access.value && a.strides == access.strides)
        return static_cast<int>(i);
    }
    accesses_.push_back(access);
    return static_cast<int>(accesses_.size()) - 1;
  }

  // A number of the program, or a creation op that repeats one.
  bool AsConstant(ValueRef v, TypedExpr* out) {
    const Node& node = g_.node(v.node);
    const DType dtype = Meta(v).dtype;
    if (node.op == Op::k_constant && node.constant.meta().numel() == 1 && node.constant.defined()) {
      uint64_t bits = 0;
      std::memcpy(&bits, node.constant.data(), static_cast<size_t>(ItemSize(dtype)));
      *out = {pool_.ConstantBits(LaneTypeOf(dtype), bits), dtype};
      return true;
    }
    double number;
    switch (node.op) {
      case Op::k_zeros: number = 0; break;
      case Op::k_ones: number = 1; break;
      case Op::k_full: number = NumberOf(node.attrs[1]); break;
      default: return false;
    }
    if (dtype == DType::kInt64 && node.op == Op::k_full) return false;
    *out = {pool_.Constant(LaneTypeOf(dtype), number), dtype};
    return dtype != DType::kUInt8 || (number >= 0 && number <= 255);
  }

  TypedExpr External(ValueRef v, const DimMap& dims, DType wanted) {
    TypedExpr constant;
    if (AsConstant(v, &constant)) return constant;
    const TensorMeta& meta = Meta(v);
    Access access{v, meta.dtype, StridesOf(meta, dims), false};
    bool element = false, varies = false;
    for (size_t d = 0; d < access.strides.size(); ++d) {
      const bool moves = access.strides[d] != 0;
      varies |= moves;
      element |= moves && (inner_ >> d & 1);
    }
    const int index = AddAccess(access);
    // A scalar is converted while it is loaded, so that a Python float does not make the kernel a float64
    // one.
    DType dtype = varies ? meta.dtype : wanted;
    if (!varies && wanted == DType::kUInt8)
      dtype = meta.dtype == DType::kBool || meta.dtype == DType::kUInt8 ? meta.dtype : DType::kInt32;
    return {pool_.Load(index, LaneTypeOf(dtype), element), dtype};
  }

  void LowerMember(const Member& member) {
    const Node& node = g_.node(member.node);
    const TensorMeta& out = m_[static_cast<size_t>(member.node.value)][0];
    if (options_.product.defined() && member.node == options_.product.node) {
      TypedExpr product = External(options_.product, member.dims, out.dtype);
      if (options_.product_bias.defined()) {
        const TypedExpr b = External(options_.product_bias, options_.product_bias_dims, out.dtype);
        product.id = pool_.Op(Prim::k_add, LaneTypeOf(out.dtype), product.id, b.id);
      }
      values_[member.node.value] = product;
      return;
    }
    std::vector<const TensorMeta*> metas;
    std::vector<TypedExpr> operands;
    const OpClass op_class = Info(node.op).op_class;
    const bool folding = op_class == OpClass::kReduction || op_class == OpClass::kAlong;
    for (const ValueRef v : node.operands) metas.push_back(v.defined() ? &Meta(v) : nullptr);
    const DType compute = folding                           ? out.dtype
                          : op_class == OpClass::kPointwise ? ComputeDType(node.op, metas, node.attrs)
                                                            : out.dtype;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const ValueRef v = node.operands[i];
      if (!v.defined() || (i == 0 && (node.op == Op::k_copy || node.op == Op::k_fill))) {
        operands.push_back({});
        continue;
      }
      const Member* source;
      DimMap dims;
      if (FollowViews(g_, m_, u_, v, &source, &dims)) {
        operands.push_back(values_.at(source->node.value));
        continue;
      }
      const bool mask = (node.op == Op::k_where && i == 0) || (node.op == Op::k_masked_fill && i == 1);
      operands.push_back(External(v, OperandDims(node, member, i, folding), mask ? DType::kBool : compute));
    }
    values_[member.node.value] = LowerOp(pool_, node, metas, operands, out);
  }

  // Domain dimensions of an operand from outside.
  DimMap OperandDims(const Node& node, const Member& member, size_t i, bool folding) const {
    const TensorMeta& meta = Meta(node.operands[i]);
    if (folding && i == 0 &&
        Info(node.op).op_class ==
            OpClass::kReduction) {  // a unit that starts with it: the operand is the domain
      DimMap dims;
      for (size_t d = 0; d < meta.sizes.size(); ++d) dims.push_back(static_cast<int>(d));
      return dims;
    }
    // Aligned to the right with the output.
    DimMap dims(meta.sizes.size(), -1);
    for (size_t k = 0; k < dims.size(); ++k) {
      const size_t from_right = dims.size() - 1 - k;
      if (from_right < member.dims.size() && meta.sizes[k] != 1)
        dims[k] = member.dims[member.dims.size() - 1 - from_right];
    }
    return dims;
  }

  // ---- Dimensions

  void ChooseInnerDims() {
    if (u_.folded) {
      inner_ = u_.folded;
      return;
    }
    int last = static_cast<int>(u_.domain.size());  // the dimension of size 1
    for (int d = 0; d < static_cast<int>(u_.domain.size()); ++d) {
      if (DomainSize(d) != 1 && d != options_.row_dim) last = d;
    }
    inner_ = 1u << last;
  }

  bool Joinable(int a, int b) const {
    for (const Access& access : accesses_) {
      if (access.strides[static_cast<size_t>(a)] != access.strides[static_cast<size_t>(b)] * DomainSize(b))
        return false;
    }
    return true;
  }

  // Sets loops_ (outer ones first), and the kernel's outer, inner, lane_outer.
  void ArrangeDims() {
    std::vector<int> outer, inner;
    for (int d = 0; d <= static_cast<int>(u_.domain.size()); ++d) {
      const bool folded = u_.folded >> d & 1;
      if (DomainSize(d) == 1) continue;
      const bool column = options_.row_dim >= 0 && d > options_.row_dim;
      (folded || column ? inner : outer).push_back(d);
    }
    if (!u_.folded && options_.row_dim < 0 &&
        !outer.empty()) {  // pointwise: the last dimension is the inner loop
      inner.push_back(outer.back());
      outer.pop_back();
    }
    if (inner.empty()) inner.push_back(static_cast<int>(u_.domain.size()));
    const auto join = [this](const std::vector<int>& dims) {
      std::vector<std::vector<int>> loops;
      for (int d : dims) {
        if (!loops.empty() && Joinable(loops.back().back(), d))
          loops.back().push_back(d);
        else
          loops.push_back({d});
      }
      return loops;
    };
    std::vector<std::vector<int>> outer_loops = join(outer), inner_loops = join(inner);
    if (!u_.folded && options_.row_dim < 0) {  // pointwise: outer dimensions may join the inner one
      while (!outer_loops.empty() && Joinable(outer_loops.back().back(), inner_loops[0].front())) {
        inner_loops[0].insert(inner_loops[0].begin(), outer_loops.back().begin(), outer_loops.back().end());
        outer_loops.pop_back();
      }
    }
    kernel_.outer = static_cast<int>(outer_loops.size());
    kernel_.inner = static_cast<int>(inner_loops.size());
    if (u_.folded && options_.row_dim < 0 && !outer_loops.empty()) {
      int along_inner = 0, along_outer = 0;
      for (const Access& a : accesses_) {
        along_inner += a.strides[static_cast<size_t>(inner_loops.back().back())] == ItemSize(a.dtype);
        along_outer +=
            a.strides[static_cast<size_t>(outer_loops.back().back())] == ItemSize(a.dtype) && VariesInside(a);
      }
      int64_t lanes = 1;
      for (int d : outer_loops.back()) lanes *= DomainSize(d);
      kernel_.lane_outer = along_outer > along_inner && lanes >= 4;
    }
    loops_ = std::move(outer_loops);
    loops_.insert(loops_.end(), inner_loops.begin(), inner_loops.end());
    for (const Access& a : accesses_) {
      Buffer buffer;
      buffer.dtype = a.dtype;
      buffer.output = a.output;
      for (size_t l = 0; l < loops_.size(); ++l) {
        if (a.strides[static_cast<size_t>(loops_[l].back())] != 0) buffer.varies |= 1u << l;
      }
      const int64_t step =
          a.strides[static_cast<size_t>(loops_[static_cast<size_t>(kernel_.lane_dim())].back())];
      buffer.walk = step == 0 ? Walk::kZero : step == ItemSize(a.dtype) ? Walk::kUnit : Walk::kStrided;
      kernel_.buffers.push_back(buffer);
    }
  }
  bool VariesInside(const Access& a) const {
    for (size_t d = 0; d < a.strides.size(); ++d) {
      if ((inner_ >> d & 1) && a.strides[d] != 0) return true;
    }
    return false;
  }

  // ---- Stages

  struct Output {
    int access, expr;
  };

  // Whether an expression changes inside the row, now that loops are known (a joined loop may make a row
  // value an element value).
  void FindElements() {
    element_.assign(pool_.size(), false);
    for (size_t i = 0; i < pool_.size(); ++i) {
      const Expr& e = pool_.at(static_cast<int>(i));
      if (e.prim == Prim::k_load) {
        element_[i] = kernel_.buffers[e.imm].varies >> kernel_.outer;
      } else if (e.prim != Prim::k_fold) {
        for (int k = 0; k < PrimArity(e.prim); ++k)
          element_[i] = element_[i] || element_[static_cast<size_t>(e.args[k])];
      }
    }
  }

  void BuildStages() {
    FindElements();
    int epochs = 0;
    for (const Output& o : outputs_) epochs = std::max(epochs, pool_.at(o.expr).epoch);
    row_.assign(pool_.size(), -1);
    by_epoch_.assign(static_cast<size_t>(epochs) + 1, std::vector<int>(pool_.size(), -1));
    element_stage_.assign(static_cast<size_t>(epochs) + 1, -1);
    // Folds that are needed, by the epoch in which they accumulate.
    std::vector<std::vector<int>> folds(static_cast<size_t>(epochs) + 1);
    std::vector<char> needed(pool_.size(), 0);
    for (const Output& o : outputs_) needed[static_cast<size_t>(o.expr)] = 1;
    for (size_t i = pool_.size(); i-- > 0;) {
      if (!needed[i]) continue;
      const Expr& e = pool_.at(static_cast<int>(i));
      const int arity = e.prim == Prim::k_fold ? 1 : PrimArity(e.prim);
      for (int k = 0; k < arity; ++k) needed[static_cast<size_t>(e.args[k])] = 1;
      if (e.prim == Prim::k_fold) folds[static_cast<size_t>(e.epoch) - 1].push_back(static_cast<int>(i));
    }
    for (int epoch = 0; epoch <= epochs; ++epoch) {
      BuildRowStage(epoch);
      BuildElementStage(epoch, folds[static_cast<size_t>(epoch)]);
    }
  }

  // An output whose address does not change inside the row is stored once a row.
  bool StoredPerRow(const Output& o) const {
    return !(kernel_.buffers[static_cast<size_t>(o.access)].varies >> kernel_.outer);
  }

  void BuildRowStage(int epoch) {
    Stage stage;
    current_ = &stage;
    epoch_ = epoch;
    for (const Output& o : outputs_) {
      if (pool_.at(o.expr).epoch != epoch || !StoredPerRow(o) || element_[static_cast<size_t>(o.expr)])
        continue;
      stage.stores.push_back({Emit(o.expr), o.access});
    }
    if (!stage.stores.empty()) kernel_.stages.push_back(std::move(stage));
  }

  void BuildElementStage(int epoch, const std::vector<int>& folds) {
    Stage stage;
    stage.element = true;
    current_ = &stage;
    epoch_ = epoch;
    element_stage_[static_cast<size_t>(epoch)] = static_cast<int>(kernel_.stages.size());
    for (auto f = folds.rbegin(); f != folds.rend(); ++f) {
      const Expr& e = pool_.at(*f);
      Fold fold{static_cast<FoldKind>(e.imm), e.type, Emit(e.args[0])};
      fold_index_[*f] = static_cast<int>(kernel_.folds.size());
      stage.folds.push_back(static_cast<int>(kernel_.folds.size()));
      kernel_.folds.push_back(fold);
    }
    for (const Output& o : outputs_) {
      if (pool_.at(o.expr).epoch != epoch || (StoredPerRow(o) && !element_[static_cast<size_t>(o.expr)]))
        continue;
      stage.stores.push_back({Emit(o.expr), o.access});
    }
    if (stage.folds.empty() && stage.stores.empty()) return;
    kernel_.stages.push_back(std::move(stage));
  }

  int Append(const Expr& e, const int* args, uint64_t imm) {
    Instr instr{e.prim, e.type, {-1, -1, -1, -1}, imm};
    if (e.prim != Prim::k_fold) {
      for (int k = 0; k < PrimArity(e.prim); ++k) instr.args[k] = args[k];
    }
    const int id = kernel_.Append(instr);
    current_->body.push_back(id);
    return id;
  }

  // The instruction that holds expression `id` in the current stage.
  int Emit(int id) {
    const Expr& e = pool_.at(id);
    const auto i = static_cast<size_t>(id);
    int& known = element_[i] ? by_epoch_[static_cast<size_t>(epoch_)][i] : row_[i];
    if (known >= 0) return known;
    if (element_[i] && !kernel_.lane_outer && e.cost >= 12) {
      // Costly, and computed in an earlier stage: kept in a scratch row.
      for (int epoch = 0; epoch < epoch_; ++epoch) {
        const int earlier = by_epoch_[static_cast<size_t>(epoch)][i];
        if (earlier < 0) continue;
        const Expr load{Prim::k_scratch, e.type};
        return known = Append(load, nullptr, static_cast<uint64_t>(ScratchFor(id, earlier, epoch)));
      }
    }
    int args[4] = {-1, -1, -1, -1};
    if (e.prim != Prim::k_fold) {
      for (int k = 0; k < PrimArity(e.prim); ++k) args[k] = Emit(e.args[k]);
    }
    const uint64_t imm = e.prim == Prim::k_fold ? static_cast<uint64_t>(fold_index_.at(id)) : e.imm;
    const int out = Append(e, args, imm);
    (element_[i] ? by_epoch_[static_cast<size_t>(epoch_)][i] : row_[i]) = out;
    return out;
  }
  int ScratchFor(int id, int instr, int epoch) {
    const auto it = scratch_.find(id);
    if (it != scratch_.end()) return it->second;
    const int row = static_cast<int>(kernel_.scratch.size());
    kernel_.scratch.push_back(pool_.at(id).type);
    kernel_.stages[static_cast<size_t>(element_stage_[static_cast<size_t>(epoch)])].scratch_stores.push_back(
        {instr, row});
    return scratch_[id] = row;
  }

  const Graph& g_;
  const ValueMetas& m_;
  const Unit& u_;
  const LowerOptions& options_;
  ExprPool pool_;
  uint32_t inner_ = 0;
  std::vector<Access> accesses_;
  std::map<int32_t, TypedExpr> values_;
  std::vector<Output> outputs_;
  std::vector<std::vector<int>> loops_;  // domain dimensions that each loop joins
  LoopKernel kernel_;
  std::vector<char> element_;
  std::vector<int> row_;
  std::vector<std::vector<int>> by_epoch_;
  std::vector<int> element_stage_;
  std::map<int, int> fold_index_, scratch_;
  Stage* current_ = nullptr;
  int epoch_ = 0;
};

}  // namespace

int64_t LoweredUnit::RowLength() const {
  int64_t n = 1;
  for (int d = kernel.outer; d < kernel.dims(); ++d) n *= sizes[static_cast<size_t>(d)];
  return n;
}

bool CanLower(const Graph& graph, const ValueMetas& metas, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<const TensorMeta*> operands;
  for (ValueRef v : node.operands) {
    operands.push_back(v.defined() ? &metas[static_cast<size_t>(v.node.value)][static_cast<size_t>(v.output)]
                                   : nullptr);
  }
  const TensorMeta& out = metas[static_cast<size_t>(id.value)][0];
  for (const TensorMeta* m : operands) {
    if (m && m->rank() > 12) return false;
  }
  return out.rank() <= 12 && LowersOp(node, operands, out);
}

Result<LoweredUnit> Lower(const Graph& graph, const ValueMetas& metas, const Unit& unit,
                          const std::vector<ValueRef>& outputs, const LowerOptions& options) {
  return Lowering(graph, metas, unit, options).Run(outputs);
}

std::string UnitName(const Graph& graph, const Unit& unit) {
  std::string name;
  size_t shown = 0;
  for (const Member& m : unit.members) {
    if (shown++ == 4) {
      name += "_and_" + std::to_string(unit.members.size() - 4);
      break;
    }
    name += (name.empty() ? "" : "_") + std::string(Info(graph.node(m.node).op).name);
  }
  return name;
}

}  // namespace thirdbook
