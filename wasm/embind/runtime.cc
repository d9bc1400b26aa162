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

#include "graph/serialize.h"
#include "kernel/executable.h"

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

// A graph that was loaded; `delete()` frees it.
class ExportedGraph {
 public:
  ExportedGraph(Graph graph, std::unique_ptr<Executable> executable)
      : graph_(std::move(graph)), executable_(std::move(executable)) {}

  int InputCount() const { return static_cast<int>(graph_.inputs().size()); }
  int OutputCount() const { return static_cast<int>(graph_.outputs().size()); }
  std::string InputName(int i) const { return graph_.node(graph_.inputs()[static_cast<size_t>(i)]).name; }
  std::string Text() const { return Print(graph_); }

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
    for (const Tensor& t : *outputs) {
      val row = val::object(), shape = val::array();
      for (int64_t s : t.sizes()) shape.call<void>("push", static_cast<double>(s));
      size_t bytes = static_cast<size_t>(t.meta().numel()) * static_cast<size_t>(ItemSize(t.dtype()));
      val copy = Bytes(t.data(), bytes).call<val>("slice");
      row.set("dtype", std::string(DTypeName(t.dtype())));
      row.set("shape", shape);
      row.set("data", val::global(ArrayType(t.dtype())).new_(copy["buffer"]));
      result.call<void>("push", row);
    }
    return result;
  }

 private:
  Tensor Input(int i, const val& given) const {
    const TensorMeta& meta = graph_.node(graph_.inputs()[static_cast<size_t>(i)]).metas[0];
    std::string name = InputName(i);
    if (meta.weak) {
      if (given.typeOf().as<std::string>() != "number") Throw("input " + name + " is a number");
      double number = given.as<double>();
      return meta.dtype == DType::kFloat64 ? Tensor::WeakFloat(number)
             : meta.dtype == DType::kBool  ? Tensor::WeakBool(number != 0)
                                           : Tensor::WeakInt(static_cast<int64_t>(number));
    }
    val data = given["data"], shape = given["shape"];
    std::string type =
        data.isUndefined() || data.isNull() ? "nothing" : data["constructor"]["name"].as<std::string>();
    if (type != ArrayType(meta.dtype))
      Throw("input " + name + " wants a " + ArrayType(meta.dtype) + ", not " + type);
    Sizes sizes;
    for (int k = 0; k < shape["length"].as<int>(); k++)
      sizes.push_back(static_cast<int64_t>(shape[k].as<double>()));
    Result<Tensor> tensor = Tensor::Empty(meta.dtype, sizes);
    if (!tensor.ok()) Throw("input " + name + ": " + tensor.status().message());
    size_t bytes = static_cast<size_t>(tensor->meta().numel()) * static_cast<size_t>(ItemSize(meta.dtype));
    if (static_cast<size_t>(data["byteLength"].as<double>()) != bytes)
      Throw("input " + name + " has " + std::to_string(bytes) + " bytes by its shape, the array has others");
    val view = val::global("Uint8Array").new_(data["buffer"], data["byteOffset"], data["byteLength"]);
    Bytes(tensor->data(), bytes).call<void>("set", view);
    return *tensor;
  }

  Graph graph_;
  std::unique_ptr<Executable> executable_;
};

std::unique_ptr<ExportedGraph> Load(const std::string& bytes) {
  Result<Graph> graph = LoadGraph(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (!graph.ok()) Throw(graph.status().message());
  Result<std::unique_ptr<Executable>> executable = CompileGraph(*graph, Backend::kReference);
  if (!executable.ok()) Throw(executable.status().message());
  return std::make_unique<ExportedGraph>(std::move(*graph), std::move(*executable));
}

std::string Version() { return THIRDBOOK_VERSION; }

}  // namespace
}  // namespace thirdbook

EMSCRIPTEN_BINDINGS(thirdbook_runtime) {
  using thirdbook::ExportedGraph;
  emscripten::function("version", &thirdbook::Version);
  emscripten::function("load", &thirdbook::Load);
  emscripten::class_<ExportedGraph>("ExportedGraph")
      .function("inputCount", &ExportedGraph::InputCount)
      .function("outputCount", &ExportedGraph::OutputCount)
      .function("inputName", &ExportedGraph::InputName)
      .function("text", &ExportedGraph::Text)
      .function("run", &ExportedGraph::Run);
}
