// From units to a plan: slots, steps, arena.
#include <algorithm>
#include <map>

#include "graph/attrs.h"
#include "graph/shape.h"
#include "kernel/arena.h"
#include "kernel/plan.h"
#include "kernel/planned_units.h"

namespace thirdbook {
namespace {

class Planner {
 public:
  Planner(const Graph& graph, ValueMetas metas, const PlanOptions& options)
      : g_(graph), m_(std::move(metas)), options_(options), units_(g_, m_, options_), plan_(new Plan) {}

  Result<std::unique_ptr<Plan>> Run() {
    for (int u = 0; u < static_cast<int>(units_.size()); ++u) {
      if (!units_.unit(u).members.empty()) TB_RETURN_IF_ERROR(AddUnit(u));
    }
    AddOutputs();
    if (options_.device)
      NoteLifetimes();
    else
      LayOutArena();
    TB_RETURN_IF_ERROR(CheckReach());
    return std::move(plan_);
  }

 private:
  const TensorMeta& Meta(ValueRef v) const { return units_.Meta(v); }
  ValueRef Base(ValueRef v) const { return units_.Base(v); }
  static int64_t Bytes(const TensorMeta& meta) { return meta.numel() * ItemSize(meta.dtype); }

  // ---- Slots

  int SlotOf(ValueRef base) {
    const auto key = std::make_pair(base.node.value, base.output);
    const auto it = slots_.find(key);
    if (it != slots_.end()) return it->second;
    const Node& node = g_.node(base.node);
    Slot slot;
    slot.meta = Meta(base);
    if (node.op == Op::k_input) {
      slot.kind = Slot::Kind::kInput;
      for (size_t i = 0; i < g_.inputs().size(); ++i) {
        if (g_.inputs()[i] == base.node) slot.index = static_cast<int>(i);
      }
    } else if (node.op == Op::k_constant) {
      slot.kind = Slot::Kind::kConstant;
      slot.constant = node.constant;
    } else if (const int u = units_.UnitOf(base.node); u >= 0 && units_.IsLibrary(u)) {
      slot.kind = Slot::Kind::kGiven;
    } else {
      slot.kind = units_.IsOutput(base.node) ? Slot::Kind::kOutput : Slot::Kind::kArena;
    }
    return slots_[key] = AddSlot(slot);
  }
  int AddSlot(const Slot& slot) {
    plan_->slots.push_back(slot);
    blocks_.push_back({});
    blocks_.back().bytes = slot.kind == Slot::Kind::kArena ? Bytes(slot.meta) : 0;
    blocks_.back().first = blocks_.back().last = -1;
    return static_cast<int>(plan_->slots.size()) - 1;
  }
  Place PlaceOf(ValueRef v) { return {SlotOf(Base(v)), Meta(v)}; }
  int64_t OffsetBytes(ValueRef v) const { return Meta(v).offset * ItemSize(Meta(v).dtype); }
  int Now() const { return static_cast<int>(plan_->steps.size()); }
  void Touch(int slot) {
    ArenaBlock& block = blocks_[static_cast<size_t>(slot)];
    if (block.first < 0) block.first = Now();
    block.last = std::max(block.last, Now());
  }
  // A block that lives during the step that is being made.
  int AddTemporary(int64_t bytes) {
    Slot slot;
    slot.kind = Slot::Kind::kArena;
    const int id = AddSlot(slot);
    blocks_[static_cast<size_t>(id)].bytes = bytes;
    Touch(id);
    return id;
  }

  // ---- Steps

  Status AddUnit(int u) {
    const Unit& unit = units_.unit(u);
    if (units_.product(u)) return AddProduct(u);
    if (unit.fused) {
      const std::vector<ValueRef> outputs = units_.OutputsOf(u, NodeId{});
      if (outputs.empty()) return Status::Ok();
      Result<LoweredUnit> lowered = Lower(g_, m_, unit, outputs);
      if (lowered.ok() && (!options_.emits || options_.emits(lowered->kernel)))
        return AddKernel(unit, *lowered);
      for (const Member& m : unit.members) AddLibrary(m.node);  // too long for one kernel, or in float64
      return Status::Ok();
    }
    const NodeId id = unit.members[0].node;
    if (options_.lower) {
      Result<LoweredUnit> lowered = options_.lower(g_, m_, id, options_.max_buffers);
      if (lowered.ok() && options_.emits(lowered->kernel)) return AddKernel(unit, *lowered);
    }
    AddLibrary(id);
    return Status::Ok();
  }

  void AddLibrary(NodeId id) {
    const Node& node = g_.node(id);
    Step step;
    step.kind = Step::Kind::kLibrary;
    step.node = id;
    step.nodes = {id};
    step.name = std::string(Info(node.op).name);
    for (ValueRef v : node.operands) {
      if (!v.defined()) {
        step.places.push_back({});
        continue;
      }
      step.places.push_back(PlaceOf(v));
      Touch(step.places.back().slot);
    }
    for (size_t i = 0; i < m_[static_cast<size_t>(id.value)].size(); ++i) {
      const int slot = SlotOf({id, static_cast<int32_t>(i)});
      plan_->slots[static_cast<size_t>(slot)].kind = Slot::Kind::kGiven;
      step.results.push_back(slot);
    }
    plan_->steps.push_back(std::move(step));
  }

  // Cells, pointers and scratch of a lowered kernel.
  void Bind(const LoweredUnit& lowered, Step* step) {
    const LoopKernel& k = lowered.kernel;
    step->kernel =
        options_.device ? std::make_shared<const CompiledKernel>(CompiledKernel{k}) : CompileKernel(k);
    step->cells.assign(static_cast<size_t>(CellCount(k)), 0);
    for (size_t d = 0; d < lowered.sizes.size(); ++d)
      step->cells[static_cast<size_t>(SizeCell(k, static_cast<int>(d)))] = lowered.sizes[d];
    for (size_t b = 0; b < lowered.buffers.size(); ++b) {
      const BufferBinding& binding = lowered.buffers[b];
      const int slot = SlotOf(Base(binding.value));
      Touch(slot);
      step->pointers.push_back({static_cast<int>(b), slot, OffsetBytes(binding.value)});
      for (size_t d = 0; d < lowered.sizes.size(); ++d) {
        step->cells[static_cast<size_t>(StrideCell(k, static_cast<int>(b), static_cast<int>(d)))] =
            binding.strides[d];
      }
    }
    for (size_t i = 0; i < lowered.parameters.size(); ++i)
      step->cells[static_cast<size_t>(ParameterCell(k, static_cast<int>(i)))] = lowered.parameters[i];
    for (const IndexBounds& b : lowered.indices) step->indices.push_back({PlaceOf(b.value), b.low, b.high});
    for (LaneType type : options_.device ? std::vector<LaneType>{} : k.scratch) {
      scratch_users_.push_back({Now(), static_cast<int>(step->scratch_offsets.size()),
                                AddTemporary(lowered.RowLength() * (IsWide(type) ? 8 : 4))});
      step->scratch_offsets.push_back(0);
    }
    step->name = k.name;
  }

  Status AddKernel(const Unit& unit, const LoweredUnit& lowered) {
    Step step;
    step.kind = Step::Kind::kKernel;
    Bind(lowered, &step);
    for (const Member& m : unit.members) step.nodes.push_back(m.node);
    ReuseInPlace(lowered, step);
    plan_->steps.push_back(std::move(step));
    return Status::Ok();
  }

  // An output may take the memory of an input that nothing reads later, when every access is to the same
  // element. With one output the stores come last; with one stage each element is read before it is written.
  void ReuseInPlace(const LoweredUnit& lowered, const Step& step) {
    int outputs = 0, stages = 0;
    for (const Buffer& b : lowered.kernel.buffers) outputs += b.output;
    for (const Stage& s : lowered.kernel.stages) stages += s.element;
    if (outputs != 1 && stages != 1) return;
    for (size_t o = 0; o < lowered.buffers.size(); ++o) {
      if (!lowered.kernel.buffers[o].output) continue;
      const int out = step.pointers[o].slot;
      if (plan_->slots[static_cast<size_t>(out)].kind != Slot::Kind::kArena) continue;
      for (size_t i = 0; i < lowered.buffers.size(); ++i) {
        const int in = step.pointers[i].slot;
        if (lowered.kernel.buffers[i].output ||
            plan_->slots[static_cast<size_t>(in)].kind != Slot::Kind::kArena)
          continue;
        bool same = !inherited_.count(in) &&
                    blocks_[static_cast<size_t>(in)].bytes == blocks_[static_cast<size_t>(out)].bytes;
        for (size_t j = 0; j < lowered.buffers.size(); ++j) {
          if (step.pointers[j].slot != in) continue;
          same &= step.pointers[j].offset == 0 && lowered.buffers[j].strides == lowered.buffers[o].strides;
        }
        if (!same) continue;
        candidates_.push_back({in, out, Now()});
        inherited_.insert({in, out});
        break;
      }
    }
  }

  Status AddProduct(int u) {
    const Unit& unit = units_.unit(u);
    const auto& [product, id] = *units_.product(u);
    const TensorMeta& result = m_[static_cast<size_t>(id.value)][0];
    Step step;
    step.kind = Step::Kind::kProduct;
    step.product = product.shape;
    const auto bind = [&](ValueRef v, int* slot, int64_t* offset) {
      *slot = SlotOf(Base(v));
      *offset = OffsetBytes(v);
      Touch(*slot);
    };
    bind(product.a, &step.a, &step.a_offset);
    bind(product.b, &step.b, &step.b_offset);
    if (!options_.device) workspace_users_.push_back({Now(), 0, AddTemporary(WorkspaceBytes(product.shape))});
    for (const Member& m : unit.members) step.nodes.push_back(m.node);
    const bool epilogue = unit.members.size() > 1 || product.bias.defined();
    std::vector<ValueRef> outputs = units_.OutputsOf(u, unit.members.size() > 1 ? id : NodeId{});
    if (outputs.empty()) return Status::Ok();
    if (epilogue) {
      LowerOptions options;
      options.product = {id, 0};
      options.product_bias = product.bias;
      options.product_bias_dims = product.bias_dims;
      if (!options_.device) {
        options.row_dim = product.row_dim;
        for (int d = 0; d < product.row_dim; ++d) options.outside |= 1u << d;
      }
      TB_ASSIGN_OR_RETURN(LoweredUnit lowered, Lower(g_, m_, unit, outputs, options));
      // The product's own values go where the only output goes, when that has its size; else into a block of
      // their own.
      int c = -1;
      const TensorMeta& first = Meta(outputs[0]);
      if (options_.device)
        c = AddTemporary(0);  // the shader has them in registers
      else if (outputs.size() == 1 && first.dtype == result.dtype && first.sizes == result.sizes)
        c = SlotOf(outputs[0]);
      else
        c = AddTemporary(Bytes(result));
      Touch(c);
      if (!(outputs.size() == 1 && outputs[0].node == id)) slots_[{id.value, 0}] = c;
      step.c = c;
      Bind(lowered, &step);
      for (size_t b = 0; b < lowered.buffers.size(); ++b) {
        if (lowered.buffers[b].value == options.product && !lowered.kernel.buffers[b].output)
          step.product_buffer = static_cast<int>(b);
      }
      if (!options_.device) BindBands(product, unit, lowered, &step);
    } else {
      step.c = SlotOf({id, 0});
      Touch(step.c);
      step.name = std::string(Info(g_.node(id).op).name);
    }
    plan_->steps.push_back(std::move(step));
    return Status::Ok();
  }
  // Where each buffer of the epilogue stands for a matrix of the batch, and how far one row is.
  void BindBands(const ProductNode& product, const Unit& unit, const LoweredUnit& lowered, Step* step) const {
    const auto rows = static_cast<size_t>(product.row_dim);
    for (const BufferBinding& binding : lowered.buffers) {
      std::vector<int64_t> offsets;
      for (size_t i = 0; i < product.shape.c_batch.size(); ++i) {
        const auto groups = static_cast<size_t>(product.groups);
        int64_t total = static_cast<int64_t>(i % groups) * product.shape.m * binding.domain_strides[rows];
        auto rest = static_cast<int64_t>(i / groups);
        for (size_t d = rows; d-- > 0;) {
          total += rest % unit.domain[d] * binding.domain_strides[d];
          rest /= unit.domain[d];
        }
        offsets.push_back(total);
      }
      step->batch_offsets.push_back(std::move(offsets));
      step->row_strides.push_back(binding.domain_strides[rows]);
    }
    if (lowered.row_loop >= 0) step->rows_cell = SizeCell(lowered.kernel, lowered.row_loop);
  }

  void AddOutputs() {
    std::vector<int> taken;
    for (ValueRef v : g_.outputs()) {
      Place place = PlaceOf(v);
      const Slot::Kind kind = plan_->slots[static_cast<size_t>(place.slot)].kind;
      const bool shared = kind == Slot::Kind::kInput || kind == Slot::Kind::kConstant ||
                          std::find(taken.begin(), taken.end(), place.slot) != taken.end();
      if (shared) {
        Step step;
        step.kind = Step::Kind::kCopy;
        step.name = "copy";
        step.places = {place};
        Touch(place.slot);
        Slot slot;
        slot.kind = Slot::Kind::kGiven;
        slot.meta.dtype = place.meta.dtype;
        step.results = {AddSlot(slot)};
        place.slot = step.results[0];
        place.meta.offset = -1;  // as the copy has it
        plan_->steps.push_back(std::move(step));
      }
      taken.push_back(place.slot);
      place.meta.weak = false;
      plan_->outputs.push_back(std::move(place));
    }
  }

  // as_strided is the one view that may leave the tensor it is of. What a plan's own memory or a constant
  // holds is known here; how large an input's storage is, at the run.
  Status CheckReach() {
    for (size_t i = 0; i < g_.nodes().size(); ++i) {
      if (g_.nodes()[i].op != Op::k_as_strided) continue;
      const ValueRef view{NodeId{static_cast<int32_t>(i)}, 0};
      const auto slot = slots_.find({Base(view).node.value, Base(view).output});
      if (slot == slots_.end()) continue;
      Slot& base = plan_->slots[static_cast<size_t>(slot->second)];
      int64_t low, high;
      Extent(Meta(view), &low, &high);
      if (base.kind == Slot::Kind::kInput)
        base.reach = std::max(base.reach, high);
      else if (low < high && high > base.meta.numel())
        return BeyondStorage();
    }
    return Status::Ok();
  }

  void NoteLifetimes() {
    for (size_t s = 0; s < plan_->slots.size(); ++s)
      plan_->slots[s].first = blocks_[s].first, plan_->slots[s].last = blocks_[s].last;
  }

  void LayOutArena() {
    std::vector<ArenaBlock> arena;
    std::vector<int> number(plan_->slots.size(), -1);
    for (size_t s = 0; s < plan_->slots.size(); ++s) {
      if (plan_->slots[s].kind != Slot::Kind::kArena || blocks_[s].first < 0) continue;
      number[s] = static_cast<int>(arena.size());
      arena.push_back(blocks_[s]);
    }
    for (const Heir& heir : candidates_) {
      // Only now is it known whether something later still reads the input.
      if (blocks_[static_cast<size_t>(heir.in)].last != heir.step ||
          blocks_[static_cast<size_t>(heir.out)].first != heir.step)
        continue;
      arena[static_cast<size_t>(number[static_cast<size_t>(heir.out)])].in_place_of =
          number[static_cast<size_t>(heir.in)];
    }
    const ArenaLayout layout = LayOut(arena);
    plan_->arena_bytes =
        arena.empty() ? 0
                      : std::max<int64_t>(layout.bytes, 64);  // values without elements need an address too
    for (size_t s = 0; s < plan_->slots.size(); ++s) {
      if (number[s] >= 0) plan_->slots[s].offset = layout.offsets[static_cast<size_t>(number[s])];
    }
    for (const User& user : scratch_users_) {
      plan_->steps[static_cast<size_t>(user.step)].scratch_offsets[static_cast<size_t>(user.index)] =
          plan_->slots[static_cast<size_t>(user.slot)].offset;
    }
    for (const User& user : workspace_users_) {
      if (user.step < static_cast<int>(plan_->steps.size())) {
        plan_->steps[static_cast<size_t>(user.step)].workspace_offset =
            plan_->slots[static_cast<size_t>(user.slot)].offset;
      }
    }
  }

  struct Heir {
    int in, out, step;
  };
  struct User {
    int step, index, slot;
  };

  const Graph& g_;
  ValueMetas m_;
  const PlanOptions& options_;
  const PlannedUnits units_;
  std::unique_ptr<Plan> plan_;
  std::map<std::pair<int32_t, int32_t>, int> slots_;
  std::vector<ArenaBlock> blocks_;  // by slot
  std::vector<Heir> candidates_;
  std::map<int, int> inherited_;
  std::vector<User> scratch_users_, workspace_users_;
};

}  // namespace

Status BeyondStorage() { return RuntimeError("a view reaches beyond the tensor it is of"); }

Result<ValueMetas> InferMetas(const Graph& graph, const std::vector<const TensorMeta*>& inputs) {
  ValueMetas metas(graph.nodes().size());
  size_t next = 0;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.op == Op::k_input) {
      TensorMeta meta = *inputs[next++];
      meta.weak = node.metas[0].weak;
      metas[i] = {std::move(meta)};
    } else if (node.op == Op::k_constant) {
      metas[i] = node.metas;
    } else {
      std::vector<const TensorMeta*> operands;
      for (ValueRef v : node.operands) {
        operands.push_back(
            v.defined() ? &metas[static_cast<size_t>(v.node.value)][static_cast<size_t>(v.output)] : nullptr);
      }
      TB_ASSIGN_OR_RETURN(metas[i], Infer(node.op, operands, node.attrs));
    }
  }
  return metas;
}

Result<std::unique_ptr<Plan>> MakePlan(const Graph& graph, const std::vector<const TensorMeta*>& inputs,
                                       const PlanOptions& options) {
  if (inputs.size() != graph.inputs().size()) {
    return TypeError(Format("the graph takes %zu inputs, got %zu", graph.inputs().size(), inputs.size()));
  }
  TB_ASSIGN_OR_RETURN(ValueMetas metas, InferMetas(graph, inputs));
  TB_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan, Planner(graph, std::move(metas), options).Run());
  for (const TensorMeta* meta : inputs) plan->inputs.push_back(*meta);
  return plan;
}

}  // namespace thirdbook
