// Passes, shown by the graph they leave.
#include <limits>

#include "build.h"
#include "graph/passes.h"

namespace thirdbook {
namespace {

std::string After(Build* b, int (*pass)(Graph*)) {
  pass(&b->graph);
  DropDead(&b->graph);
  Status s = Verify(b->graph);
  EXPECT_TRUE(s.ok()) << s.message();
  return Print(b->graph);
}

TEST(DropDead, KeepsInputsAndRandomOps) {
  Build b;
  ValueRef x = b.Input("x", DType::kFloat32, {2});
  b.Input("unused", DType::kFloat32, {2});
  b.Do(Op::k_exp, {x});
  b.Do(Op::k_rand, {}, {Sizes{3}});
  b.Out(b.Do(Op::k_sin, {x}));
  EXPECT_EQ(DropDead(&b.graph), 1);
  EXPECT_EQ(Print(b.graph),
            "%0 = input x f32[2]\n"
            "%1 = input unused f32[2]\n"
            "%2 = rand(size=[3]) f32[3]\n"
            "%3 = sin(%0) f32[2]\n"
            "return %3\n");
  EXPECT_EQ(b.graph.inputs().size(), 2u);
}

TEST(MergeCommon, MergesEqualWorkButNeverRandomDraws) {
  Build b;
  ValueRef x = b.Input("x", DType::kFloat32, {2});
  ValueRef a = b.Do(Op::k_mul, {x, b.Number(2.0)}), c = b.Do(Op::k_mul, {x, b.Number(2.0)});
  ValueRef d = b.Do(Op::k_mul, {x, b.Number(-0.0)}), e = b.Do(Op::k_mul, {x, b.Number(0.0)});  // not equal
  ValueRef r = b.Do(Op::k_rand, {}, {Sizes{2}}), s = b.Do(Op::k_rand, {}, {Sizes{2}});
  for (ValueRef v : {b.Do(Op::k_add, {a, c}), b.Do(Op::k_add, {d, e}), b.Do(Op::k_add, {r, s})}) b.Out(v);
  EXPECT_EQ(After(&b, MergeCommon),
            "%0 = input x f32[2]\n"
            "%1 = constant 2.0 (weak float64)\n"
            "%2 = mul(%0, %1) f32[2]\n"
            "%3 = constant -0.0 (weak float64)\n"
            "%4 = mul(%0, %3) f32[2]\n"
            "%5 = constant 0.0 (weak float64)\n"
            "%6 = mul(%0, %5) f32[2]\n"
            "%7 = rand(size=[2]) f32[2]\n"
            "%8 = rand(size=[2]) f32[2]\n"
            "%9 = add(%2, %2) f32[2]\n"
            "%10 = add(%4, %6) f32[2]\n"
            "%11 = add(%7, %8) f32[2]\n"
            "return %9, %10, %11\n");
}

TEST(FoldConstants, ComputesSmallOnesAndLeavesErrorsToTheRun) {
  Build b;
  ValueRef x = b.Input("x", DType::kInt64, {2});
  ValueRef six = b.Do(Op::k_mul, {b.Number(int64_t{2}), b.Number(int64_t{3})});
  ValueRef fails = b.Do(Op::k_floor_divide, {b.Number(int64_t{1}), b.Number(int64_t{0})});
  b.Out(b.Do(Op::k_add, {x, six}));
  b.Out(b.Do(Op::k_add, {x, fails}));
  EXPECT_EQ(After(&b, FoldConstants),
            "%0 = input x i64[2]\n"
            "%1 = constant 6 (weak int64)\n"
            "%2 = constant 1 (weak int64)\n"
            "%3 = constant 0 (weak int64)\n"
            "%4 = floor_divide(%2, %3) i64[] weak\n"
            "%5 = add(%0, %1) i64[2]\n"
            "%6 = add(%0, %4) i64[2]\n"
            "return %5, %6\n");
}

TEST(SimplifyAlgebra, OnlyWhereTheBitsStay) {
  Build b;
  ValueRef x = b.Input("x", DType::kFloat32, {2}), i = b.Input("i", DType::kInt64, {2}),
           u = b.Input("u", DType::kUInt8, {2});
  ValueRef one = b.Number(int64_t{1}), zero = b.Number(int64_t{0}), minus_zero = b.Number(-0.0);
  b.Out(b.Do(Op::k_mul, {b.Do(Op::k_div, {x, one}), one}));
  b.Out(b.Do(Op::k_add, {x, zero}));  // stays: -0.0 + 0 is 0
  b.Out(b.Do(Op::k_add, {x, minus_zero}));
  b.Out(b.Do(Op::k_sub, {x, zero}));
  b.Out(b.Do(Op::k_add, {i, zero}));
  b.Out(b.Do(Op::k_div, {i, one}));   // stays: gives floats
  b.Out(b.Do(Op::k_mul, {x, zero}));  // stays: NaN * 0
  b.Out(b.Do(Op::k_neg, {b.Do(Op::k_neg, {x})}));
  b.Out(b.Do(Op::k_abs, {b.Do(Op::k_neg, {x})}));
  b.Out(b.Do(Op::k_abs, {b.Do(Op::k_neg, {u})}));                  // stays: -5 is 251
  b.Out(b.Do(Op::k_logical_not, {b.Do(Op::k_logical_not, {x})}));  // stays: gives bools
  EXPECT_EQ(After(&b, SimplifyAlgebra),
            "%0 = input x f32[2]\n"
            "%1 = input i i64[2]\n"
            "%2 = input u u8[2]\n"
            "%3 = constant 1 (weak int64)\n"
            "%4 = constant 0 (weak int64)\n"
            "%5 = add(%0, %4) f32[2]\n"
            "%6 = div(%1, %3) f32[2]\n"
            "%7 = mul(%0, %4) f32[2]\n"
            "%8 = abs(%0) f32[2]\n"
            "%9 = neg(%2) u8[2]\n"
            "%10 = abs(%9) u8[2]\n"
            "%11 = logical_not(%0) bool[2]\n"
            "%12 = logical_not(%11) bool[2]\n"
            "return %0, %5, %0, %0, %1, %6, %7, %0, %8, %10, %12\n");
}

TEST(DropNoOps, SkipsCopiesAndViewsThatChangeNothing) {
  Build b;
  ValueRef x = b.Input("x", DType::kFloat32, {2, 3});
  ValueRef y = b.Do(Op::k_exp, {x});
  b.Out(b.Do(Op::k_clone, {b.Do(Op::k_to,
                                {
                                    b.Do(Op::k_contiguous, {y}),
                                },
                                {DType::kFloat32})}));
  b.Out(b.Do(Op::k_as_strided, {y}, {Sizes{2, 3}, Sizes{3, 1}, int64_t{0}}));
  b.Out(b.Do(Op::k_to, {y}, {DType::kFloat64}));
  b.Out(b.Do(Op::k_contiguous, {b.Do(Op::k_t, {y})}));
  b.Out(b.Do(Op::k_view, {b.Do(Op::k_reshape, {y}, {Sizes{6}})}, {Sizes{3, -1}}));
  EXPECT_EQ(After(&b, DropNoOps),
            "%0 = input x f32[2, 3]\n"
            "%1 = exp(%0) f32[2, 3]\n"
            "%2 = to(%1, dtype=float64) f64[2, 3]\n"
            "%3 = t(%1) f32[3, 2] strides [1, 3]\n"
            "%4 = contiguous(%3) f32[3, 2]\n"
            "%5 = view(%1, size=[3, 2]) f32[3, 2]\n"
            "return %1, %1, %2, %4, %5\n");
}

TEST(Optimise, ReachesAFixedPointAndTellsEachStep) {
  Build b;
  ValueRef x = b.Input("x", DType::kFloat32, {3});
  ValueRef one = b.Do(Op::k_sub, {b.Number(int64_t{3}), b.Number(int64_t{2})});
  ValueRef y = b.Do(Op::k_mul, {b.Do(Op::k_clone, {x}), one});
  b.Out(b.Do(Op::k_add, {b.Do(Op::k_exp, {y}), b.Do(Op::k_exp, {x})}));
  Tensor in = FloatTensor({3}, {0.5f, -1, std::numeric_limits<float>::quiet_NaN()});
  std::vector<float> before = FloatValues(RunReference(b.graph, {in}).value()[0]);
  std::vector<PassTrace> trace;
  Optimise(&b.graph, &trace);
  EXPECT_EQ(Print(b.graph),
            "%0 = input x f32[3]\n"
            "%1 = exp(%0) f32[3]\n"
            "%2 = add(%1, %1) f32[3]\n"
            "return %2\n");
  std::string steps;
  for (const PassTrace& t : trace) steps += std::string(t.name) + " ";
  EXPECT_EQ(steps, "fold-constants simplify-algebra drop-no-ops merge-common drop-dead ");
  std::vector<float> after = FloatValues(RunReference(b.graph, {in}).value()[0]);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(before[i], after[i]);
}

}  // namespace
}  // namespace thirdbook
