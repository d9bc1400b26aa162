// Views and rearrangements.
#include "make.h"

namespace thirdbook {
namespace {

using Longs = std::vector<int64_t>;

Tensor Count(Sizes sizes) {
  int64_t n = ContiguousMeta(DType::kInt64, sizes).numel();
  return Eager(Op::k_reshape, {Eager(Op::k_arange, {}, {int64_t{0}, n})}, {sizes});
}

TEST(View, SharesTheStorage) {
  Tensor x = Count({2, 3});
  for (auto [op, attrs] :
       std::vector<std::pair<Op, Attrs>>{{Op::k_t, {}},
                                         {Op::k_view, {Sizes{3, -1}}},
                                         {Op::k_select, {int64_t{1}, int64_t{-1}}},
                                         {Op::k_unsqueeze, {int64_t{0}}},
                                         {Op::k_diagonal, {}},
                                         {Op::k_unfold, {int64_t{1}, int64_t{2}, int64_t{1}}},
                                         {Op::k_flatten, {}},
                                         {Op::k_contiguous, {}}}) {
    EXPECT_EQ(Eager(op, {x}, attrs).storage(), x.storage()) << Info(op).name;
    EXPECT_TRUE(AliasesOperand(op, x.meta(), CompleteAttrs(op, attrs)));
  }
}

TEST(View, StridesAndOffsets) {
  Tensor x = Count({2, 3});
  TensorMeta t = Eager(Op::k_t, {x}).meta();
  EXPECT_EQ(t.strides, (Sizes{1, 3}));
  TensorMeta s = Eager(Op::k_slice, {x}, {int64_t{1}, int64_t{-2}, None{}, int64_t{2}}).meta();
  EXPECT_EQ(s.sizes, (Sizes{2, 1}));
  EXPECT_EQ(s.offset, 1);
  EXPECT_EQ(Eager(Op::k_expand, {Count({3, 1})}, {Sizes{2, -1, 4}}).meta().strides, (Sizes{0, 1, 0}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_diagonal, {x}, {int64_t{1}})), (Longs{1, 5}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_unfold, {Count({5})}, {int64_t{0}, int64_t{2}, int64_t{2}})),
            (Longs{0, 1, 2, 3}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_as_strided, {x}, {Sizes{2, 2}, Sizes{1, 2}, int64_t{1}})),
            (Longs{1, 3, 2, 4}));
}

TEST(View, ReshapeCopiesOnlyWhenItMust) {
  Tensor x = Count({2, 3}), t = Eager(Op::k_t, {x});
  Tensor flat = Eager(Op::k_reshape, {t}, {Sizes{-1}});
  EXPECT_NE(flat.storage(), x.storage());
  EXPECT_FALSE(AliasesOperand(Op::k_reshape, t.meta(), {Sizes{-1}}));
  EXPECT_EQ(Values<int64_t>(flat), (Longs{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(ErrorOf(Op::k_view, {t}, {Sizes{6}}, ErrorKind::kRuntime).substr(0, 44),
            "view size is not compatible with input tenso");
  EXPECT_EQ(Eager(Op::k_view, {t}, {Sizes{3, 1, 2}}).storage(), x.storage());
}

TEST(View, Errors) {
  Tensor x = Count({2, 3});
  EXPECT_EQ(ErrorOf(Op::k_view, {x}, {Sizes{4}}, ErrorKind::kRuntime),
            "shape '[4]' is invalid for input of size 6");
  EXPECT_EQ(ErrorOf(Op::k_select, {x}, {int64_t{0}, int64_t{2}}, ErrorKind::kIndex),
            "select(): index 2 out of range for tensor of size [2, 3] at dimension 0");
  EXPECT_EQ(ErrorOf(Op::k_as_strided, {x}, {Sizes{20}, Sizes{1}}, ErrorKind::kRuntime),
            "setStorage: sizes [20], strides [1], storage offset 0, and itemsize 8 requiring a storage size "
            "of 160 are out of bounds for "
            "storage of size 48");
  EXPECT_EQ(ErrorOf(Op::k_expand, {x}, {Sizes{4, 3}}, ErrorKind::kRuntime),
            "The expanded size of the tensor (4) must match the existing size (2) at non-singleton dimension "
            "0.  Target sizes: [4, 3].  "
            "Tensor sizes: [2, 3]");
}

TEST(Rearrange, CatStackFlipRollRepeat) {
  Tensor x = Count({2, 2});
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_cat, {x, x}, {int64_t{1}})), (Longs{0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(Eager(Op::k_cat, {x, Vector<float>({})}).dtype(), DType::kFloat32);
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_stack, {x, x}, {int64_t{-1}})), (Longs{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_flip, {x}, {Sizes{0, 1}})), (Longs{3, 2, 1, 0}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_roll, {x}, {Sizes{1}, Sizes{}})), (Longs{3, 0, 1, 2}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_roll, {x}, {Sizes{-1}, Sizes{1}})), (Longs{1, 0, 3, 2}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_repeat, {Count({2})}, {Sizes{2, 2}})),
            (Longs{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_triu, {Count({3, 3})}, {int64_t{1}})),
            (Longs{0, 1, 2, 0, 0, 5, 0, 0, 0}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_constant_pad_nd, {x}, {Sizes{1, -1}, int64_t{9}})),
            (Longs{9, 0, 9, 2}));
}

TEST(Rearrange, PartWritesLeaveTheOriginalAlone) {
  Tensor x = Count({2, 3}), src = Make<int64_t>({2}, {70, 80});
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_select_scatter, {x, src}, {int64_t{1}, int64_t{2}})),
            (Longs{0, 1, 70, 3, 4, 80}));
  EXPECT_EQ(Values<int64_t>(
                Eager(Op::k_slice_scatter, {x, Tensor::WeakInt(-1)}, {int64_t{1}, int64_t{0}, int64_t{2}})),
            (Longs{-1, -1, 2, -1, -1, 5}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_as_strided_scatter, {x, src}, {Sizes{2}, Sizes{4}, int64_t{1}})),
            (Longs{0, 70, 2, 3, 4, 80}));
  // In a transposed tensor positions are still those of the storage.
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_as_strided_scatter, {Eager(Op::k_t, {x}), src},
                                  {Sizes{2}, Sizes{1}, int64_t{0}})),
            (Longs{70, 3, 80, 4, 2, 5}));
  EXPECT_EQ(Values<int64_t>(x), (Longs{0, 1, 2, 3, 4, 5}));
}

TEST(Creation, CountsAndEnds) {
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_arange, {}, {int64_t{5}, int64_t{0}, int64_t{-2}})),
            (Longs{5, 3, 1}));
  EXPECT_EQ(Values<float>(Eager(Op::k_arange, {}, {0.0, 1.0, 0.25})),
            (std::vector<float>{0, 0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(Values<float>(Eager(Op::k_linspace, {}, {int64_t{0}, int64_t{1}, int64_t{5}})),
            (std::vector<float>{0, 0.25f, 0.5f, 0.75f, 1}));
  EXPECT_EQ(Values<float>(Eager(Op::k_eye, {}, {int64_t{2}, int64_t{3}})),
            (std::vector<float>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(Eager(Op::k_full, {}, {Sizes{2}, true}).dtype(), DType::kBool);
  EXPECT_EQ(ErrorOf(Op::k_arange, {}, {int64_t{0}, int64_t{5}, int64_t{-1}}, ErrorKind::kRuntime),
            "upper bound and lower bound inconsistent with step sign");
}

}  // namespace
}  // namespace thirdbook
