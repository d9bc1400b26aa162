// Reductions and ops along a dimension.
#include <cmath>
#include <limits>

#include "make.h"

namespace thirdbook {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;

Tensor Table() { return Make<float>({2, 3}, {1, 2, 3, 4, 5, 6}); }

TEST(Reduction, FoldsAnyDimensions) {
  EXPECT_EQ(Values<float>(Eager(Op::k_sum, {Table()})), (Floats{21}));
  EXPECT_EQ(Values<float>(Eager(Op::k_sum, {Table()}, {Sizes{0}})), (Floats{5, 7, 9}));
  Tensor kept = Eager(Op::k_sum, {Table()}, {Sizes{-1}, true});
  EXPECT_EQ(kept.sizes(), (Sizes{2, 1}));
  EXPECT_EQ(Values<float>(kept), (Floats{6, 15}));
  EXPECT_EQ(Values<float>(Eager(Op::k_mean, {Eager(Op::k_t, {Table()})}, {Sizes{0}})), (Floats{2, 5}));
  EXPECT_EQ(Eager(Op::k_sum, {Make<float>({0, 3}, {})}, {Sizes{0}}).sizes(), (Sizes{3}));
}

TEST(Reduction, SumsOfIntegersAreInt64) {
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_sum, {Vector<uint8_t>({200, 100})})), (Longs{300}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_sum, {Vector<bool>({true, true})})), (Longs{2}));
  EXPECT_EQ(Values<uint8_t>(Eager(Op::k_sum, {Vector<uint8_t>({200, 100})}, {None{}, false, DType::kUInt8})),
            (std::vector<uint8_t>{44}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_prod, {Vector<int32_t>({2, 3})})), (Longs{6}));
}

TEST(Reduction, LongFloatSumsStayExact) {
  int64_t n = 1000003;
  Tensor tenths = Eager(Op::k_full, {}, {Sizes{n}, 0.1});
  EXPECT_NEAR(Values<float>(Eager(Op::k_sum, {tenths}))[0], 0.1 * static_cast<double>(n), 0.05);
  Tensor rows = Eager(Op::k_full, {}, {Sizes{20000, 16}, 0.1});
  EXPECT_NEAR(Values<float>(Eager(Op::k_sum, {rows}, {Sizes{0}}))[7], 2000, 1e-3);
}

TEST(Reduction, ExtremaFollowNaNAndTakeTheFirst) {
  Tensor x = Vector<float>({1, 3, 3, -kInf});
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_argmax, {x})), (Longs{1}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_argmin, {x})), (Longs{3}));
  Tensor nan = Vector<float>({1, kNaN, 3, kNaN});
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_argmax, {nan})), (Longs{1}));
  EXPECT_TRUE(std::isnan(Values<float>(Eager(Op::k_amin, {nan}))[0]));
  std::vector<Tensor> both = EagerAll(Op::k_max_dim, {Table()}, {int64_t{0}});
  EXPECT_EQ(Values<float>(both[0]), (Floats{4, 5, 6}));
  EXPECT_EQ(Values<int64_t>(both[1]), (Longs{1, 1, 1}));
}

TEST(Reduction, EmptyMeansWhatPyTorchMeans) {
  Tensor empty = Make<float>({0}, {});
  EXPECT_EQ(Values<float>(Eager(Op::k_sum, {empty})), (Floats{0}));
  EXPECT_EQ(Values<float>(Eager(Op::k_prod, {empty})), (Floats{1}));
  EXPECT_TRUE(std::isnan(Values<float>(Eager(Op::k_mean, {empty}))[0]));
  EXPECT_EQ(Values<bool>(Eager(Op::k_all, {empty})), (std::vector<bool>{true}));
  EXPECT_EQ(Values<bool>(Eager(Op::k_any, {empty})), (std::vector<bool>{false}));
  EXPECT_EQ(ErrorOf(Op::k_amax, {Make<float>({0, 3}, {})}, {Sizes{0}}, ErrorKind::kIndex),
            "amax(): Expected reduction dim 0 to have non-zero size.");
  EXPECT_EQ(Values<float>(Eager(Op::k_logsumexp, {empty}, {Sizes{0}})), (Floats{-kInf}));
}

TEST(Reduction, Moments) {
  Tensor x = Vector<float>({1, 2, 3, 4});
  EXPECT_FLOAT_EQ(Values<float>(Eager(Op::k_var, {x}))[0], 5.0f / 3);
  EXPECT_FLOAT_EQ(Values<float>(Eager(Op::k_std, {x}, {None{}, int64_t{0}}))[0], std::sqrt(1.25f));
  EXPECT_TRUE(std::isnan(Values<float>(Eager(Op::k_var, {Make<float>({}, {1})}))[0]));
  EXPECT_FLOAT_EQ(Values<float>(Eager(Op::k_linalg_vector_norm, {Vector<float>({3, -4})}))[0], 5);
  EXPECT_FLOAT_EQ(Values<float>(Eager(Op::k_linalg_vector_norm, {Vector<float>({3, -4})}, {double{kInf}}))[0],
                  4);
}

TEST(Reduction, RefusesWhatPyTorchRefuses) {
  EXPECT_EQ(ErrorOf(Op::k_mean, {Vector<int64_t>({1})}, {}, ErrorKind::kRuntime),
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
            "dtype. Got: Long");
  EXPECT_EQ(ErrorOf(Op::k_sum, {Vector<float>({1})}, {Sizes{3}}, ErrorKind::kIndex),
            "Dimension out of range (expected to be in range of [-1, 0], but got 3)");
  EXPECT_EQ(ErrorOf(Op::k_sum, {Table()}, {Sizes{0, -2}}, ErrorKind::kRuntime),
            "dim 0 appears multiple times in the list of dims");
}

TEST(AlongDim, SoftmaxSumsToOneAndSurvivesLargeNumbers) {
  Tensor x = Make<float>({2, 2}, {1000, 1001, -5, -5});
  Floats rows = Values<float>(Eager(Op::k_softmax, {x}, {int64_t{1}}));
  EXPECT_FLOAT_EQ(rows[0] + rows[1], 1);
  EXPECT_FLOAT_EQ(rows[1], 0.7310586f);
  EXPECT_FLOAT_EQ(rows[2], 0.5f);
  Floats columns = Values<float>(Eager(Op::k_log_softmax, {x}, {int64_t{0}}));
  EXPECT_FLOAT_EQ(columns[0], 0);
  EXPECT_FLOAT_EQ(columns[2], -1005);
}

TEST(AlongDim, LayerNormAndCumulation) {
  Floats y =
      Values<float>(Eager(Op::k_layer_norm, {Table(), Vector<float>({1, 1, 2}), Tensor()}, {Sizes{3}}));
  EXPECT_NEAR(y[0], -1.2247357, 1e-6);
  EXPECT_NEAR(y[2], 2 * 1.2247357, 1e-6);
  EXPECT_EQ(Values<float>(Eager(Op::k_cumsum, {Table()}, {int64_t{0}})), (Floats{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_cumprod, {Vector<int32_t>({2, 3, 4})}, {int64_t{0}})),
            (Longs{2, 6, 24}));
}

}  // namespace
}  // namespace thirdbook
