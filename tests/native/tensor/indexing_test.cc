// Reading and writing by index tensors.
#include "make.h"

namespace thirdbook {
namespace {

using Longs = std::vector<int64_t>;

Tensor Count(Sizes sizes) {
  int64_t n = ContiguousMeta(DType::kInt64, sizes).numel();
  return Eager(Op::k_reshape, {Eager(Op::k_arange, {}, {int64_t{0}, n})}, {sizes});
}

TEST(Index, PairsBroadcastAndCountFromTheEnd) {
  Tensor x = Count({3, 4});
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_index, {x, Vector<int64_t>({0, -1}), Vector<int64_t>({1, 2})})),
            (Longs{1, 10}));
  Tensor grid = Eager(Op::k_index, {x, Make<int64_t>({2, 1}, {0, 2}), Vector<int32_t>({3, 0, 1})});
  EXPECT_EQ(grid.sizes(), (Sizes{2, 3}));
  EXPECT_EQ(Values<int64_t>(grid), (Longs{3, 0, 1, 11, 8, 9}));
}

TEST(Index, PlaceOfTheIndexedDimensions) {
  Tensor x = Count({2, 3, 4}), i = Vector<int64_t>({1, 0, 1, 0, 1});
  EXPECT_EQ(Eager(Op::k_index, {x, Tensor(), i}).sizes(), (Sizes{2, 5, 4}));
  EXPECT_EQ(Eager(Op::k_index, {x, i, Tensor(), i}).sizes(), (Sizes{5, 3}));  // something between: in front
  EXPECT_EQ(Eager(Op::k_index, {x, Tensor(), i, i}).sizes(), (Sizes{2, 5}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_index, {x, Vector<int64_t>({1}), Tensor(), Vector<int64_t>({2})})),
            (Longs{14, 18, 22}));
}

TEST(Index, Masks) {
  Tensor x = Count({2, 3});
  EXPECT_EQ(
      Values<int64_t>(Eager(Op::k_index, {x, Make<bool>({2, 3}, {true, false, true, false, false, true})})),
      (Longs{0, 2, 5}));
  Tensor columns = Eager(Op::k_index, {x, Tensor(), Vector<bool>({false, true, true})});
  EXPECT_EQ(columns.sizes(), (Sizes{2, 2}));
  EXPECT_EQ(Values<int64_t>(columns), (Longs{1, 2, 4, 5}));
  EXPECT_EQ(ErrorOf(Op::k_index, {x, Vector<bool>({true})}, {}, ErrorKind::kIndex),
            "The shape of the mask [1] at index 0 does not match the shape of the indexed tensor [2, 3] at "
            "index 0");
}

TEST(Index, OutOfBounds) {
  EXPECT_EQ(ErrorOf(Op::k_index, {Count({2, 3}), Vector<int64_t>({0, 5})}, {}, ErrorKind::kIndex),
            "index 5 is out of bounds for dimension 0 with size 2");
  EXPECT_EQ(ErrorOf(Op::k_index, {Count({2}), Vector<float>({0})}, {}, ErrorKind::kIndex),
            "tensors used as indices must be long, int, byte or bool tensors");
}

TEST(IndexPut, WritesAndAccumulatesIntoACopy) {
  Tensor x = Count({4}), i = Vector<int64_t>({1, 1, -1});
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_index_put, {x, i, Tensor::WeakInt(9)})), (Longs{0, 9, 2, 9}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_index_put, {x, i, Vector<int64_t>({10, 20, 30})}, {true})),
            (Longs{0, 31, 2, 33}));
  Tensor mask = Vector<bool>({true, false, false, true});
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_index_put, {x, mask, Vector<int64_t>({7, 8})})), (Longs{7, 1, 2, 8}));
  EXPECT_EQ(ErrorOf(Op::k_index_put, {x, mask, Vector<int64_t>({7, 8, 9})}, {}, ErrorKind::kRuntime),
            "shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape [2]");
  EXPECT_EQ(Values<int64_t>(x), (Longs{0, 1, 2, 3}));
}

TEST(AlongOneDim, GatherScatterSelect) {
  Tensor x = Count({2, 3}), i = Make<int64_t>({2, 2}, {2, 0, 1, 1});
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_gather, {x, i}, {int64_t{1}})), (Longs{2, 0, 4, 4}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_scatter, {x, i, Tensor::WeakInt(9)}, {int64_t{1}})),
            (Longs{9, 1, 9, 3, 9, 5}));
  EXPECT_EQ(Values<int64_t>(
                Eager(Op::k_scatter_add, {x, i, Make<int64_t>({2, 2}, {10, 20, 30, 40})}, {int64_t{1}})),
            (Longs{20, 1, 12, 3, 74, 5}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_index_select, {x, Vector<int64_t>({2, 2})}, {int64_t{1}})),
            (Longs{2, 2, 5, 5}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_index_add, {x, Vector<int64_t>({1, 1}), x}, {int64_t{0}})),
            (Longs{0, 1, 2, 6, 9, 12}));
  EXPECT_EQ(ErrorOf(Op::k_gather, {x, Make<int64_t>({1, 1}, {5})}, {int64_t{1}}, ErrorKind::kRuntime),
            "index 5 is out of bounds for dimension 1 with size 3");
}

TEST(AlongOneDim, EmbeddingAndOneHot) {
  Tensor table = Make<float>({3, 2}, {0, 1, 10, 11, 20, 21});
  EXPECT_EQ(Values<float>(Eager(Op::k_embedding, {table, Vector<int64_t>({2, 0})})),
            (std::vector<float>{20, 21, 0, 1}));
  EXPECT_EQ(ErrorOf(Op::k_embedding, {table, Vector<int64_t>({3})}, {}, ErrorKind::kIndex),
            "index out of range in self");
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_one_hot, {Vector<int64_t>({1, 0})}, {int64_t{2}})),
            (Longs{0, 1, 1, 0}));
  EXPECT_EQ(Eager(Op::k_one_hot, {Vector<int64_t>({4})}).sizes(), (Sizes{1, 5}));
}

}  // namespace
}  // namespace thirdbook
