// Convolution, pooling, resampling; expected values are PyTorch 2.13's.
#include "make.h"

namespace thirdbook {
namespace {

using Floats = std::vector<float>;

Tensor Image(Sizes sizes) {
  int64_t n = ContiguousMeta(DType::kFloat32, sizes).numel();
  return Eager(Op::k_reshape, {Eager(Op::k_arange, {}, {0.0, static_cast<double>(n)})}, {sizes});
}
Tensor Ones(Sizes sizes) { return Eager(Op::k_ones, {}, {std::move(sizes)}); }

TEST(Convolution, PaddingStrideDilationGroupsBias) {
  Tensor x = Image({1, 1, 3, 3});
  EXPECT_EQ(Values<float>(Eager(Op::k_conv2d, {x, Ones({1, 1, 2, 2}), Vector<float>({100})})),
            (Floats{108, 112, 120, 124}));
  EXPECT_EQ(Values<float>(Eager(Op::k_conv2d, {x, Ones({1, 1, 3, 3}), Tensor()}, {Sizes{2, 2}, Sizes{1, 1}})),
            (Floats{8, 12, 20, 24}));
  EXPECT_EQ(
      Values<float>(Eager(Op::k_conv2d, {x, Ones({1, 1, 2, 2}), Tensor()}, {Sizes{1}, Sizes{0}, Sizes{2}})),
      (Floats{16}));
  Tensor two = Image({2, 1, 2});
  EXPECT_EQ(Values<float>(Eager(Op::k_conv2d, {two, Ones({2, 1, 1, 1}), Tensor()},
                                {Sizes{1}, Sizes{0}, Sizes{1}, int64_t{2}})),
            (Floats{0, 1, 2, 3}));
  EXPECT_EQ(
      Values<float>(Eager(Op::k_conv1d, {Image({1, 1, 4}), Ones({1, 1, 3}), Tensor()}, {Sizes{1}, Sizes{1}})),
      (Floats{1, 3, 6, 5}));
  EXPECT_EQ(ErrorOf(Op::k_conv2d, {x, Ones({1, 2, 2, 2}), Tensor()}, {}, ErrorKind::kRuntime),
            "Given groups=1, weight of size [1, 2, 2, 2], expected input[1, 1, 3, 3] to have 2 channels, but "
            "got 1 channels instead");
}

TEST(Pool, WindowsAtTheEdges) {
  Tensor x = Image({1, 3, 3});
  EXPECT_EQ(Values<float>(Eager(Op::k_max_pool2d, {x}, {Sizes{2, 2}})), (Floats{4}));
  EXPECT_EQ(Values<float>(Eager(Op::k_max_pool2d, {x}, {Sizes{2}, Sizes{}, Sizes{0}, Sizes{1}, true})),
            (Floats{4, 5, 7, 8}));
  EXPECT_EQ(Values<float>(Eager(Op::k_avg_pool2d, {x}, {Sizes{2}, Sizes{}, Sizes{1}})),
            (Floats{0, 0.75f, 2.25f, 6}));
  EXPECT_EQ(Values<float>(Eager(Op::k_avg_pool2d, {x}, {Sizes{2}, Sizes{}, Sizes{1}, false, false})),
            (Floats{0, 1.5f, 4.5f, 6}));
  EXPECT_EQ(Values<float>(Eager(Op::k_adaptive_avg_pool2d, {x}, {Sizes{2, 1}})), (Floats{2.5f, 5.5f}));
  EXPECT_EQ(
      ErrorOf(Op::k_max_pool2d, {x}, {Sizes{2}, Sizes{}, Sizes{2}}, ErrorKind::kRuntime),
      "pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 and dilation=1");
}

TEST(Resample, NearestAndBilinear) {
  Tensor x = Image({1, 1, 2, 2});
  EXPECT_EQ(Values<float>(Eager(Op::k_upsample_nearest2d, {x}, {Sizes{2, 3}})), (Floats{0, 0, 1, 2, 2, 3}));
  EXPECT_EQ(Values<float>(Eager(Op::k_upsample_bilinear2d, {x}, {Sizes{2, 4}, false})),
            (Floats{0, 0.25f, 0.75f, 1, 2, 2.25f, 2.75f, 3}));
  EXPECT_EQ(Values<float>(Eager(Op::k_upsample_bilinear2d, {x}, {Sizes{3, 3}, true})),
            (Floats{0, 0.5f, 1, 1, 1.5f, 2, 2, 2.5f, 3}));
}

}  // namespace
}  // namespace thirdbook
