// Packed products and convolutions against plain loops in double.
#include "kernel/product.h"

#include <gtest/gtest.h>

#include <cmath>

#include "random_graph.h"

namespace thirdbook {
namespace {

std::vector<float> Numbers(Random& random, int64_t n) {
  std::vector<float> out(static_cast<size_t>(n));
  for (float& x : out) x = static_cast<float>(random.Uniform(-1, 1));
  return out;
}

TEST(Product, MatchesPlainLoopsForAllShapesAndLayouts) {
  Random random(7);
  const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 257, 400};
  for (int round = 0; round < 250; ++round) {
    ProductShape s;
    s.m = sizes[random.Below(15)], s.n = sizes[random.Below(15)], s.k = sizes[random.Below(17)];
    if (round == 0) s.m = 5, s.n = 1100, s.k = 300;  // several blocks of columns
    const bool turn_a = random.Below(2), turn_b = random.Below(2);
    s.a_row = turn_a ? 1 : s.k + 3, s.a_column = turn_a ? s.m + 1 : 1;
    s.b_row = turn_b ? 1 : s.n + 2, s.b_column = turn_b ? s.k + 5 : 1;
    s.c_row = s.n;
    const std::vector<float> a = Numbers(random, 2 * (s.m + 4) * (s.k + 4)),
                             b = Numbers(random, (s.n + 6) * (s.k + 6));
    s.a_batch = {0, 7}, s.b_batch = {0, 0}, s.c_batch = {0, s.m * s.n};
    std::vector<float> c(static_cast<size_t>(2 * s.m * s.n), NAN),
        workspace(static_cast<size_t>(WorkspaceBytes(s) / 4));
    std::vector<int> rows(2, 0);
    MultiplyPacked(
        s, a.data(), b.data(), c.data(), workspace.data(),
        [](void* context, int64_t batch, int64_t, int64_t count) {
          (*static_cast<std::vector<int>*>(context))[static_cast<size_t>(batch)] += static_cast<int>(count);
        },
        &rows);
    EXPECT_EQ(rows, (std::vector<int>{static_cast<int>(s.m), static_cast<int>(s.m)}));
    for (size_t batch = 0; batch < 2; ++batch) {
      for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t j = 0; j < s.n; ++j) {
          double want = 0;
          for (int64_t p = 0; p < s.k; ++p) {
            want +=
                static_cast<double>(a[static_cast<size_t>(s.a_batch[batch] + i * s.a_row + p * s.a_column)]) *
                static_cast<double>(b[static_cast<size_t>(p * s.b_row + j * s.b_column)]);
          }
          const float got = c[static_cast<size_t>(s.c_batch[batch] + i * s.n + j)];
          ASSERT_NEAR(static_cast<double>(got), want, 1e-5 * std::sqrt(static_cast<double>(s.k)) + 1e-6)
              << s.m << "x" << s.n << "x" << s.k << " at " << i << "," << j << (turn_a ? " A turned" : "")
              << (turn_b ? " B turned" : "");
        }
      }
    }
  }
}

TEST(Product, ConvolutionMatchesPlainLoops) {
  Random random(11);
  for (int round = 0; round < 120; ++round) {
    ConvolutionShape c;
    c.channels = 1 + random.Below(4), c.height = 1 + random.Below(14), c.width = 1 + random.Below(20);
    c.kernel_h = 1 + random.Below(3), c.kernel_w = 1 + random.Below(3);
    c.stride_h = 1 + random.Below(2), c.stride_w = 1 + random.Below(2);
    c.padding_h = random.Below(3), c.padding_w = random.Below(3);
    c.dilation_h = 1 + random.Below(2), c.dilation_w = 1 + random.Below(2);
    c.out_h = (c.height + 2 * c.padding_h - c.dilation_h * (c.kernel_h - 1) - 1) / c.stride_h + 1;
    c.out_w = (c.width + 2 * c.padding_w - c.dilation_w * (c.kernel_w - 1) - 1) / c.stride_w + 1;
    if (c.height + 2 * c.padding_h < c.dilation_h * (c.kernel_h - 1) + 1 ||
        c.width + 2 * c.padding_w < c.dilation_w * (c.kernel_w - 1) + 1)
      continue;
    ProductShape s;
    s.convolution = true;
    s.image = c;
    s.m = 1 + random.Below(9), s.n = c.out_h * c.out_w, s.k = c.channels * c.kernel_h * c.kernel_w;
    s.a_row = s.k, s.a_column = 1, s.c_row = s.n;
    const std::vector<float> weight = Numbers(random, s.m * s.k),
                             image = Numbers(random, c.channels * c.height * c.width);
    std::vector<float> out(static_cast<size_t>(s.m * s.n), NAN),
        workspace(static_cast<size_t>(WorkspaceBytes(s) / 4));
    MultiplyPacked(s, weight.data(), image.data(), out.data(), workspace.data(), nullptr, nullptr);
    for (int64_t o = 0; o < s.m; ++o) {
      for (int64_t y = 0; y < c.out_h; ++y) {
        for (int64_t x = 0; x < c.out_w; ++x) {
          double want = 0;
          for (int64_t p = 0; p < s.k; ++p) {
            const int64_t channel = p / (c.kernel_h * c.kernel_w), dy = p / c.kernel_w % c.kernel_h,
                          dx = p % c.kernel_w;
            const int64_t iy = y * c.stride_h - c.padding_h + dy * c.dilation_h,
                          ix = x * c.stride_w - c.padding_w + dx * c.dilation_w;
            if (iy < 0 || iy >= c.height || ix < 0 || ix >= c.width) continue;
            want += static_cast<double>(weight[static_cast<size_t>(o * s.k + p)]) *
                    static_cast<double>(image[static_cast<size_t>((channel * c.height + iy) * c.width + ix)]);
          }
          ASSERT_NEAR(static_cast<double>(out[static_cast<size_t>(o * s.n + y * c.out_w + x)]), want, 1e-4)
              << round;
        }
      }
    }
  }
}

}  // namespace
}  // namespace thirdbook
