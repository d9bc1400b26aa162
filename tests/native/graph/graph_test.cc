// Building, printing, verifying and running graphs.
#include "build.h"

namespace thirdbook {
namespace {

TEST(Print, IsDeterministicAndShowsOnlyWhatIsNotDefault) {
  Build b;
  ValueRef x = b.Input("L['x']", DType::kFloat32, {4, 3});
  ValueRef n = b.graph.AddInput("L['n']", Tensor::WeakInt(0).meta());
  ValueRef two = b.Number(int64_t{2});
  ValueRef y = b.Do(Op::k_add, {b.Do(Op::k_mul, {x, two}), n}, {2.5});
  ValueRef m = b.Do(Op::k_max_dim, {b.Do(Op::k_t, {y})}, {int64_t{1}});
  ValueRef c = b.Do(Op::k_cat, {y, x}, {int64_t{1}});
  ValueRef l = b.Do(Op::k_layer_norm,
                    {x, ValueRef{}, b.graph.AddConstant(FloatTensor({3}, {0.5f, 1, -2}), false)}, {Sizes{3}});
  b.Out({m.node, 1});
  b.Out(c);
  b.Out(l);
  EXPECT_EQ(Print(b.graph),
            "%0 = input L['x'] f32[4, 3]\n"
            "%1 = input L['n'] (weak int64)\n"
            "%2 = constant 2 (weak int64)\n"
            "%3 = mul(%0, %2) f32[4, 3]\n"
            "%4 = add(%3, %1, alpha=2.5) f32[4, 3]\n"
            "%5 = t(%4) f32[3, 4] strides [1, 3]\n"
            "%6:2 = max_dim(%5, dim=1) f32[3], i64[3]\n"
            "%7 = cat([%4, %0], dim=1) f32[4, 6]\n"
            "%8 = constant [0.5, 1.0, -2.0] f32[3]\n"
            "%9 = layer_norm(%0, normalized_shape=[3], bias=%8) f32[4, 3]\n"
            "return %6.1, %7, %9\n");
  EXPECT_TRUE(Verify(b.graph).ok());
}

TEST(AddNode, GivesTheErrorThatEagerWouldRaise) {
  Build b;
  ValueRef x = b.Input("x", DType::kFloat32, {2, 3});
  Result<ValueRef> r = b.graph.AddNode(Op::k_mm, {x, x}, {});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.status().message(), "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
  EXPECT_EQ(b.graph.nodes().size(), 1u);
}

TEST(Verify, FindsWhatIsBroken) {
  auto make = [] {
    Build b;
    ValueRef x = b.Input("x", DType::kFloat32, {2});
    b.Out(b.Do(Op::k_exp, {x}));
    return b.graph;
  };
  Graph wrong_meta = make();
  wrong_meta.mutable_nodes()[1].metas[0].dtype = DType::kInt64;
  EXPECT_EQ(Verify(wrong_meta).message(), "graph: %1: metadata differs from what Infer says");
  Graph later_operand = make();
  later_operand.mutable_nodes()[1].operands[0].node.value = 1;
  EXPECT_EQ(Verify(later_operand).message(), "graph: %1: an operand that is not computed before");
  Graph no_output = make();
  no_output.set_outputs({{NodeId{7}, 0}});
  EXPECT_EQ(Verify(no_output).message(), "graph: an output that does not exist");
}

TEST(RunReference, ComputesAndKeepsInputsUntouched) {
  Build b;
  ValueRef x = b.Input("x", DType::kFloat32, {2, 2}), n = b.graph.AddInput("n", Tensor::WeakInt(0).meta());
  ValueRef y = b.Do(Op::k_mul, {x, n});
  b.Out(b.Do(Op::k_select_scatter, {y, b.Number(0.5)}, {int64_t{0}, int64_t{1}}));
  b.Out(b.Do(Op::k_sum, {y}));
  Tensor in = FloatTensor({2, 2}, {1, 2, 3, 4});
  Result<std::vector<Tensor>> r = RunReference(b.graph, {in, Tensor::WeakInt(10)});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(FloatValues((*r)[0]), (std::vector<float>{10, 20, 0.5, 0.5}));
  EXPECT_EQ(FloatValues((*r)[1]), (std::vector<float>{100}));
  EXPECT_EQ(FloatValues(in), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(RunReference(b.graph, {in}).status().kind(), ErrorKind::kType);
}

TEST(RunReference, EveryOutputHasAStorageOfItsOwn) {
  Build b;
  ValueRef x = b.Input("x", DType::kFloat32, {2, 2});
  ValueRef y = b.Do(Op::k_exp, {x});
  for (ValueRef v :
       {x, b.Do(Op::k_t, {x}), y, y, b.Do(Op::k_t, {y}), b.graph.AddConstant(FloatTensor({1}, {1}), false)})
    b.Out(v);
  Tensor in = FloatTensor({2, 2}, {0, 1, 2, 3});
  std::vector<Tensor> out = RunReference(b.graph, {in}).value();
  for (size_t i = 0; i < out.size(); ++i) {
    EXPECT_NE(out[i].storage(), in.storage());
    for (size_t j = 0; j < i; ++j) EXPECT_NE(out[i].storage(), out[j].storage()) << i << " and " << j;
    EXPECT_EQ(out[i].meta().strides, b.graph.meta(b.graph.outputs()[i]).strides);
  }
  EXPECT_EQ(FloatValues(out[1]), (std::vector<float>{0, 2, 1, 3}));
}

TEST(RunReference, OtherSizesThanTraced) {
  Build b;
  ValueRef x = b.Input("x", DType::kFloat32, {2, 2});
  b.Out(b.Do(Op::k_softmax, {x}, {int64_t{-1}}));
  EXPECT_EQ(RunReference(b.graph, {FloatTensor({1, 5}, {0, 0, 0, 0, 0})}).value()[0].sizes(), (Sizes{1, 5}));
}

TEST(RunReference, AnAllocationThatFailsIsAnErrorAtEveryPoint) {
  Build b;
  ValueRef x = b.Input("x", DType::kFloat32, {2, 2});
  b.Out(b.Do(Op::k_matmul, {b.Do(Op::k_exp, {x}), b.Do(Op::k_relu, {x})}));
  b.Out(x);
  Tensor in = FloatTensor({2, 2}, {0, 1, 2, 3});
  bool done = false;
  int failures = 0;
  for (int countdown = 0; !done; ++countdown) {
    SetAllocationFault(countdown);
    Result<std::vector<Tensor>> r = RunReference(b.graph, {in});
    SetAllocationFault(-1);
    done = r.ok();
    if (done) break;
    EXPECT_EQ(r.status().kind(), ErrorKind::kMemory);
    ++failures;
  }
  EXPECT_EQ(failures, 4);  // exp, relu, matmul, the copy of x
}

}  // namespace
}  // namespace thirdbook
