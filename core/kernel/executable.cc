// Runs plans: one per set of input metadata, the last one tried first.
#include "kernel/executable.h"

#include <unordered_map>

#include "graph/passes.h"
#include "kernel/engine.h"
#include "kernel/plan.h"
#include "kernel/wasm_emit.h"
#include "tensor/convert.h"
#include "tensor/kernels.h"

namespace thirdbook {
namespace {

constexpr size_t kMaxPlans = 64;
constexpr int64_t kKeptArena = 64 << 20;  // a larger one is given back after each run

// Plans do not depend on where in its storage an input starts, but for as_strided, which counts from the
// storage's start.
bool DependsOnOffsets(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::k_as_strided) return true;
  }
  return false;
}
bool SameLayout(const TensorMeta& a, const TensorMeta& b, bool offsets) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides &&
         (!offsets || a.offset == b.offset);
}
std::string LayoutKey(const Tensor* const* inputs, size_t count, bool offsets) {
  std::string key;
  const auto put = [&key](int64_t v) { key.append(reinterpret_cast<const char*>(&v), sizeof v); };
  for (size_t i = 0; i < count; ++i) {
    const TensorMeta& m = inputs[i]->meta();
    put(static_cast<int64_t>(m.dtype) | m.rank() << 8);
    for (int64_t s : m.sizes) put(s);
    for (int64_t s : m.strides) put(s);
    if (offsets) put(m.offset);
  }
  return key;
}

uintptr_t Address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

class PlanExecutable final : public Executable {
 public:
  PlanExecutable(Graph graph, PlanOptions options)
      : graph_(std::move(graph)), options_(options), offsets_(DependsOnOffsets(graph_)) {}

  // The plan for the sizes of the trace, so that kernels are made now.
  Status Prepare() {
    std::vector<const TensorMeta*> metas;
    for (NodeId id : graph_.inputs()) metas.push_back(&graph_.node(id).metas[0]);
    TB_ASSIGN_OR_RETURN(first_, MakePlan(graph_, metas, options_));
    last_ = first_.get();
    return Status::Ok();
  }

  Result<std::vector<Tensor>> Run(const std::vector<Tensor>& inputs) override {
    std::vector<const Tensor*> pointers;
    for (const Tensor& t : inputs) pointers.push_back(&t);
    std::vector<Tensor> outputs;
    TB_RETURN_IF_ERROR(RunInto(pointers.data(), pointers.size(), &outputs));
    return outputs;
  }

  Status RunInto(const Tensor* const* inputs, size_t count, std::vector<Tensor>* outputs) override {
    if (count != graph_.inputs().size()) return TypeError("wrong number of graph inputs");
    for (size_t i = 0; i < count; ++i) {
      if (!inputs[i]->defined()) return TypeError("an input of the graph is missing");
      TB_RETURN_IF_ERROR(inputs[i]->ToHost());
    }
    if (!Fits(*last_, inputs)) {
      TB_ASSIGN_OR_RETURN(last_, FindPlan(inputs, count));
    }
    const Status status = RunPlan(*last_, inputs, outputs);
    given_.clear();
    if (arena_ && static_cast<int64_t>(arena_->bytes()) > kKeptArena) arena_.reset();
    return status;
  }

  std::vector<KernelReport> Kernels() const override {
    std::vector<KernelReport> reports;
    for (const Step& step : last_->steps) {
      if (!step.kernel) continue;
      KernelReport report;
      report.name = "k" + std::to_string(reports.size()) + "_" + step.name;
      report.loops = Print(step.kernel->loops);
      report.text =
          EmitWasm(step.kernel->expanded, {.relaxed = CurrentEngine().relaxed, .annotate = true}).text;
      report.nodes = step.nodes;
      reports.push_back(std::move(report));
    }
    return reports;
  }
  int64_t PeakBytes() const override { return last_->arena_bytes; }
  std::string PlanText() const override { return Print(graph_, *last_); }

 private:
  bool Fits(const Plan& plan, const Tensor* const* inputs) const {
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      if (!SameLayout(plan.inputs[i], inputs[i]->meta(), offsets_)) return false;
    }
    return true;
  }
  Result<Plan*> FindPlan(const Tensor* const* inputs, size_t count) {
    if (Fits(*first_, inputs)) return first_.get();
    std::string key = LayoutKey(inputs, count, offsets_);
    const auto it = plans_.find(key);
    if (it != plans_.end()) return it->second.get();
    std::vector<const TensorMeta*> metas;
    for (size_t i = 0; i < count; ++i) metas.push_back(&inputs[i]->meta());
    TB_ASSIGN_OR_RETURN(std::unique_ptr<Plan> plan, MakePlan(graph_, metas, options_));
    if (plans_.size() >= kMaxPlans) {
      last_ = first_.get();
      plans_.clear();
    }
    return (plans_[std::move(key)] = std::move(plan)).get();
  }

  Status RunPlan(Plan& plan, const Tensor* const* inputs, std::vector<Tensor>* outputs) {
    if (plan.arena_bytes > 0 && (!arena_ || static_cast<int64_t>(arena_->bytes()) < plan.arena_bytes)) {
      arena_.reset();
      arena_ = Storage::Allocate(static_cast<size_t>(plan.arena_bytes));
      if (!arena_) return MemoryError("out of memory for intermediates");
    }
    // Addresses of slots; storages of those that library steps read or that go out.
    addresses_.assign(plan.slots.size(), 0);
    given_.assign(plan.slots.size(), {});
    inputs_ = inputs;
    for (size_t s = 0; s < plan.slots.size(); ++s) {
      const Slot& slot = plan.slots[s];
      switch (slot.kind) {
        case Slot::Kind::kInput: {
          const Tensor& t = *inputs[slot.index];
          const int64_t moved = t.meta().offset - slot.meta.offset, item = ItemSize(slot.meta.dtype);
          if (slot.reach > 0 && (moved + slot.reach) * item > static_cast<int64_t>(t.storage()->bytes()))
            return BeyondStorage();
          addresses_[s] = Address(t.storage()->data()) + static_cast<uintptr_t>(moved * item);
          break;
        }
        case Slot::Kind::kConstant: addresses_[s] = Address(slot.constant.storage()->data()); break;
        case Slot::Kind::kArena:
          if (arena_) addresses_[s] = Address(arena_->data()) + static_cast<uintptr_t>(slot.offset);
          break;
        case Slot::Kind::kOutput: {
          given_[s] = Storage::Allocate(static_cast<size_t>(slot.meta.numel() * ItemSize(slot.meta.dtype)));
          if (!given_[s]) return MemoryError("out of memory for a result");
          addresses_[s] = Address(given_[s]->data());
          break;
        }
        case Slot::Kind::kGiven: break;
      }
    }
    copies_.clear();
    for (Step& step : plan.steps) {
      if (DispatchFault()) return RuntimeError("a step of the graph failed (injected)");
      switch (step.kind) {
        case Step::Kind::kKernel: {
          Patch(step);
          RunKernel(*step.kernel, step.cells.data());
          break;
        }
        case Step::Kind::kProduct: RunProduct(step); break;
        case Step::Kind::kLibrary: TB_RETURN_IF_ERROR(RunLibrary(plan, step)); break;
        case Step::Kind::kCopy: {
          TB_ASSIGN_OR_RETURN(Tensor copy, CopyLayout(TensorAt(plan, step.places[0])));
          given_[static_cast<size_t>(step.results[0])] = copy.storage();
          copies_.push_back({step.results[0], std::move(copy)});
          break;
        }
      }
    }
    outputs->clear();
    outputs->reserve(plan.outputs.size());
    for (const Place& place : plan.outputs) {
      TensorMeta meta = place.meta;
      if (meta.offset < 0) {
        for (const auto& [slot, copy] : copies_) {
          if (slot == place.slot) meta.offset = copy.meta().offset, meta.strides = copy.meta().strides;
        }
      }
      outputs->emplace_back(std::move(given_[static_cast<size_t>(place.slot)]), std::move(meta));
    }
    return Status::Ok();
  }

  void Patch(Step& step) const {
    for (const Pointer& p : step.pointers) {
      step.cells[static_cast<size_t>(p.cell)] =
          static_cast<Cell>(addresses_[static_cast<size_t>(p.slot)] + static_cast<uintptr_t>(p.offset));
    }
    const LoopKernel& k = step.kernel->loops;
    for (size_t s = 0; s < step.scratch_offsets.size(); ++s) {
      step.cells[static_cast<size_t>(ScratchCell(k, static_cast<int>(s)))] =
          reinterpret_cast<Cell>(static_cast<char*>(arena_->data()) + step.scratch_offsets[s]);
    }
  }

  struct BandContext {
    const PlanExecutable* self;
    Step* step;
  };
  static void RunEpilogue(void* context, int64_t batch, int64_t first, int64_t count) {
    const auto* c = static_cast<const BandContext*>(context);
    Step& step = *c->step;
    for (size_t i = 0; i < step.pointers.size(); ++i) {
      const Pointer& p = step.pointers[i];
      const int64_t offset =
          p.offset + step.batch_offsets[i][static_cast<size_t>(batch)] + first * step.row_strides[i];
      step.cells[static_cast<size_t>(p.cell)] = static_cast<Cell>(
          c->self->addresses_[static_cast<size_t>(p.slot)] + static_cast<uintptr_t>(offset));
    }
    if (step.rows_cell >= 0) step.cells[static_cast<size_t>(step.rows_cell)] = count;
    RunKernel(*step.kernel, step.cells.data());
  }
  void RunProduct(Step& step) const {
    const auto at = [&](int slot, int64_t offset) {
      return reinterpret_cast<float*>(addresses_[static_cast<size_t>(slot)] + static_cast<uintptr_t>(offset));
    };
    auto* workspace = reinterpret_cast<float*>(static_cast<char*>(arena_->data()) + step.workspace_offset);
    BandContext context{this, &step};
    if (step.kernel) Patch(step);
    MultiplyPacked(step.product, at(step.a, step.a_offset), at(step.b, step.b_offset),
                   at(step.c, step.c_offset), workspace, step.kernel ? RunEpilogue : nullptr, &context);
  }

  Tensor TensorAt(const Plan& plan, const Place& place) const {
    if (place.slot < 0) return Tensor();
    const Slot& slot = plan.slots[static_cast<size_t>(place.slot)];
    TensorMeta meta = place.meta;
    switch (slot.kind) {
      case Slot::Kind::kInput: {
        const Tensor& t = *inputs_[slot.index];
        meta.offset += t.meta().offset - slot.meta.offset;
        return Tensor(t.storage(), std::move(meta));
      }
      case Slot::Kind::kConstant: return Tensor(slot.constant.storage(), std::move(meta));
      case Slot::Kind::kArena:
        meta.offset += slot.offset / ItemSize(meta.dtype);
        return Tensor(arena_, std::move(meta));
      default: return Tensor(given_[static_cast<size_t>(place.slot)], std::move(meta));
    }
  }
  Status RunLibrary(const Plan& plan, const Step& step) {
    const Node& node = graph_.node(step.node);
    std::vector<Tensor> operands;
    operands.reserve(step.places.size());
    for (const Place& place : step.places) operands.push_back(TensorAt(plan, place));
    Attrs attrs = node.attrs;
    if (node.op == Op::k_as_strided_scatter && std::holds_alternative<int64_t>(attrs[2])) {
      // A position in the storage of the graph's value: here that value lies somewhere in an arena.
      attrs[2] = std::get<int64_t>(attrs[2]) + operands[0].meta().offset - step.places[0].meta.offset;
    }
    TB_ASSIGN_OR_RETURN(std::vector<Tensor> results, Execute(node.op, operands, attrs));
    for (size_t i = 0; i < results.size() && i < step.results.size(); ++i) {
      const auto slot = static_cast<size_t>(step.results[i]);
      addresses_[slot] = Address(results[i].storage()->data());
      given_[slot] = results[i].storage();
    }
    return Status::Ok();
  }

  const Graph graph_;
  const PlanOptions options_;
  const bool offsets_;
  std::unique_ptr<Plan> first_;
  std::unordered_map<std::string, std::unique_ptr<Plan>> plans_;
  Plan* last_ = nullptr;
  // Of the run at hand; kept so that a run allocates little.
  std::shared_ptr<Storage> arena_;
  std::vector<uintptr_t> addresses_;  // numbers: an input's first element may lie before its storage
  std::vector<std::shared_ptr<Storage>> given_;
  std::vector<std::pair<int, Tensor>> copies_;
  const Tensor* const* inputs_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Executable>> CompileGraph(Graph graph, Backend backend) {
  Optimise(&graph);
  PlanOptions options;
  options.generate = backend != Backend::kReference;
  auto executable = std::make_unique<PlanExecutable>(std::move(graph), options);
  TB_RETURN_IF_ERROR(executable->Prepare());
  return std::unique_ptr<Executable>(std::move(executable));
}

}  // namespace thirdbook
