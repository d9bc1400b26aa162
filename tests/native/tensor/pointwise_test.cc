// Pointwise ops; expected values are PyTorch 2.13's.
#include <cmath>
#include <limits>

#include "make.h"

namespace thirdbook {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;
using Bytes = std::vector<uint8_t>;
using Bools = std::vector<bool>;

TEST(Pointwise, PromotesByTiers) {
  Tensor bytes = Vector<uint8_t>({250, 1}), floats = Vector<float>({0.5f, 1.5f}),
         longs = Vector<int64_t>({7, -7});
  EXPECT_EQ(Values<uint8_t>(Eager(Op::k_add, {bytes, Tensor::WeakInt(300)})),
            (Bytes{38, 45}));  // a number does not widen
  EXPECT_EQ(Values<float>(Eager(Op::k_add, {bytes, Tensor::WeakFloat(0.5)})), (Floats{250.5f, 1.5f}));
  EXPECT_EQ(Values<float>(Eager(Op::k_mul, {floats, Make<double>({}, {2.0})})),
            (Floats{1, 3}));  // nor does a 0-d tensor
  EXPECT_EQ(Values<double>(Eager(Op::k_mul, {floats, Vector<double>({2, 2})})), (std::vector<double>{1, 3}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_add, {Vector<bool>({true, false}), Tensor::WeakInt(1)})),
            (Longs{2, 1}));
  EXPECT_EQ(Eager(Op::k_div, {longs, longs}).dtype(), DType::kFloat32);
  EXPECT_EQ(Eager(Op::k_exp, {longs}).dtype(), DType::kFloat32);
  EXPECT_EQ(Eager(Op::k_lt, {longs, floats}).dtype(), DType::kBool);
}

TEST(Pointwise, NumbersAmongThemselvesStayNumbers) {
  Tensor t = Eager(Op::k_mul, {Tensor::WeakInt(3), Tensor::WeakFloat(0.1)});
  EXPECT_TRUE(t.meta().weak);
  EXPECT_EQ(Values<double>(t), (std::vector<double>{3 * 0.1}));
}

TEST(Pointwise, IntegersWrapAround) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
  Tensor ends = Vector<int64_t>({kMin, kMax});
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_add, {ends, Tensor::WeakInt(1)})), (Longs{kMin + 1, kMin}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_neg, {ends})), (Longs{kMin, -kMax}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_abs, {ends})), (Longs{kMin, kMax}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_floor_divide, {ends, Tensor::WeakInt(-1)})), (Longs{kMin, -kMax}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_remainder, {ends, Tensor::WeakInt(-1)})), (Longs{0, 0}));
  EXPECT_EQ(Values<uint8_t>(Eager(Op::k_neg, {Vector<uint8_t>({1, 2})})), (Bytes{255, 254}));
}

TEST(Pointwise, DivisionRoundsAsPythonDoes) {
  Tensor a = Vector<int64_t>({7, -7, 7, -7}), b = Vector<int64_t>({2, 2, -2, -2});
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_floor_divide, {a, b})), (Longs{3, -4, -4, 3}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_remainder, {a, b})), (Longs{1, 1, -1, -1}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_fmod, {a, b})), (Longs{1, -1, 1, -1}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_div, {a, b}, {std::string("trunc")})), (Longs{3, -3, -3, 3}));
  EXPECT_EQ(Values<float>(Eager(Op::k_remainder, {Vector<float>({-1, 5.5f}), Vector<float>({3, -2})})),
            (Floats{2, -0.5f}));
  EXPECT_EQ(ErrorOf(Op::k_remainder, {a, Tensor::WeakInt(0)}, {}, ErrorKind::kRuntime), "ZeroDivisionError");
  EXPECT_EQ(ErrorOf(Op::k_div, {a, b}, {std::string("up")}, ErrorKind::kRuntime),
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'up'");
}

TEST(Pointwise, NaNAndZerosGoWherePyTorchPutsThem) {
  Tensor x = Vector<float>({kNaN, 1, -0.0f, 0});
  Floats relu = Values<float>(Eager(Op::k_relu, {x}));
  EXPECT_TRUE(std::isnan(relu[0]));
  EXPECT_TRUE(std::signbit(relu[2]));
  Floats largest = Values<float>(Eager(Op::k_maximum, {x, Vector<float>({1, kNaN, 0, -0.0f})}));
  EXPECT_TRUE(std::isnan(largest[0]) && std::isnan(largest[1]));
  EXPECT_TRUE(std::signbit(largest[2]) && !std::signbit(largest[3]));  // of equals the first
  EXPECT_TRUE(std::signbit(Values<float>(Eager(Op::k_neg, {Vector<float>({0})}))[0]));
  EXPECT_EQ(Values<float>(Eager(Op::k_round, {Vector<float>({0.5f, 1.5f, 2.5f, -0.5f})}, {int64_t{0}})),
            (Floats{0, 2, 2, -0.0f}));
  EXPECT_EQ(Values<bool>(Eager(Op::k_isfinite, {Vector<float>({kInf, kNaN, 1})})),
            (Bools{false, false, true}));
}

TEST(Pointwise, ConvertsAsX86Does) {
  Tensor x = Vector<float>({1.9f, -1.9f, kNaN, kInf, 3e9f});
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(Values<int32_t>(Eager(Op::k_to, {x}, {DType::kInt32})),
            (std::vector<int32_t>{1, -1, kMin, kMin, kMin}));
  EXPECT_EQ(Values<bool>(Eager(Op::k_to, {x}, {DType::kBool})), (Bools{true, true, true, true, true}));
  EXPECT_EQ(Values<uint8_t>(Eager(Op::k_to, {Vector<float>({-1, 257})}, {DType::kUInt8})), (Bytes{255, 1}));
}

TEST(Pointwise, BroadcastsAndRefusesWhatDoesNotFit) {
  Tensor column = Make<float>({2, 1}, {10, 20}), row = Vector<float>({1, 2, 3});
  Tensor sum = Eager(Op::k_add, {column, row});
  EXPECT_EQ(sum.sizes(), (Sizes{2, 3}));
  EXPECT_EQ(Values<float>(sum), (Floats{11, 12, 13, 21, 22, 23}));
  EXPECT_EQ(Eager(Op::k_add, {Make<float>({0, 3}, {}), row}).sizes(), (Sizes{0, 3}));
  EXPECT_EQ(
      ErrorOf(Op::k_add, {Vector<float>({1, 2, 3}), Vector<float>({1, 2, 3, 4})}, {}, ErrorKind::kRuntime),
      "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0");
}

TEST(Pointwise, ReadsAnyStrides) {
  Tensor m = Make<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor turned = Eager(Op::k_t, {m});
  EXPECT_EQ(Values<float>(Eager(Op::k_mul, {turned, Tensor::WeakInt(2)})), (Floats{2, 8, 4, 10, 6, 12}));
  Tensor repeated = Eager(Op::k_expand, {Vector<int32_t>({1, 2})}, {Sizes{3, 2}});
  EXPECT_EQ(Values<float>(Eager(Op::k_add, {repeated, Tensor::WeakFloat(0.5)})),
            (Floats{1.5f, 2.5f, 1.5f, 2.5f, 1.5f, 2.5f}));
  Tensor odd = Eager(Op::k_slice, {m}, {int64_t{1}, int64_t{0}, None{}, int64_t{2}});
  EXPECT_EQ(Values<float>(Eager(Op::k_exp2, {odd})), (Floats{2, 8, 16, 64}));
}

TEST(Pointwise, PowersOfIntegers) {
  EXPECT_EQ(
      Values<int64_t>(Eager(Op::k_pow, {Vector<int64_t>({2, -1, 0, 1}), Vector<int64_t>({-1, -3, 0, -5})})),
      (Longs{0, -1, 1, 1}));
  EXPECT_EQ(ErrorOf(Op::k_pow, {Vector<int64_t>({2}), Tensor::WeakInt(-1)}, {}, ErrorKind::kRuntime),
            "Integers to negative integer powers are not allowed.");
  EXPECT_EQ(Values<float>(Eager(Op::k_pow, {Vector<float>({3}), Tensor::WeakFloat(2)})), (Floats{9}));
}

TEST(Pointwise, RefusesDTypesWithPyTorchsWords) {
  Tensor b = Vector<bool>({true}), f = Vector<float>({1});
  EXPECT_EQ(ErrorOf(Op::k_sub, {b, b}, {}, ErrorKind::kRuntime).substr(0, 62),
            "Subtraction, the `-` operator, with two bool tensors is not su");
  EXPECT_EQ(ErrorOf(Op::k_bitwise_and, {f, f}, {}, ErrorKind::kNotImplemented),
            "\"bitwise_and_cpu\" not implemented for 'Float'");
  EXPECT_EQ(ErrorOf(Op::k_where, {f, f, f}, {}, ErrorKind::kRuntime),
            "where expected condition to be a boolean tensor, but got a tensor with dtype Float");
  EXPECT_EQ(ErrorOf(Op::k_clamp, {f, Tensor(), Tensor()}, {}, ErrorKind::kRuntime),
            "torch.clamp: At least one of 'min' or 'max' must not be None");
  EXPECT_EQ(ErrorOf(Op::k_add, {Vector<int64_t>({1}), Vector<int64_t>({1})}, {1.5}, ErrorKind::kRuntime),
            "For integral input tensors, argument alpha must not be a floating point number.");
}

TEST(Pointwise, WhereFillAndCopyTakeTheRightDType) {
  Tensor mask = Vector<bool>({true, false}), x = Vector<int64_t>({5, 6});
  EXPECT_EQ(Values<float>(Eager(Op::k_where, {mask, x, Tensor::WeakFloat(0.5)})), (Floats{5, 0.5f}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_masked_fill, {x, mask, Tensor::WeakFloat(1.7)})), (Longs{1, 6}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_fill, {x, Tensor::WeakFloat(2.7)})), (Longs{2, 2}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_copy, {x, Tensor::WeakFloat(3.2)})), (Longs{3, 3}));
  EXPECT_EQ(Values<float>(Eager(Op::k_clamp, {x, Tensor::WeakFloat(5.5), Tensor()})), (Floats{5.5f, 6}));
}

}  // namespace
}  // namespace thirdbook
