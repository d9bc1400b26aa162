// What is fused with what, read from the printed plan; new sizes; faults; the forms that reports show.
#include "kernel/executable.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernel/engine.h"
#include "kernel/fuse.h"
#include "random_graph.h"

namespace thirdbook {
namespace {

TensorMeta F32(Sizes sizes) { return ContiguousMeta(DType::kFloat32, std::move(sizes)); }
ValueRef Add(Graph& g, Op op, std::vector<ValueRef> operands, Attrs attrs = {}) {
  Result<ValueRef> v = g.AddNode(op, std::move(operands), std::move(attrs));
  EXPECT_TRUE(v.ok()) << v.status().message();
  return *v;
}
Attr Int(int64_t i) { return Attr(i); }

std::unique_ptr<Executable> Compile(const Graph& g) {
  Result<std::unique_ptr<Executable>> e = CompileGraph(g, Backend::kWasm);
  EXPECT_TRUE(e.ok()) << e.status().message();
  return std::move(*e);
}
void ExpectReference(const Graph& g, Executable& e, const std::vector<Tensor>& inputs) {
  const Result<std::vector<Tensor>> want = RunReference(g, inputs), got = e.Run(inputs);
  ASSERT_TRUE(want.ok()) << want.status().message();
  ASSERT_TRUE(got.ok()) << got.status().message();
  for (size_t i = 0; i < want->size(); ++i) EXPECT_EQ(Compare((*got)[i], (*want)[i], 1e-5), "");
}

// tanh(x * a + b) * x + relu(x - c)
Graph Chain(Sizes sizes) {
  Graph g;
  const ValueRef x = g.AddInput("x", F32(std::move(sizes)));
  TensorMeta number = ContiguousMeta(DType::kFloat64, {});
  number.weak = true;
  const ValueRef a = g.AddInput("a", number), b = g.AddInput("b", number), c = g.AddInput("c", number);
  const ValueRef t = Add(g, Op::k_tanh, {Add(g, Op::k_add, {Add(g, Op::k_mul, {x, a}), b})});
  const ValueRef r = Add(g, Op::k_relu, {Add(g, Op::k_sub, {x, c})});
  g.AddOutput(Add(g, Op::k_add, {Add(g, Op::k_mul, {t, x}), r}));
  return g;
}
std::vector<Tensor> ChainInputs(Random& random, Sizes sizes) {
  return {RandomTensor(random, DType::kFloat32, sizes), Tensor::WeakFloat(1.1), Tensor::WeakFloat(0.3),
          Tensor::WeakFloat(0.2)};
}

TEST(Plan, AChainIsOneKernel) {
  const Graph g = Chain({1000});
  auto e = Compile(g);
  EXPECT_EQ(
      e->PlanText(),
      "plan: arena 0 bytes\n"
      "  kernel mul_add_tanh_sub_and_3 input0 input1 input2 input3 -> fresh4   # %4 %5 %6 %7 %8 %9 %10\n"
      "  return fresh4\n");
  ASSERT_EQ(e->Kernels().size(), 1u);
  EXPECT_EQ(e->Kernels()[0].loops,
            "kernel mul_add_tanh_sub_and_3: 0 outer, 1 inner, lanes along inner\n"
            "  b0 in float32 [1]\n"
            "  b1 in float64 [.]\n"
            "  b2 in float64 [.]\n"
            "  b3 in float64 [.]\n"
            "  b4 out float32 [1]\n"
            "  each element:\n"
            "    v0 = load b0 f32\n"
            "    v1 = load b1 f32\n"
            "    v2 = mul v0, v1 f32\n"
            "    v3 = load b2 f32\n"
            "    v4 = add v2, v3 f32\n"
            "    v5 = tanh v4 f32\n"
            "    v6 = mul v5, v0 f32\n"
            "    v7 = load b3 f32\n"
            "    v8 = sub v0, v7 f32\n"
            "    v9 = constant 0 f32\n"
            "    v10 = pmax v8, v9 f32\n"
            "    v11 = add v6, v10 f32\n"
            "    b4 <- v11\n");
  Random random(1);
  ExpectReference(g, *e, ChainInputs(random, {1000}));
}

TEST(Plan, NewSizesReuseKernels) {
  const Graph g = Chain({1000});
  auto e = Compile(g);
  const int kernels = CompiledKernelCount();
  Random random(2);
  for (int64_t n : {1, 7, 8, 64, 1001, 4096}) {
    std::vector<Tensor> inputs = ChainInputs(random, {n});
    inputs[0] = *Tensor::Empty(DType::kFloat32, {n});
    for (int64_t i = 0; i < n; ++i) inputs[0].data<float>()[i] = static_cast<float>(i % 13) - 6;
    ExpectReference(g, *e, inputs);
  }
  EXPECT_LE(CompiledKernelCount(), kernels + 1);  // one more for a size of 1, where nothing varies
}

TEST(Plan, SoftmaxTakesItsProducersAndConsumers) {
  Graph g;
  const ValueRef x = g.AddInput("x", F32({8, 40}));
  const ValueRef mask = g.AddInput("mask", F32({8, 40}));
  const ValueRef scaled =
      Add(g, Op::k_add, {Add(g, Op::k_mul, {x, g.AddConstant(Tensor::WeakFloat(0.125), true)}), mask});
  const ValueRef s = Add(g, Op::k_softmax,
                         {
                             scaled,
                         },
                         {Int(-1)});
  g.AddOutput(Add(g, Op::k_mul, {s, x}));
  auto e = Compile(g);
  EXPECT_EQ(e->PlanText().substr(e->PlanText().find("  kernel")),
            "  kernel mul_add_softmax_mul input0 input1 -> fresh2   # %3 %4 %5 %6\n"
            "  return fresh2\n");
  Random random(3);
  ExpectReference(
      g, *e,
      {RandomTensor(random, DType::kFloat32, {8, 40}), RandomTensor(random, DType::kFloat32, {8, 40})});
}

TEST(Plan, AReductionAndItsBroadcastAreOneKernel) {
  Graph g;  // (x - mean) / std over the columns, both kept
  const ValueRef x = g.AddInput("x", F32({16, 33}));
  const ValueRef mean = Add(g, Op::k_mean, {x}, {Attr(Sizes{-1}), Attr(true)});
  const ValueRef d = Add(g, Op::k_sub, {x, mean});
  const ValueRef v = Add(g, Op::k_mean, {Add(g, Op::k_mul, {d, d})}, {Attr(Sizes{-1}), Attr(true)});
  g.AddOutput(Add(g, Op::k_div, {d, Add(g, Op::k_sqrt, {v})}));
  g.AddOutput(mean);
  auto e = Compile(g);
  EXPECT_EQ(e->Kernels().size(), 1u) << e->PlanText();
  Random random(4);
  ExpectReference(g, *e, {RandomTensor(random, DType::kFloat32, {16, 33})});
}

TEST(Plan, ColumnsAreSummedAlongTheOuterLanes) {
  Graph g;
  const ValueRef x = g.AddInput("x", F32({40, 33}));
  g.AddOutput(Add(g, Op::k_sum, {Add(g, Op::k_mul, {x, x})}, {Attr(Sizes{0})}));
  auto e = Compile(g);
  ASSERT_EQ(e->Kernels().size(), 1u);
  EXPECT_NE(e->Kernels()[0].loops.find("lanes along outer"), std::string::npos) << e->Kernels()[0].loops;
  Random random(5);
  ExpectReference(g, *e, {RandomTensor(random, DType::kFloat32, {40, 33})});
}

TEST(Plan, LinearLayersTakeBiasAndActivationAsEpilogues) {
  Graph g;
  const ValueRef x = g.AddInput("x", F32({64, 50}));
  const ValueRef w1 = g.AddInput("w1", F32({32, 50})), b1 = g.AddInput("b1", F32({32}));
  const ValueRef w2 = g.AddInput("w2", F32({10, 32})), b2 = g.AddInput("b2", F32({10}));
  const ValueRef h = Add(g, Op::k_relu, {Add(g, Op::k_linear, {x, w1, b1})});
  g.AddOutput(Add(g, Op::k_softmax, {Add(g, Op::k_linear, {h, w2, b2})}, {Int(-1)}));
  auto e = Compile(g);
  const std::string plan = e->PlanText();
  EXPECT_NE(plan.find("product 64 x 32 x 50 input0 input1 -> arena"), std::string::npos) << plan;
  EXPECT_NE(plan.find(", then linear_relu"), std::string::npos) << plan;
  EXPECT_NE(plan.find(", then linear_softmax"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("library"), std::string::npos) << plan;
  Random random(6);
  std::vector<Tensor> inputs;
  for (NodeId id : g.inputs())
    inputs.push_back(RandomTensor(random, DType::kFloat32, g.node(id).metas[0].sizes));
  ExpectReference(g, *e, inputs);
}

TEST(Plan, AttentionFusesSoftmaxIntoTheScores) {
  Graph g;
  const Sizes heads{4, 24, 16};
  const ValueRef q = g.AddInput("q", F32(heads)), k = g.AddInput("k", F32(heads)),
                 v = g.AddInput("v", F32(heads));
  const ValueRef scores = Add(g, Op::k_matmul, {q, Add(g, Op::k_transpose, {k}, {Int(-2), Int(-1)})});
  const ValueRef p =
      Add(g, Op::k_softmax, {Add(g, Op::k_mul, {scores, g.AddConstant(Tensor::WeakFloat(0.25), true)})},
          {Int(-1)});
  g.AddOutput(Add(g, Op::k_matmul, {p, v}));
  auto e = Compile(g);
  EXPECT_NE(e->PlanText().find("then matmul_mul_softmax"), std::string::npos) << e->PlanText();
  Random random(8);
  ExpectReference(g, *e,
                  {RandomTensor(random, DType::kFloat32, heads), RandomTensor(random, DType::kFloat32, heads),
                   RandomTensor(random, DType::kFloat32, heads)});
}

TEST(Plan, ConvolutionTakesBiasAndReluInOneStep) {
  for (int64_t groups : {1, 2}) {
    Graph g;
    const ValueRef x = g.AddInput("x", F32({2, 4, 13, 11}));
    const ValueRef w = g.AddInput("w", F32({6, 4 / groups, 3, 3})), b = g.AddInput("b", F32({6}));
    const ValueRef y = Add(g, Op::k_conv2d, {x, w, b},
                           {Attr(Sizes{1, 2}), Attr(Sizes{1, 1}), Attr(Sizes{1, 1}), Int(groups)});
    g.AddOutput(Add(g, Op::k_relu, {y}));
    auto e = Compile(g);
    EXPECT_NE(e->PlanText().find("then conv2d_relu"), std::string::npos) << e->PlanText();
    Random random(9);
    std::vector<Tensor> inputs;
    for (NodeId id : g.inputs()) {
      Tensor t = *Tensor::Empty(DType::kFloat32, g.node(id).metas[0].sizes);
      for (int64_t i = 0; i < t.meta().numel(); ++i)
        t.data<float>()[i] = static_cast<float>(random.Uniform(-1, 1));
      inputs.push_back(t);
    }
    ExpectReference(g, *e, inputs);
  }
}

TEST(Plan, UsesBetweenTwoUnitsDoNotMakeACycle) {
  Graph g;  // y needs sum(x + 1), which needs x + 1 complete
  const ValueRef x = g.AddInput("x", F32({6, 5}));
  const ValueRef a = Add(g, Op::k_add, {x, g.AddConstant(Tensor::WeakInt(1), true)});
  const ValueRef s = Add(g, Op::k_cumsum, {a}, {Int(0)});
  g.AddOutput(Add(g, Op::k_mul, {a, s}));
  auto e = Compile(g);
  Random random(10);
  ExpectReference(g, *e, {RandomTensor(random, DType::kFloat32, {6, 5})});
}

TEST(Run, OutputsNeverShareStorage) {
  Graph g;
  const ValueRef x = g.AddInput("x", F32({4, 3}));
  const ValueRef y = Add(g, Op::k_exp, {x});
  g.AddOutput(x);
  g.AddOutput(y);
  g.AddOutput(Add(g, Op::k_t, {y}));
  g.AddOutput(y);
  auto e = Compile(g);
  Random random(11);
  const std::vector<Tensor> inputs{RandomTensor(random, DType::kFloat32, {4, 3})};
  ExpectReference(g, *e, inputs);
  const std::vector<Tensor> outputs = *e->Run(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_NE(outputs[i].storage(), inputs[0].storage());
    for (size_t j = 0; j < i; ++j) EXPECT_NE(outputs[i].storage(), outputs[j].storage());
  }
}

TEST(Run, AnInputMayStartAnywhereInItsStorage) {
  const Graph g = Chain({16});
  auto e = Compile(g);
  Random random(12);
  Tensor all = *Tensor::Empty(DType::kFloat32, {64});
  for (int64_t i = 0; i < 64; ++i) all.data<float>()[i] = static_cast<float>(random.Uniform(-2, 2));
  for (int64_t offset : {0, 5, 48}) {
    TensorMeta meta = F32({16});
    meta.offset = offset;
    ExpectReference(g, *e,
                    {all.WithMeta(meta), Tensor::WeakFloat(1), Tensor::WeakFloat(2), Tensor::WeakFloat(3)});
  }
}

TEST(Run, EveryDispatchAndAllocationMayFail) {
  Graph g;
  const ValueRef x = g.AddInput("x", F32({8, 8}));
  const ValueRef y = Add(g, Op::k_cumsum, {Add(g, Op::k_exp, {x})}, {Int(0)});
  g.AddOutput(Add(g, Op::k_matmul, {Add(g, Op::k_tanh, {y}), x}));
  auto e = Compile(g);
  Random random(13);
  const std::vector<Tensor> inputs{RandomTensor(random, DType::kFloat32, {8, 8})};
  SetDispatchFault(-1);
  ASSERT_TRUE(e->Run(inputs).ok());
  const int steps = SetDispatchFault(-1);
  EXPECT_GE(steps, 3);
  for (int n = 0; n < steps; ++n) {
    SetDispatchFault(n);
    EXPECT_FALSE(e->Run(inputs).ok());
    EXPECT_TRUE(e->Run(inputs).ok());
  }
  SetDispatchFault(-1);
  int failures = 0;
  for (int n = 0; n < 30; ++n) {
    SetAllocationFault(n);
    failures += !e->Run(inputs).ok();
    SetAllocationFault(-1);
    ASSERT_TRUE(e->Run(inputs).ok());
  }
  EXPECT_GE(failures, 2);
}

TEST(Run, PeakMemoryIsThatOfTheArena) {
  Graph g;  // a long chain of cumulative sums and maps: only a few blocks live at once
  ValueRef x = g.AddInput("x", F32({1000}));
  for (int i = 0; i < 10; ++i) x = Add(g, Op::k_tanh, {Add(g, Op::k_flip, {x}, {Attr(Sizes{0})})});
  g.AddOutput(x);
  auto e = Compile(g);
  EXPECT_LE(e->PeakBytes(), 2 * 4032);
}

TEST(Run, SumsOfManyElementsStayExact) {
  Graph g;
  const ValueRef x = g.AddInput("x", F32({3000000}));
  g.AddOutput(Add(g, Op::k_sum, {x}));
  auto e = Compile(g);
  Tensor t = *Tensor::Empty(DType::kFloat32, {3000000});
  for (int64_t i = 0; i < 3000000; ++i) t.data<float>()[i] = 0.1f;
  EXPECT_NEAR(static_cast<double>(*(*e->Run({t}))[0].data<float>()), 300000.0, 3.0);
}

}  // namespace
}  // namespace thirdbook
