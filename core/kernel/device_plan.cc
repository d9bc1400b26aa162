#include "kernel/device_plan.h"

#include <algorithm>

#include "kernel/lower_indexed.h"
#include "kernel/wgsl_emit.h"
#include "kernel/wgsl_product.h"
#include "tensor/convert.h"
#include "tensor/kernels.h"

namespace thirdbook {
namespace {

constexpr int64_t kFewElements = 64;       // folds up to here are not worth a workgroup a row
constexpr int64_t kManyRows = 4096;        // enough for an invocation a row
constexpr int64_t kSoftwareElements = 16;  // of an invocation: an adapter in software starts one dearly

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out + "\"";
}
template <typename List>
std::string Numbers(const List& list) {
  std::string out = "[";
  for (const auto& x : list) out += (out.size() > 1 ? "," : "") + std::to_string(x);
  return out + "]";
}

std::string Nodes(const Step& step) {
  std::vector<int> ids;
  for (NodeId id : step.nodes) ids.push_back(id.value);
  return Numbers(ids);
}

std::string PlaceText(int slot, const TensorMeta& meta) {
  return "\"slot\":" + std::to_string(slot) + ",\"dtype\":" + Quoted(std::string(DTypeName(meta.dtype))) +
         ",\"shape\":" + Numbers(meta.sizes) + ",\"strides\":" + Numbers(meta.strides) +
         ",\"offset\":" + std::to_string(meta.offset) + "}";
}

std::string Indices(const Step& step) {
  std::string rows;
  for (const IndexPlace& index : step.indices) {
    rows += (rows.empty() ? "" : ",") + std::string("{\"low\":") + std::to_string(index.low) +
            ",\"high\":" + std::to_string(index.high) + "," + PlaceText(index.place.slot, index.place.meta);
  }
  return rows.empty() ? "" : ",\"indices\":[" + rows + "]";
}

int64_t Count(int64_t n, int64_t by, int64_t most) { return std::clamp<int64_t>((n + by - 1) / by, 1, most); }

// Slots that a step reads on the host, each once.
std::vector<int> Reads(const Step& step) {
  std::vector<int> slots;
  for (const Place& place : step.places) {
    if (place.slot >= 0 && std::find(slots.begin(), slots.end(), place.slot) == slots.end())
      slots.push_back(place.slot);
  }
  return slots;
}

class Writer {
 public:
  Writer(const Plan& plan, const std::vector<int64_t>& storage_elements, const DeviceLimits& limits)
      : plan_(plan), storage_elements_(storage_elements), limits_(limits) {}

  // The JSON; too_many_buffers: a kernel binds more than the adapter takes.
  Result<std::string> Run(bool* too_many_buffers) {
    *too_many_buffers = false;
    FindNumbers();
    if (limits_.halves) FindHalves();
    elements_.reserve(plan_.slots.size());
    for (const Slot& slot : plan_.slots) elements_.push_back(Elements(slot));
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      if (i > 0) steps_ += ",\n";
      switch (step.kind) {
        case Step::Kind::kKernel: AddKernel(step); break;
        case Step::Kind::kProduct: TB_RETURN_IF_ERROR(AddProduct(step)); break;
        case Step::Kind::kLibrary:
          steps_ += "{\"kind\":\"host\",\"name\":" + Quoted(step.name) +
                    ",\"reads\":" + Numbers(Reads(step)) + ",\"writes\":" + Numbers(step.results) + "}";
          break;
        case Step::Kind::kCopy:
          elements_[static_cast<size_t>(step.results[0])] =
              elements_[static_cast<size_t>(step.places[0].slot)];
          steps_ += "{\"kind\":\"copy\",\"from\":" + std::to_string(step.places[0].slot) +
                    ",\"to\":" + std::to_string(step.results[0]) + "}";
          break;
      }
    }
    *too_many_buffers = too_many_;
    std::string slots;
    for (size_t s = 0; s < plan_.slots.size(); ++s) {
      if (BytesOf(static_cast<int>(s)) > limits_.buffer_bytes)
        return MemoryError("a tensor of the graph is larger than the adapter's largest buffer");
      slots += (s > 0 ? ",\n" : "") + SlotText(static_cast<int>(s), elements_[s]);
    }
    std::string shaders;
    for (const std::string& code : shaders_)
      shaders += (shaders.empty() ? "" : ",\n") + std::string("{\"code\":") + Quoted(code) + "}";
    return "{\"slots\":[" + slots + "],\n\"shaders\":[" + shaders + "],\n\"steps\":[" + steps_ +
           "],\n\"outputs\":[" + Outputs() + "]}";
  }
  int dispatches() const { return dispatches_; }

 private:
  int64_t Elements(const Slot& slot) const {
    switch (slot.kind) {
      case Slot::Kind::kInput: return storage_elements_[static_cast<size_t>(slot.index)];
      case Slot::Kind::kConstant:
        return static_cast<int64_t>(slot.constant.storage()->bytes()) / ItemSize(slot.meta.dtype);
      default: return slot.meta.numel();
    }
  }
  // Python floats that only shaders read: they are handed over as the float32 that a shader makes of them,
  // once instead of for every element.
  void FindNumbers() {
    for (size_t s = 0; s < plan_.slots.size(); ++s) {
      const Slot& slot = plan_.slots[s];
      if (slot.kind == Slot::Kind::kInput && slot.meta.weak && slot.meta.dtype == DType::kFloat64)
        numbers_.insert(static_cast<int>(s));
    }
    for (const Step& step : plan_.steps) {
      for (const Place& place : step.places) numbers_.erase(place.slot);
    }
    for (const Place& place : plan_.outputs) numbers_.erase(place.slot);
  }
  // Float32 values that only shaders read and write: constants, and what lies between two steps.
  void FindHalves() {
    for (size_t s = 0; s < plan_.slots.size(); ++s) {
      const Slot& slot = plan_.slots[s];
      const bool inside = slot.kind != Slot::Kind::kInput || limits_.own_inputs.count(slot.index);
      if (inside && slot.meta.dtype == DType::kFloat32 && slot.meta.rank() > 0)
        halves_.insert(static_cast<int>(s));
    }
    for (const Step& step : plan_.steps) {
      for (const Place& place : step.places) halves_.erase(place.slot);
      for (int slot : step.results) halves_.erase(slot);
    }
    for (const Place& place : plan_.outputs) halves_.erase(place.slot);
  }
  bool IsHalf(int slot) const { return halves_.count(slot) != 0; }
  int64_t BytesOf(int slot) const {
    const DType dtype = plan_.slots[static_cast<size_t>(slot)].meta.dtype;
    return elements_[static_cast<size_t>(slot)] * (IsHalf(slot) ? 2 : ItemSize(dtype) == 8 ? 8 : 4);
  }
  // The step's loops, as the device has their buffers.
  LoopKernel OnDevice(const Step& step) const {
    LoopKernel k = step.kernel->loops;
    for (const Pointer& p : step.pointers) {
      Buffer& buffer = k.buffers[static_cast<size_t>(p.cell)];
      if (numbers_.count(p.slot)) buffer.dtype = DType::kFloat32;
      buffer.half = IsHalf(p.slot);
    }
    return k;
  }

  std::string SlotText(int number, int64_t elements) const {
    const Slot& slot = plan_.slots[static_cast<size_t>(number)];
    const bool rounded = numbers_.count(number) != 0;
    const DType dtype = rounded ? DType::kFloat32 : slot.meta.dtype;
    const char* kind = "temporary";
    if (slot.kind == Slot::Kind::kInput) kind = "input";
    if (slot.kind == Slot::Kind::kConstant) kind = "constant";
    std::string text = std::string("{\"kind\":\"") + kind + "\"";
    if (slot.kind == Slot::Kind::kInput) text += ",\"index\":" + std::to_string(slot.index);
    if (rounded) text += ",\"rounded\":true";
    if (IsHalf(number)) text += ",\"half\":true";
    return text + ",\"dtype\":" + Quoted(std::string(DTypeName(dtype))) +
           ",\"elements\":" + std::to_string(elements) + ",\"first\":" + std::to_string(slot.first) +
           ",\"last\":" + std::to_string(slot.last) + "}";
  }
  std::string Outputs() const {
    std::string text;
    for (const Place& place : plan_.outputs) {
      TensorMeta meta = place.meta;
      for (const Step& step : plan_.steps) {
        if (step.kind == Step::Kind::kCopy && step.results[0] == place.slot) meta = step.places[0].meta;
      }
      text += (text.empty() ? "{" : ",{") + PlaceText(place.slot, meta);
    }
    return text;
  }

  // ---- Dispatches

  // The binding of a slot in the step at hand.
  int BindingOf(int slot) {
    const auto at = std::find(bound_.begin(), bound_.end(), slot);
    const int binding = static_cast<int>(at - bound_.begin()) + 1;
    if (at == bound_.end()) bound_.push_back(slot);
    if (static_cast<int>(bound_.size()) > limits_.storage_buffers) too_many_ = true;
    return binding;
  }
  // By buffer; 0 for `without` and for what the kernel was given but does not read: WebGPU wants exactly the
  // bindings that the shader uses.
  std::vector<int> Bindings(const Step& step, int without) {
    const LoopKernel& k = step.kernel->loops;
    std::vector<char> used(k.buffers.size(), 0);
    for (const Stage& stage : k.stages) {
      for (int id : stage.body) {
        const Instr& instr = k.instrs[static_cast<size_t>(id)];
        if (instr.prim == Prim::k_load || instr.prim == Prim::k_load_at) used[instr.imm] = 1;
      }
      for (const Store& store : stage.stores) used[static_cast<size_t>(store.buffer)] = 1;
    }
    std::vector<int> bindings;
    for (const Pointer& p : step.pointers) {
      const bool bound = p.cell != without && used[static_cast<size_t>(p.cell)];
      bindings.push_back(bound ? BindingOf(p.slot) : 0);
    }
    return bindings;
  }

  static int64_t SizeAt(const Step& step, int d) {
    return step.cells[static_cast<size_t>(SizeCell(step.kernel->loops, d))];
  }
  static int64_t Product(const Step& step, int first, int last) {
    int64_t n = 1;
    for (int d = first; d < last; ++d) n *= SizeAt(step, d);
    return n;
  }
  uint32_t CellValue(const WgslCell& cell, const Step& step, const LoopKernel& k,
                     const std::vector<int64_t>& shape) const {
    using Kind = WgslCell::Kind;
    const auto item = [&] { return ItemSize(k.buffers[static_cast<size_t>(cell.buffer)].dtype); };
    int64_t value = 0;
    switch (cell.kind) {
      case Kind::kZero: break;
      case Kind::kTotal: value = Product(step, 0, k.dims()); break;
      case Kind::kRows: value = Product(step, 0, k.outer); break;
      case Kind::kCount: value = Product(step, k.outer, k.dims()); break;
      case Kind::kSize: value = SizeAt(step, cell.dim); break;
      case Kind::kBase: value = step.pointers[static_cast<size_t>(cell.buffer)].offset / item(); break;
      case Kind::kStride:
        value = step.cells[static_cast<size_t>(StrideCell(k, cell.buffer, cell.dim))] / item();
        break;
      case Kind::kParameter: value = step.cells[static_cast<size_t>(ParameterCell(k, cell.dim))]; break;
      case Kind::kShape: value = shape[static_cast<size_t>(cell.dim)]; break;
    }
    return static_cast<uint32_t>(value);
  }

  void AddDispatch(const Step& step, const LoopKernel& k, const WgslShader& shader,
                   const std::vector<int64_t>& shape, const std::vector<int64_t>& groups) {
    const auto at = std::find(shaders_.begin(), shaders_.end(), shader.code);
    const auto index = at - shaders_.begin();
    if (at == shaders_.end()) shaders_.push_back(shader.code);
    std::vector<uint32_t> cells;
    for (const WgslCell& cell : shader.cells) cells.push_back(CellValue(cell, step, k, shape));
    steps_ += "{\"kind\":\"dispatch\",\"name\":" + Quoted(step.name) + ",\"nodes\":" + Nodes(step) +
              ",\"shader\":" + std::to_string(index) + ",\"slots\":" + Numbers(bound_) +
              ",\"cells\":" + Numbers(cells) + ",\"groups\":" + Numbers(groups) +
              (offsets_.empty() ? "" : ",\"offsets\":" + Numbers(offsets_)) + Indices(step) + "}";
    ++dispatches_;
  }

  void AddKernel(const Step& step) {
    const LoopKernel k = OnDevice(step);
    bound_.clear(), offsets_.clear();
    const std::vector<int> bindings = Bindings(step, -1);
    const int64_t rows = Product(step, 0, k.outer), count = Product(step, k.outer, k.dims());
    WgslForm form = WgslForm::kElements;
    if (!k.folds.empty()) {
      const int64_t many = limits_.software ? kWgslGroup : kManyRows;
      const bool threads = rows >= kWgslGroup && (k.lane_outer || count <= kFewElements || rows >= many);
      form = threads ? WgslForm::kRowThreads : WgslForm::kRowGroups;
    }
    std::vector<int64_t> groups = {Count(rows, 1, limits_.groups), 1, 1};
    if (form == WgslForm::kRowThreads) groups[0] = Count(rows, kWgslGroup, limits_.groups);
    if (form == WgslForm::kElements) {
      const int64_t each = limits_.software ? kSoftwareElements : 1;
      const int64_t all = Count(rows * count, each * kWgslGroup, limits_.groups * limits_.groups);
      groups[1] = Count(all, limits_.groups, limits_.groups);
      groups[0] = Count(all, groups[1], limits_.groups);
    }
    AddDispatch(step, k, EmitWgsl(k, bindings, form, limits_.subgroups), {}, groups);
  }

  Status AddProduct(const Step& step) {
    const ProductShape& shape = step.product;
    LoopKernel plain = PlainEpilogue();
    plain.buffers[1].half = !step.kernel && IsHalf(step.c);
    const LoopKernel k = step.kernel ? OnDevice(step) : plain;
    if (!WgslCanEmit(k)) return NotImplementedError("the epilogue of a product has no shader");
    bound_.clear(), offsets_.clear();
    WgslProductForm form;
    form.convolution = shape.convolution;
    form.batched = shape.a_batch.size() > 1;
    form.direct = limits_.software;
    form.a = BindingOf(step.a), form.b = BindingOf(step.b);
    form.a_half = IsHalf(step.a), form.b_half = IsHalf(step.b);
    Step dispatched = step;
    if (!step.kernel) {  // the product itself is what is written
      dispatched.cells = {0, 0, shape.m * shape.n * static_cast<int64_t>(shape.a_batch.size()), 4, 4};
      dispatched.pointers = {{0, step.c, 0}, {1, step.c, step.c_offset}};
      dispatched.kernel = std::make_shared<const CompiledKernel>(CompiledKernel{plain});
    }
    form.product = step.kernel ? step.product_buffer : 0;
    const std::vector<int> bindings = Bindings(dispatched, form.product);
    if (form.batched) {
      form.offsets = static_cast<int>(bound_.size()) + 1;
      if (form.offsets > limits_.storage_buffers) too_many_ = true;
      for (size_t i = 0; i < shape.a_batch.size(); ++i)
        offsets_.push_back(shape.a_batch[i]), offsets_.push_back(shape.b_batch[i]);
    }
    const int64_t tile = WgslProductTile(form), rows = (shape.m + tile - 1) / tile,
                  columns = (shape.n + tile - 1) / tile;
    if (rows > limits_.groups || columns > limits_.groups)
      return MemoryError("a product of the graph has more tiles than the adapter has workgroups");
    AddDispatch(dispatched, k, EmitWgslProduct(form, k, bindings),
                WgslProductShape(shape, step.a_offset / 4, step.b_offset / 4),
                {std::max<int64_t>(columns, 1), std::max<int64_t>(rows, 1),
                 Count(static_cast<int64_t>(shape.a_batch.size()), 1, limits_.groups)});
    return Status::Ok();
  }

  const Plan& plan_;
  const std::vector<int64_t>& storage_elements_;
  const DeviceLimits& limits_;
  std::set<int> numbers_, halves_;  // slots that FindNumbers and FindHalves found
  std::vector<int64_t> elements_;   // by slot
  std::vector<std::string> shaders_;
  std::string steps_;
  std::vector<int> bound_;
  std::vector<int64_t> offsets_;  // of a batched product: what its last binding holds
  int dispatches_ = 0;
  bool too_many_ = false;
};

}  // namespace

Result<std::unique_ptr<DevicePlan>> DevicePlan::Make(const Graph& graph,
                                                     const std::vector<const TensorMeta*>& inputs,
                                                     const std::vector<int64_t>& storage_elements,
                                                     const DeviceLimits& limits) {
  for (const Node& node : graph.nodes()) {  // a run that fails half-way must not have drawn any
    if (Info(node.op).op_class == OpClass::kRandom)
      return NotImplementedError("random numbers are drawn on the CPU");
  }
  PlanOptions options;
  options.device = true;
  options.emits = WgslCanEmit;
  options.lower = LowerIndexed;
  options.max_buffers = limits.storage_buffers;
  // Fewer members to a kernel until none binds too many buffers.
  for (;;) {
    auto device = std::make_unique<DevicePlan>();
    TB_ASSIGN_OR_RETURN(device->plan_, MakePlan(graph, inputs, options));
    for (const Slot& slot : device->plan_->slots) {
      if (slot.kind == Slot::Kind::kInput && slot.reach > storage_elements[static_cast<size_t>(slot.index)])
        return BeyondStorage();
    }
    bool too_many_buffers;
    Writer writer(*device->plan_, storage_elements, limits);
    TB_ASSIGN_OR_RETURN(device->json_, writer.Run(&too_many_buffers));
    if (!too_many_buffers) {
      device->dispatches_ = writer.dispatches();
      return device;
    }
    if (options.fuse.max_members == 1)
      return MemoryError("a kernel of the graph needs more buffers than the adapter binds");
    options.fuse.max_members /= 2;
  }
}

Result<std::vector<Tensor>> DevicePlan::RunHostStep(
    const Graph& graph, int step_index, const std::vector<std::shared_ptr<Storage>>& storages) const {
  if (step_index < 0 || static_cast<size_t>(step_index) >= plan_->steps.size())
    return RuntimeError("no such step");
  const Step& step = plan_->steps[static_cast<size_t>(step_index)];
  const std::vector<int> reads = Reads(step);
  if (step.kind != Step::Kind::kLibrary || storages.size() != reads.size())
    return RuntimeError("this step is not the host's");
  std::vector<Tensor> operands;
  for (const Place& place : step.places) {
    if (place.slot < 0) {
      operands.emplace_back();
      continue;
    }
    const auto at = std::find(reads.begin(), reads.end(), place.slot) - reads.begin();
    operands.emplace_back(storages[static_cast<size_t>(at)], place.meta);
  }
  const Node& node = graph.node(step.node);
  TB_ASSIGN_OR_RETURN(std::vector<Tensor> results, Execute(node.op, operands, node.attrs));
  for (Tensor& t : results) {
    TB_ASSIGN_OR_RETURN(t, AsContiguous(t, t.dtype()));
  }
  return results;
}

}  // namespace thirdbook
