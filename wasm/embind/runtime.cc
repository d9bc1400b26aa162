// Exported graphs without Python, for JavaScript.
//
// In: the graph part of an exported file (core/graph/serialize.h) and typed arrays. Out: typed arrays. Errors
// become JavaScript Errors that name the input and what is wrong; a damaged file is refused as a whole.
// Invariant: knows no Python; a run changes nothing but what it returns.
#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <cstring>
#include <memory>
#include <string>

#include "engine.h"
#include "graph/passes.h"
#include "graph/serialize.h"
#include "kernel/device_plan.h"
#include "kernel/executable.h"
#include "tensor/convert.h"

namespace thirdbook {
namespace {

using emscripten::val;

[[noreturn]] void Throw(const std::string& message) {
  val::global("Error").new_(message).throw_();
  __builtin_unreachable();
}

const char* ArrayType(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8: return "Uint8Array";
    case DType::kInt32: return "Int32Array";
    case DType::kInt64: return "BigInt64Array";
    case DType::kFloat32: return "Float32Array";
    case DType::kFloat64: return "Float64Array";
  }
  return "Uint8Array";
}

val Bytes(void* data, size_t size) {
  return val(emscripten::typed_memory_view(size, static_cast<uint8_t*>(data)));
}

Sizes SizesOf(const val& shape) {
  Sizes sizes;
  for (int k = 0; k < shape["length"].as<int>(); k++)
    sizes.push_back(static_cast<int64_t>(shape[k].as<double>()));
  return sizes;
}

size_t ByteSize(const Tensor& t) {
  return static_cast<size_t>(t.meta().numel()) * static_cast<size_t>(ItemSize(t.dtype()));
}

// What a GPU does for one set of input sizes; `delete()` frees it.
class DeviceSteps {
 public:
  DeviceSteps(std::shared_ptr<const Graph> graph, std::unique_ptr<DevicePlan> plan)
      : graph_(std::move(graph)), plan_(std::move(plan)) {}

  std::string Json() const { return plan_->json(); }
  // A view of the runtime's memory: copy before the next call.
  val Constant(int slot) const {
    const std::shared_ptr<Storage>& storage = plan_->Constant(slot).storage();
    return Bytes(storage->data(), storage->bytes());
  }
  // The bytes of the slots that a host step reads; those of the slots that it writes.
  val RunHostStep(int step, val reads) const {
    std::vector<std::shared_ptr<Storage>> storages;
    for (int i = 0; i < reads["length"].as<int>(); i++) {
      const auto size = static_cast<size_t>(reads[i]["byteLength"].as<double>());
      std::shared_ptr<Storage> storage = Storage::Allocate(size);
      if (!storage) Throw("out of memory for a step of the graph");
      Bytes(storage->data(), size).call<void>("set", reads[i]);
      storages.push_back(std::move(storage));
    }
    Result<std::vector<Tensor>> results = plan_->RunHostStep(*graph_, step, storages);
    if (!results.ok()) Throw(results.status().message());
    val rows = val::array();
    for (const Tensor& t : *results) rows.call<void>("push", Bytes(t.data(), ByteSize(t)).call<val>("slice"));
    return rows;
  }

 private:
  std::shared_ptr<const Graph> graph_;
  std::unique_ptr<DevicePlan> plan_;
};

// A graph that was loaded; `delete()` frees it.
class ExportedGraph {
 public:
  ExportedGraph(Graph graph, std::unique_ptr<Executable> executable)
      : graph_(std::move(graph)), executable_(std::move(executable)) {}

  // [{name, dtype, number}]
  val Inputs() const {
    val rows = val::array();
    for (int i = 0; i < InputCount(); i++) {
      const TensorMeta& meta = InputNode(i).metas[0];
      val row = val::object();
      row.set("name", InputNode(i).name);
      row.set("dtype", std::string(DTypeName(meta.dtype)));
      row.set("number", meta.weak);
      rows.call<void>("push", row);
    }
    return rows;
  }
  int OutputCount() const { return static_cast<int>(graph_.outputs().size()); }
  std::string Text() const { return Print(graph_); }

  // The plan for inputs of these layouts on an adapter with these limits: {storageBuffers, bufferBytes,
  // groups, software, subgroups, halves}. A layout is {shape}, or {shape, strides, offset, elements} for a
  // view of a storage; with `own` when it is the same at every run; null: a number.
  std::unique_ptr<DeviceSteps> Plan(val layouts, val limits) {
    if (!optimised_) {
      Graph graph = graph_;
      Optimise(&graph);
      optimised_ = std::make_shared<const Graph>(std::move(graph));
    }
    std::vector<TensorMeta> metas;
    std::vector<int64_t> elements;
    DeviceLimits most;
    for (int i = 0; i < InputCount(); i++) {
      const TensorMeta& traced = InputNode(i).metas[0];
      const val layout = layouts[i];
      metas.push_back(ContiguousMeta(traced.dtype, traced.weak ? Sizes{} : SizesOf(layout["shape"])));
      elements.push_back(metas.back().numel());
      if (!traced.weak && layout["own"].isTrue()) most.own_inputs.insert(i);
      if (traced.weak || layout["strides"].isUndefined()) continue;
      metas.back().strides = SizesOf(layout["strides"]);
      metas.back().offset = static_cast<int64_t>(layout["offset"].as<double>());
      elements.back() = static_cast<int64_t>(layout["elements"].as<double>());
    }
    std::vector<const TensorMeta*> pointers;
    for (const TensorMeta& meta : metas) pointers.push_back(&meta);
    most.storage_buffers = limits["storageBuffers"].as<int>();
    most.buffer_bytes = static_cast<int64_t>(limits["bufferBytes"].as<double>());
    most.software = limits["software"].as<bool>();
    most.subgroups = limits["subgroups"].as<bool>();
    most.halves = limits["halves"].as<bool>();
    most.groups = static_cast<int64_t>(limits["groups"].as<double>());
    Result<std::unique_ptr<DevicePlan>> plan = DevicePlan::Make(*optimised_, pointers, elements, most);
    if (!plan.ok()) Throw(plan.status().message());
    return std::make_unique<DeviceSteps>(optimised_, std::move(*plan));
  }

  // inputs: [{shape, data}] in the graph's order, data a typed array of the input's dtype (or a number for a
  // weak input).
  val Run(val inputs) {
    if (inputs["length"].as<int>() != InputCount())
      Throw("the graph takes " + std::to_string(InputCount()) + " inputs, not " +
            std::to_string(inputs["length"].as<int>()));
    std::vector<Tensor> tensors;
    for (int i = 0; i < InputCount(); i++) tensors.push_back(Input(i, inputs[i]));
    Result<std::vector<Tensor>> outputs = executable_->Run(tensors);
    if (!outputs.ok()) Throw(outputs.status().message());
    val result = val::array();
    for (const Tensor& output : *outputs) {
      const Result<Tensor> dense = AsContiguous(output, output.dtype());
      if (!dense.ok()) Throw(dense.status().message());
      const Tensor& t = *dense;
      val row = val::object(), shape = val::array();
      for (int64_t s : t.sizes()) shape.call<void>("push", static_cast<double>(s));
      val copy = Bytes(t.data(), ByteSize(t)).call<val>("slice");
      row.set("dtype", std::string(DTypeName(t.dtype())));
      row.set("shape", shape);
      row.set("data", val::global(ArrayType(t.dtype())).new_(copy["buffer"]));
      result.call<void>("push", row);
    }
    return result;
  }

 private:
  int InputCount() const { return static_cast<int>(graph_.inputs().size()); }
  const Node& InputNode(int i) const { return graph_.node(graph_.inputs()[static_cast<size_t>(i)]); }

  Tensor Input(int i, const val& given) const {
    const TensorMeta& meta = InputNode(i).metas[0];
    const std::string& name = InputNode(i).name;
    if (meta.weak) {
      if (given.typeOf().as<std::string>() != "number") Throw("input " + name + " is a number");
      double number = given.as<double>();
      return meta.dtype == DType::kFloat64 ? Tensor::WeakFloat(number)
             : meta.dtype == DType::kBool  ? Tensor::WeakBool(number != 0)
                                           : Tensor::WeakInt(static_cast<int64_t>(number));
    }
    val data = given["data"], shape = given["shape"];
    std::string type = data["constructor"]["name"].as<std::string>();
    if (type != ArrayType(meta.dtype))
      Throw("input " + name + " wants a " + ArrayType(meta.dtype) + ", not " + type);
    Result<Tensor> tensor = Tensor::Empty(meta.dtype, SizesOf(shape));
    if (!tensor.ok()) Throw("input " + name + ": " + tensor.status().message());
    const size_t bytes = ByteSize(*tensor);
    if (static_cast<size_t>(data["byteLength"].as<double>()) != bytes)
      Throw("input " + name + " has " + std::to_string(bytes) + " bytes by its shape, its array " +
            std::to_string(data["byteLength"].as<unsigned>()));
    val view = val::global("Uint8Array").new_(data["buffer"], data["byteOffset"], data["byteLength"]);
    Bytes(tensor->data(), bytes).call<void>("set", view);
    return *tensor;
  }

  Graph graph_;
  std::shared_ptr<const Graph> optimised_;  // for plans; made when the first is asked for
  std::unique_ptr<Executable> executable_;
};

std::unique_ptr<ExportedGraph> Load(const std::string& bytes) {
  Result<Graph> graph = LoadGraph(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (!graph.ok()) Throw(graph.status().message());
  ConnectEngine();
  Result<std::unique_ptr<Executable>> executable = CompileGraph(*graph, Backend::kWasm);
  if (!executable.ok()) Throw(executable.status().message());
  return std::make_unique<ExportedGraph>(std::move(*graph), std::move(*executable));
}

std::string Version() { return THIRDBOOK_VERSION; }

}  // namespace
}  // namespace thirdbook

EMSCRIPTEN_BINDINGS(thirdbook_runtime) {
  using thirdbook::DeviceSteps;
  using thirdbook::ExportedGraph;
  emscripten::function("version", &thirdbook::Version);
  emscripten::function("load", &thirdbook::Load);
  emscripten::class_<ExportedGraph>("ExportedGraph")
      .function("inputs", &ExportedGraph::Inputs)
      .function("outputCount", &ExportedGraph::OutputCount)
      .function("text", &ExportedGraph::Text)
      .function("plan", &ExportedGraph::Plan)
      .function("run", &ExportedGraph::Run);
  emscripten::class_<DeviceSteps>("DeviceSteps")
      .function("json", &DeviceSteps::Json)
      .function("constant", &DeviceSteps::Constant)
      .function("runHostStep", &DeviceSteps::RunHostStep);
}
