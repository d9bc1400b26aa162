// Shaders as text: what a kernel, a fold and a product become, and what a plan tells the device.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "graph/serialize.h"
#include "kernel/device_plan.h"
#include "kernel/fuse.h"
#include "kernel/lower.h"
#include "kernel/wgsl_emit.h"
#include "kernel/wgsl_functions.h"
#include "kernel/wgsl_product.h"
#include "random_graph.h"
#include "tensor/convert.h"

namespace thirdbook {
namespace {

struct Built {
  Graph graph;
  ValueRef Input(DType dtype, Sizes sizes) {
    return graph.AddInput("x" + std::to_string(graph.inputs().size()),
                          ContiguousMeta(dtype, std::move(sizes)));
  }
  ValueRef Do(Op op, std::vector<ValueRef> operands, Attrs attrs = {}) {
    return graph.AddNode(op, std::move(operands), std::move(attrs)).value();
  }
  Result<std::unique_ptr<DevicePlan>> Plan(const DeviceLimits& limits = {}) const {
    std::vector<const TensorMeta*> metas;
    std::vector<int64_t> elements;
    for (NodeId id : graph.inputs()) {
      metas.push_back(&graph.node(id).metas[0]);
      elements.push_back(metas.back()->numel());
    }
    return DevicePlan::Make(graph, metas, elements, limits);
  }
};

LoweredUnit OnlyUnit(const Graph& graph) {
  std::vector<const TensorMeta*> inputs;
  for (NodeId id : graph.inputs()) inputs.push_back(&graph.node(id).metas[0]);
  const ValueMetas metas = InferMetas(graph, inputs).value();
  const std::vector<Unit> units = Fuse(graph, metas);
  EXPECT_EQ(units.size(), 1u);
  return Lower(graph, metas, units[0], graph.outputs()).value();
}

TEST(Wgsl, AChainWithABroadcastIsOneShaderWhoseSizesAreCells) {
  Built b;
  const ValueRef x = b.Input(DType::kFloat32, {3, 5}), y = b.Input(DType::kFloat32, {5});
  b.graph.AddOutput(b.Do(Op::k_relu, {b.Do(Op::k_mul, {x, y})}));
  const LoweredUnit unit = OnlyUnit(b.graph);
  EXPECT_EQ(EmitWgsl(unit.kernel, {1, 2, 3}, WgslForm::kElements).code,
            R"(struct Cells { c: array<vec4<u32>, 2> }
@group(0) @binding(0) var<uniform> p: Cells;
@group(0) @binding(1) var<storage, read> g1: array<f32>;
@group(0) @binding(2) var<storage, read> g2: array<f32>;
@group(0) @binding(3) var<storage, read_write> g3: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32) {
  let each = (p.c[0].y - 1u) / (groups.x * groups.y * 64u) + 1u;
  let first = (group.y * groups.x + group.x) * each * 64u + lane;
  let end = min(first + each * 64u, p.c[0].y);
  let v3 = 0f;
  for (var e = first; e < end; e += 64u) {
    let i1 = e % p.c[0].z;
    let n1 = e / p.c[0].z;
    let i0 = n1;
    let o0 = p.c[0].w + i0 * p.c[1].x + i1;
    let o1 = p.c[1].y + i1;
    let o2 = p.c[1].z + i0 * p.c[1].w + i1;
    let v0 = g1[o0];
    let v1 = g2[o1];
    let v2 = v0 * v1;
    let v4 = select(v2, v3, v2 < v3);
    g3[o2] = v4;
  }
}
)");
}

TEST(Wgsl, ASoftmaxIsOneShaderThatComputesExpAgainRatherThanKeepIt) {
  Built b;
  b.graph.AddOutput(b.Do(Op::k_softmax, {b.Input(DType::kFloat32, {8, 100})}, {int64_t{1}, None{}}));
  const LoweredUnit unit = OnlyUnit(b.graph);
  EXPECT_EQ(unit.kernel.scratch.size(), 1u);
  const std::string groups = EmitWgsl(unit.kernel, {1, 2}, WgslForm::kRowGroups).code;
  for (const char* text :
       {"for (var row = group.x; row <", "for (var block = lane; block <",
        "var<workgroup> w_f32: array<f32, 64>", "a0 = select(a0, v0, a0 < v0);",
        "if (lane < s) { w_f32[lane] = w_f32[lane] + w_f32[lane + s]; }", "fn tb_exp_negative(x: f32)"}) {
    EXPECT_NE(groups.find(text), std::string::npos) << text << "\n" << groups;
  }
  const std::string threads = EmitWgsl(unit.kernel, {1, 2}, WgslForm::kRowThreads).code;
  EXPECT_EQ(threads.find("workgroupBarrier"), std::string::npos);
  const std::string call = "= tb_exp_negative(";
  size_t calls = 0;
  for (size_t at = threads.find(call); at != std::string::npos; at = threads.find(call, at + 1)) ++calls;
  EXPECT_EQ(calls, 2u * (8u + 1u));  // the sum and the result, each in rounds of eight and a rest
}

TEST(Wgsl, WhereThereAreSubgroupsRowsMeetThroughThem) {
  Built b;
  b.graph.AddOutput(b.Do(Op::k_amax, {b.Input(DType::kFloat32, {8, 100})}, {Sizes{1}, false}));
  const LoweredUnit unit = OnlyUnit(b.graph);
  const std::string code = EmitWgsl(unit.kernel, {1, 2}, WgslForm::kRowGroups, true).code;
  EXPECT_EQ(code.rfind("enable subgroups;\n", 0), 0u);
  for (const char* text :
       {"@builtin(subgroup_size) width: u32", "let other = subgroupShuffleXor(q0, s);",
        "q0 = tb_max(q0, other);", "if (within != 0u) { q0 = tb_float(0xff800000u); }",
        "for (var s = within; s < 64u; s += width) { q0 = tb_max(q0, w_f32[s]); }", "let f0 = q0;"}) {
    EXPECT_NE(code.find(text), std::string::npos) << text << "\n" << code;
  }
  const std::string rows = EmitWgsl(unit.kernel, {1, 2}, WgslForm::kRowThreads, true).code;
  EXPECT_EQ(rows.find("subgroup"), std::string::npos);
  // A bool is shuffled as a number.
  Built any;
  any.graph.AddOutput(any.Do(Op::k_any, {any.Input(DType::kBool, {8, 100})}, {Sizes{1}, false}));
  EXPECT_NE(EmitWgsl(OnlyUnit(any.graph).kernel, {1, 2}, WgslForm::kRowGroups, true)
                .code.find("(subgroupShuffleXor(u32(q0), s) != 0u)"),
            std::string::npos);
}

TEST(Wgsl, HalvesAreWhatStaysInsideAndOwnInputs) {
  Built b;
  const ValueRef x = b.Input(DType::kFloat32, {40, 20}), w = b.Input(DType::kFloat32, {33, 20}),
                 v = b.Input(DType::kFloat32, {7, 33});
  const ValueRef hidden = b.Do(Op::k_relu, {b.Do(Op::k_linear, {x, w, {}})});
  b.graph.AddOutput(b.Do(Op::k_linear, {hidden, v, {}}));
  DeviceLimits limits;
  EXPECT_EQ(b.Plan(limits).value()->json().find("\"half\""), std::string::npos);
  limits.halves = true;
  limits.own_inputs = {1};
  const std::string json = b.Plan(limits).value()->json();
  const auto count = [&](const std::string& text) {
    size_t n = 0;
    for (size_t at = json.find(text); at != std::string::npos; at = json.find(text, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("\"half\":true"), 2u) << json;  // w, and what lies between the products
  EXPECT_EQ(count("enable f16;"), 2u);
  EXPECT_EQ(count("= f16(v"), 1u);
  EXPECT_NE(json.find("return f32(g2["), std::string::npos) << json;
  EXPECT_NE(json.find("a.x = f32(g1[at]);"), std::string::npos) << json;
  // What the host reads or writes stays float32.
  Built host;
  const ValueRef sums = host.Do(Op::k_cumsum, {host.Do(Op::k_exp, {host.Input(DType::kFloat32, {4, 6})})},
                                {int64_t{1}, None{}});
  host.graph.AddOutput(host.Do(Op::k_neg, {sums}));
  EXPECT_EQ(host.Plan(limits).value()->json().find("\"half\""), std::string::npos);
}

TEST(Wgsl, WhatIsLookedUpHasBoundsThatTheHostChecks) {
  Built b;
  const ValueRef table = b.Input(DType::kFloat32, {10, 4}), ids = b.Input(DType::kInt64, {3, 2});
  b.graph.AddOutput(b.Do(Op::k_embedding, {table, ids}, {int64_t{-1}}));
  const std::string json = b.Plan().value()->json();
  for (const char* text : {"\"indices\":[{\"low\":0,\"high\":10,\"slot\":0,\"dtype\":\"int64\",\"shape\":[3,"
                           "2],\"strides\":[2,1],\"offset\":0}]",
                           "bitcast<i32>(g1[o0].x)", "bitcast<i32>(p.c["}) {
    EXPECT_NE(json.find(text), std::string::npos) << text << "\n" << json;
  }
  Built wrapped;
  const ValueRef self = wrapped.Input(DType::kFloat32, {10, 4}), at = wrapped.Input(DType::kInt64, {3});
  wrapped.graph.AddOutput(wrapped.Do(Op::k_index, {self, {}, at}));
  EXPECT_NE(wrapped.Plan().value()->json().find("\"low\":-4,\"high\":4"), std::string::npos);
}

TEST(Wgsl, APoolIsAFoldOverItsWindowWhateverTheSizes) {
  const auto plan = [](int64_t size, int64_t window) {
    Built b;
    b.graph.AddOutput(b.Do(Op::k_max_pool2d, {b.Input(DType::kFloat32, {2, size, size})},
                           {Sizes{window}, Sizes{}, Sizes{1}, Sizes{1}, false}));
    return std::move(b.Plan().value());
  };
  const auto shaders = [](const std::string& json) {
    const size_t from = json.find("\"shaders\"");
    return json.substr(from, json.find("\"steps\"") - from);
  };
  EXPECT_EQ(plan(12, 2)->dispatches(), 1);
  EXPECT_EQ(shaders(plan(12, 2)->json()), shaders(plan(30, 3)->json()));
  EXPECT_EQ(plan(12, 2)->json().find("\"host\""), std::string::npos);
}

TEST(Wgsl, OfMoreOperandsThanAnAdapterBindsTheHostTakesCare) {
  Built b;
  std::vector<ValueRef> parts;
  for (int i = 0; i < 9; ++i) parts.push_back(b.Input(DType::kFloat32, {2}));
  b.graph.AddOutput(b.Do(Op::k_cat, parts, {int64_t{0}}));
  EXPECT_EQ(b.Plan({.storage_buffers = 10}).value()->dispatches(), 1);
  EXPECT_EQ(b.Plan({.storage_buffers = 8}).value()->dispatches(), 0);
}

TEST(Wgsl, OnlyFunctionsThatAreCalledAreThere) {
  EXPECT_EQ(WgslFunctions("let v1 = v0 + v0;"), "");
  const std::string text = WgslFunctions("let v1 = tb_sigmoid(v0);");
  for (const char* name : {"fn tb_exp(", "fn tb_exp_near(", "fn tb_scaled("})
    EXPECT_NE(text.find(name), std::string::npos);
  EXPECT_LT(text.find("fn tb_exp("), text.find("fn tb_sigmoid("));
  EXPECT_EQ(text.find("fn tb_log("), std::string::npos);
}

TEST(Wgsl, ANewSizeIsTheSameShader) {
  const auto plan = [](int64_t rows, int64_t columns) {
    Built b;
    b.graph.AddOutput(b.Do(Op::k_sum, {b.Do(Op::k_exp, {b.Input(DType::kFloat32, {rows, columns})})},
                           {Sizes{1}, false, None{}}));
    return b.Plan().value()->json();
  };
  const auto shaders = [](const std::string& json) {
    const size_t from = json.find("\"shaders\"");
    return json.substr(from, json.find("\"steps\"") - from);
  };
  EXPECT_EQ(shaders(plan(8, 100)), shaders(plan(30, 700)));
  EXPECT_NE(plan(8, 100), plan(30, 700));
}

TEST(Wgsl, AProductWithBiasAndActivationIsOneDispatch) {
  Built b;
  const ValueRef x = b.Input(DType::kFloat32, {40, 20}), w = b.Input(DType::kFloat32, {33, 20}),
                 bias = b.Input(DType::kFloat32, {33});
  b.graph.AddOutput(b.Do(Op::k_tanh, {b.Do(Op::k_linear, {x, w, bias})}));
  const std::unique_ptr<DevicePlan> plan = std::move(b.Plan().value());
  EXPECT_EQ(plan->dispatches(), 1);
  for (const char* text :
       {"fn finish(e: u32, product: f32) {", "let v0 = product;", "tb_tanh(", "\"groups\":[2,2,1]"})
    EXPECT_NE(plan->json().find(text), std::string::npos) << text << "\n" << plan->json();
}

TEST(Wgsl, WhatHasNoShaderIsAStepOfTheHost) {
  Built b;
  const ValueRef x = b.Input(DType::kFloat32, {4, 6});
  const ValueRef sums = b.Do(Op::k_cumsum, {b.Do(Op::k_exp, {x})}, {int64_t{1}, None{}});
  b.graph.AddOutput(b.Do(Op::k_neg, {sums}));
  const std::unique_ptr<DevicePlan> plan = std::move(b.Plan().value());
  EXPECT_EQ(plan->dispatches(), 2);
  EXPECT_NE(plan->json().find("{\"kind\":\"host\",\"name\":\"cumsum\",\"reads\":["), std::string::npos)
      << plan->json();
  std::shared_ptr<Storage> ones = Storage::Allocate(96);
  for (int i = 0; i < 24; ++i) static_cast<float*>(ones->data())[i] = 1;
  const std::vector<Tensor> results = plan->RunHostStep(b.graph, 1, {ones}).value();
  EXPECT_EQ(results[0].data<float>()[5], 6);
  EXPECT_EQ(plan->RunHostStep(b.graph, 0, {ones}).status().message(), "this step is not the host's");
  EXPECT_EQ(plan->RunHostStep(b.graph, 9, {ones}).status().message(), "no such step");
}

TEST(Wgsl, LimitsOfTheAdapterAreKept) {
  Built many;
  ValueRef sum = many.Input(DType::kFloat32, {5});
  for (int i = 0; i < 12; ++i)
    sum = many.Do(Op::k_add, {sum, many.Input(DType::kFloat32, {5})}, {int64_t{1}});
  many.graph.AddOutput(sum);
  EXPECT_EQ(many.Plan({.storage_buffers = 16}).value()->dispatches(), 1);
  EXPECT_GT(many.Plan({.storage_buffers = 8}).value()->dispatches(), 1);
  EXPECT_EQ(many.Plan({.storage_buffers = 2}).status().message(),
            "a kernel of the graph needs more buffers than the adapter binds");
  EXPECT_EQ(many.Plan({.buffer_bytes = 16}).status().message(),
            "a tensor of the graph is larger than the adapter's largest buffer");
  Built product;
  product.graph.AddOutput(product.Do(
      Op::k_mm, {product.Input(DType::kFloat32, {99, 4}), product.Input(DType::kFloat32, {4, 5})}));
  EXPECT_EQ(product.Plan({.groups = 3}).status().message(),
            "a product of the graph has more tiles than the adapter has workgroups");
  Built random;
  random.graph.AddOutput(random.Do(Op::k_rand, {}, {Sizes{3}, None{}}));
  EXPECT_EQ(random.Plan().status().message(), "random numbers are drawn on the CPU");
}

void WriteFile(const std::string& path, const void* data, size_t size) {
  std::FILE* f = std::fopen(path.c_str(), "wb");
  ASSERT_NE(f, nullptr) << path;
  EXPECT_EQ(std::fwrite(data, 1, size, f), size);
  std::fclose(f);
}

// With THIRDBOOK_GRAPH_DUMP=FOLDER: the graphs and their inputs (dense) as files, which
// tests/web/browser/webgpu_random.test.ts runs on a device.
void DumpGraph(const std::string& folder, uint64_t seed, const GraphCase& c, std::FILE* index) {
  const std::string name = folder + "/" + std::to_string(seed);
  const std::vector<uint8_t> graph = SaveGraph(c.graph).value();
  WriteFile(name + ".graph", graph.data(), graph.size());
  std::fprintf(index, "{\"seed\": %d, \"inputs\": [", static_cast<int>(seed));
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor dense = ToContiguous(c.inputs[i], c.inputs[i].dtype()).value();
    WriteFile(name + "." + std::to_string(i), dense.data(), dense.storage()->bytes());
    std::string shape;
    for (int64_t size : dense.sizes()) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    std::fprintf(index, "%s{\"dtype\": \"%s\", \"shape\": [%s], \"weak\": %s}", i ? ", " : "",
                 std::string(DTypeName(dense.dtype())).c_str(), shape.c_str(),
                 c.graph.node(c.graph.inputs()[i]).metas[0].weak ? "true" : "false");
  }
  std::fprintf(index, "]}\n");
}

TEST(Wgsl, RandomGraphsHavePlans) {
  const char* folder = std::getenv("THIRDBOOK_GRAPH_DUMP");
  std::FILE* index = folder ? std::fopen((std::string(folder) + "/index.jsonl").c_str(), "w") : nullptr;
  ASSERT_EQ(index != nullptr, folder != nullptr);
  int dispatches = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const GraphCase c = MakeRandomGraph(seed, 3 + static_cast<int>(seed % 14));
    std::vector<const TensorMeta*> metas;
    std::vector<int64_t> elements;
    for (const Tensor& t : c.inputs) {
      metas.push_back(&t.meta());
      elements.push_back(static_cast<int64_t>(t.storage()->bytes()) / ItemSize(t.dtype()));
    }
    const Result<std::unique_ptr<DevicePlan>> plan = DevicePlan::Make(c.graph, metas, elements, {});
    ASSERT_TRUE(plan.ok()) << seed << " " << plan.status().message();
    dispatches += (*plan)->dispatches();
    if (index) DumpGraph(folder, seed, c, index);
  }
  if (index) std::fclose(index);
  EXPECT_GT(dispatches, 400);
}

}  // namespace
}  // namespace thirdbook
