// What a graph is said to compute.
#include "graph/work.h"

#include "build.h"

namespace thirdbook {
namespace {

TEST(Work, CountsProductsElementsAndBytes) {
  Build b;
  ValueRef x = b.Input("x", DType::kFloat32, {4, 3});
  ValueRef w = b.Input("w", DType::kFloat32, {3, 2});
  ValueRef y = b.Do(Op::k_mm, {x, w});
  b.Out(b.Do(Op::k_sum, {b.Do(Op::k_add, {y, b.Number(1.0)})}));
  const GraphWork work = WorkOf(b.graph);
  EXPECT_EQ(work.products, 4 * 2 * 3);
  EXPECT_EQ(work.elements, 8 + 8);
  EXPECT_EQ(work.bytes, 4 * (12 + 6 + 1));
}

TEST(Work, WhatHasAShaderCountsWhatItReadsOrWrites) {
  Build b;
  ValueRef scores = b.Do(Op::k_softmax, {b.Input("x", DType::kFloat32, {4, 3})}, {int64_t{1}, None{}});
  b.Out(b.Do(Op::k_embedding, {scores, b.Input("i", DType::kInt64, {6})}, {int64_t{-1}}));
  EXPECT_EQ(WorkOf(b.graph).elements, 12 + 18);
}

TEST(Work, IsNothingWhereTheGpuHasNoShader) {
  Build doubles;
  doubles.Out(doubles.Do(Op::k_exp, {doubles.Input("x", DType::kFloat64, {9})}));
  EXPECT_EQ(WorkOf(doubles.graph).elements, 0);
  Build sorted;
  sorted.Out(sorted.Do(Op::k_sort, {sorted.Input("x", DType::kFloat32, {9})}));
  EXPECT_EQ(WorkOf(sorted.graph).elements, 0);
}

}  // namespace
}  // namespace thirdbook
