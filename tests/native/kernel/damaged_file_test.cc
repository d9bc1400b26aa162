// Files that were damaged and still load: planning and running them reads and writes nothing but their own
// memory (ASan, UBSan).
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "graph/serialize.h"
#include "kernel/device_plan.h"
#include "kernel/executable.h"
#include "kernel/plan.h"
#include "random_graph.h"

namespace thirdbook {
namespace {

constexpr int64_t kLargest = 1 << 16;  // elements; larger values of a damaged file cost time and show nothing

bool IsSmall(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    for (const TensorMeta& meta : node.metas) {
      if (meta.numel() > kLargest) return false;
    }
  }
  return true;
}

// As the runtime without Python makes them: contiguous, of the sizes that the file names.
std::vector<Tensor> Inputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (NodeId id : graph.inputs()) {
    const TensorMeta& meta = graph.node(id).metas[0];
    if (meta.weak) {
      inputs.push_back(meta.dtype == DType::kFloat64 ? Tensor::WeakFloat(2)
                       : meta.dtype == DType::kBool  ? Tensor::WeakBool(true)
                                                     : Tensor::WeakInt(2));
      continue;
    }
    inputs.push_back(Tensor::Empty(meta.dtype, meta.sizes).value());
    std::memset(inputs.back().data(), 1, inputs.back().storage()->bytes());
  }
  return inputs;
}

// As the runtime plans it for a GPU.
void PlanForDevice(const Graph& graph, const DeviceLimits& limits) {
  std::vector<const TensorMeta*> metas;
  std::vector<int64_t> elements;
  for (NodeId id : graph.inputs()) {
    metas.push_back(&graph.node(id).metas[0]);
    elements.push_back(metas.back()->numel());
  }
  (void)DevicePlan::Make(graph, metas, elements, limits).ok();
}

// 0: refused while loading; 1: loaded, and an error; 2: ran.
int Attempt(const std::vector<uint8_t>& bytes) {
  Result<Graph> graph = LoadGraph(bytes.data(), bytes.size());
  if (!graph.ok()) return 0;
  if (!IsSmall(*graph)) return 1;
  const std::vector<Tensor> inputs = Inputs(*graph);
  PlanForDevice(*graph, {});
  PlanForDevice(*graph, {.storage_buffers = 3, .software = true, .subgroups = true, .halves = true});
  Result<std::unique_ptr<Executable>> executable = CompileGraph(std::move(*graph), Backend::kWasm);
  if (!executable.ok()) return 1;
  return (*executable)->Run(inputs).ok() ? 2 : 1;
}

Graph StridedGraph() {  // y = as_strided(x + x, [2, 2], [2, 1], 2)
  Graph graph;
  const ValueRef x = graph.AddInput("x", ContiguousMeta(DType::kFloat32, {2, 3}));
  const ValueRef sum = graph.AddNode(Op::k_add, {x, x}, {int64_t{1}}).value();
  graph.AddOutput(graph.AddNode(Op::k_as_strided, {sum}, {Sizes{2, 2}, Sizes{2, 1}, int64_t{2}}).value());
  graph.AddOutput(graph.AddNode(Op::k_as_strided, {x}, {Sizes{2, 2}, Sizes{2, 1}, int64_t{2}}).value());
  return graph;
}

TEST(DamagedFile, AViewBeyondItsStorageIsAnError) {
  for (const int which : {0, 1}) {
    Graph graph = StridedGraph();
    Node& view =
        graph.mutable_nodes()[static_cast<size_t>(graph.outputs()[static_cast<size_t>(which)].node.value)];
    view.attrs[2] = int64_t{3};
    view.metas[0].offset = 3;
    const std::vector<uint8_t> bytes = SaveGraph(graph).value();
    Graph loaded = LoadGraph(bytes.data(), bytes.size()).value();
    const std::vector<Tensor> inputs = Inputs(loaded);
    Result<std::unique_ptr<Executable>> executable = CompileGraph(std::move(loaded), Backend::kWasm);
    const Status status = executable.ok() ? (*executable)->Run(inputs).status() : executable.status();
    EXPECT_EQ(status.message(), "a view reaches beyond the tensor it is of");
  }
  EXPECT_EQ(Attempt(SaveGraph(StridedGraph()).value()), 2);
}

TEST(DamagedFile, AStridedViewCountsFromTheStoragesStartWhereverTheInputStarts) {
  const Graph graph = StridedGraph();
  Tensor storage = Tensor::Empty(DType::kFloat32, {9}).value();
  for (int i = 0; i < 9; ++i) storage.data<float>()[i] = static_cast<float>(i);
  std::unique_ptr<Executable> executable = std::move(CompileGraph(graph, Backend::kWasm).value());
  for (const int64_t start : {0, 3, 1}) {
    TensorMeta meta = ContiguousMeta(DType::kFloat32, {2, 3});
    meta.offset = start;
    const std::vector<Tensor> outputs = executable->Run({storage.WithMeta(meta)}).value();
    EXPECT_EQ(*outputs[1].data<float>(), 2);
    EXPECT_EQ(*outputs[0].data<float>(), static_cast<float>(2 * (start + 2)));
  }
}

TEST(DamagedFile, RunningWhatStillLoadsTouchesNothingElse) {
  const char* text = std::getenv("THIRDBOOK_DAMAGED_FILES");
  const int rounds = text ? std::atoi(text) : 40;
  Random random(7);
  int counts[3] = {};
  const auto damage = [&](const std::vector<uint8_t>& whole) {
    for (int round = 0; round < rounds; ++round) {
      std::vector<uint8_t> bytes = whole;
      for (int hits = 1 + random.Below(3); hits > 0; --hits) {
        const size_t at = 16 + static_cast<size_t>(random.Below(static_cast<int>(bytes.size()) - 16));
        // Small numbers are what sizes, indices and kinds are made of.
        bytes[at] = static_cast<uint8_t>(random.Below(3) ? random.Below(8) : random.Below(256));
      }
      ++counts[Attempt(bytes)];
    }
  };
  for (uint64_t seed = 1; seed <= 120; ++seed)
    damage(SaveGraph(MakeRandomGraph(seed, 3 + static_cast<int>(seed % 12)).graph).value());
  for (int i = 0; i < 40; ++i) damage(SaveGraph(StridedGraph()).value());
  EXPECT_GT(counts[0], 0);
  EXPECT_GT(counts[2], 0);
  std::printf("%d refused, %d failed, %d ran\n", counts[0], counts[1], counts[2]);
}

}  // namespace
}  // namespace thirdbook
