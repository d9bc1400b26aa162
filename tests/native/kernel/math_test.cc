// The vector functions of math_expand.h against double precision: a dense sweep of float32 by default, all of
// it with THIRDBOOK_EXHAUSTIVE=1 (each function then takes about a minute).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "kernel/loop_interpreter.h"
#include "kernel/math_expand.h"

namespace thirdbook {
namespace {

constexpr double kWorst = 2.0;  // ulp

// y = function(x), element by element.
LoopKernel FunctionKernel(Prim prim) {
  LoopKernel k;
  k.name = PrimName(prim);
  k.inner = 1;
  k.buffers = {{DType::kFloat32, false, 1, Walk::kUnit}, {DType::kFloat32, true, 1, Walk::kUnit}};
  k.instrs = {{Prim::k_load, LaneType::kF32}, {prim, LaneType::kF32, {0, -1, -1, -1}}};
  Stage stage;
  stage.element = true;
  stage.body = {0, 1};
  stage.stores = {{1, 1}};
  k.stages = {stage};
  return k;
}

// Distance in units of the last place of float32 at the exact value.
double Ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  if (std::isnan(got)) return 1e9;
  const auto rounded = static_cast<float>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    const float largest = std::numeric_limits<float>::max();
    return std::fabs(got) == largest || std::fabs(rounded) == largest ? 1 : 1e9;
  }
  if (got == 0 && want == 0) return std::signbit(got) == std::signbit(want) ? 0 : 1e8;
  int exponent;
  std::frexp(want, &exponent);
  return std::fabs(got - want) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

struct Function {
  Prim prim;
  double (*exact)(double);
  float low = -std::numeric_limits<float>::infinity();  // arguments outside are not asked for
  float high = std::numeric_limits<float>::infinity();
};

class MathTest : public testing::TestWithParam<Function> {};

TEST_P(MathTest, StaysWithinTwoUlp) {
  const Function& function = GetParam();
  const LoopKernel kernel = ExpandMath(FunctionKernel(function.prim));
  ASSERT_EQ(VerifyLoops(kernel), "");
  const uint64_t step = std::getenv("THIRDBOOK_EXHAUSTIVE") ? 1 : 2503;
  constexpr int kChunk = 1 << 14;
  std::vector<float> x(kChunk), y(kChunk);
  Cell cells[] = {reinterpret_cast<Cell>(x.data()), reinterpret_cast<Cell>(y.data()), 0, 4, 4};
  double worst = 0;
  float worst_at = 0;
  for (uint64_t bits = 0; bits <= 0xffffffff;) {
    int n = 0;
    for (; n < kChunk && bits <= 0xffffffff; bits += step) {
      const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
      if (value < function.low || value > function.high) continue;
      x[static_cast<size_t>(n++)] = value;
    }
    cells[2] = n;
    InterpretLoops(kernel, cells);
    for (int i = 0; i < n; ++i) {
      const double ulps =
          Ulps(y[static_cast<size_t>(i)], function.exact(static_cast<double>(x[static_cast<size_t>(i)])));
      if (ulps > worst) worst = ulps, worst_at = x[static_cast<size_t>(i)];
    }
  }
  EXPECT_LE(worst, kWorst) << PrimName(function.prim) << "(" << worst_at << ")";
  std::printf("%s: at most %.3f ulp, at %.9g\n", PrimName(function.prim), worst,
              static_cast<double>(worst_at));
}

double Sigmoid(double x) { return static_cast<double>(1 / (1 + std::exp(-static_cast<long double>(x)))); }

INSTANTIATE_TEST_SUITE_P(AllOfFloat32, MathTest,
                         testing::Values(Function{Prim::k_exp, std::exp}, Function{Prim::k_exp2, std::exp2},
                                         Function{Prim::k_expm1, std::expm1}, Function{Prim::k_log, std::log},
                                         Function{Prim::k_log2, std::log2},
                                         Function{Prim::k_log10, std::log10},
                                         Function{Prim::k_log1p, std::log1p}, Function{Prim::k_sin, std::sin},
                                         Function{Prim::k_cos, std::cos}, Function{Prim::k_tanh, std::tanh},
                                         Function{Prim::k_sigmoid, Sigmoid}, Function{Prim::k_erf, std::erf},
                                         // For softmax: exact enough where the result is a normal number.
                                         Function{Prim::k_exp_negative, std::exp, -87.3f, 0.0f}),
                         [](const testing::TestParamInfo<Function>& info) {
                           return PrimName(info.param.prim);
                         });

TEST(Math, SoftmaxExpOfMinusInfinityIsZero) {
  const LoopKernel kernel = ExpandMath(FunctionKernel(Prim::k_exp_negative));
  float x[] = {-std::numeric_limits<float>::infinity(), -1e30f, -89.0f,
               std::numeric_limits<float>::quiet_NaN()},
        y[4];
  const Cell cells[] = {reinterpret_cast<Cell>(x), reinterpret_cast<Cell>(y), 4, 4, 4};
  InterpretLoops(kernel, cells);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], 0);
  EXPECT_TRUE(std::isnan(y[3]));
}

}  // namespace
}  // namespace thirdbook
