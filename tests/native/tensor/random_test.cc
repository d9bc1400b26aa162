// The random stream is PyTorch's: expected values were drawn with PyTorch 2.13 on the CPU after
// manual_seed(42), one call after the other.
#include "make.h"
#include "tensor/generator.h"

namespace thirdbook {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;

std::vector<float> Last3(const Floats& all) { return Floats(all.end() - 3, all.end()); }

TEST(Random, DrawsWhatPyTorchDraws) {
  DefaultGenerator().Seed(42);
  EXPECT_EQ(Values<float>(Eager(Op::k_rand, {}, {Sizes{3}})),
            (Floats{0.882269263f, 0.915003955f, 0.38286376f}));
  EXPECT_EQ(Values<float>(Eager(Op::k_randn, {}, {Sizes{3}})),
            (Floats{-0.829319179f, -1.61370695f, -0.214704528f}));
  EXPECT_EQ(Last3(Values<float>(Eager(Op::k_randn, {}, {Sizes{17}}))),
            (Floats{0.995636106f, -0.879785836f, -0.601142049f}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_randint, {}, {int64_t{0}, int64_t{100}, Sizes{4}})),
            (Longs{7, 23, 43, 94}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_randint, {}, {-(int64_t{1} << 40), int64_t{1} << 40, Sizes{2}})),
            (Longs{-287373657155, -349531370563}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_randperm, {}, {int64_t{5}})), (Longs{0, 4, 3, 1, 2}));
  EXPECT_EQ(Values<float>(Eager(Op::k_uniform, {}, {Sizes{4}, -2.0, 3.0})),
            (Floats{1.29065299f, 0.456510067f, 2.45652056f, -1.27628398f}));
  EXPECT_EQ(Values<float>(Eager(Op::k_bernoulli, {Eager(Op::k_empty, {}, {Sizes{6}})}, {0.3})),
            (Floats{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_multinomial, {Vector<float>({.1f, .2f, .3f, .4f})}, {int64_t{2}})),
            (Longs{1, 2}));
  EXPECT_EQ(Values<float>(Eager(Op::k_normal, {}, {Sizes{2}, 2.0, 3.0})), (Floats{2.89680648f, 3.40370917f}));
  EXPECT_EQ(Values<double>(Eager(Op::k_rand, {}, {Sizes{2}, DType::kFloat64})),
            (std::vector<double>{0.42769535701973305, 0.2881838755896613}));
  // The tail of float64 normals uses the C library's logarithm and cosine.
  EXPECT_NEAR(Values<double>(Eager(Op::k_randn, {}, {Sizes{16}, DType::kFloat64}))[0], 2.3464758864728754,
              1e-15);
}

TEST(Random, StateIsSavedAndRestoredWithTheCachedNormal) {
  Generator& g = DefaultGenerator();
  g.Seed(7);
  Eager(Op::k_randn, {}, {Sizes{1}});  // the other one waits
  std::vector<uint8_t> state = g.GetState();
  EXPECT_EQ(state.size(), Generator::kStateBytes);
  Floats first = Values<float>(Eager(Op::k_randn, {}, {Sizes{5}}));
  Eager(Op::k_rand, {}, {Sizes{1000}});
  ASSERT_TRUE(g.SetState(state).ok());
  EXPECT_EQ(Values<float>(Eager(Op::k_randn, {}, {Sizes{5}})), first);
}

TEST(Random, RefusesBytesThatAreNoState) {
  Generator g(1);
  EXPECT_EQ(g.SetState({1, 2, 3}).kind(), ErrorKind::kRuntime);
  std::vector<uint8_t> state = g.GetState();
  state[16] = 255;  // beyond the words
  state[17] = 255;
  EXPECT_FALSE(g.SetState(state).ok());
  EXPECT_EQ(g.Random(), Generator(1).Random());
}

TEST(Random, Errors) {
  EXPECT_EQ(ErrorOf(Op::k_randint, {}, {int64_t{5}, int64_t{5}, Sizes{2}}, ErrorKind::kRuntime),
            "random_ expects 'from' to be less than 'to', but got from=5 >= to=5");
  EXPECT_EQ(ErrorOf(Op::k_multinomial, {Vector<float>({0, 0})}, {int64_t{1}}, ErrorKind::kRuntime),
            "invalid multinomial distribution (sum of probabilities <= 0)");
  EXPECT_EQ(ErrorOf(Op::k_rand, {}, {Sizes{2}, DType::kInt64}, ErrorKind::kNotImplemented),
            "\"check_uniform_bounds\" not implemented for 'Long'");
}

}  // namespace
}  // namespace thirdbook
