// Sorting, selection, and ops whose sizes the data decides.
#include <cmath>
#include <limits>

#include "make.h"

namespace thirdbook {
namespace {

using Longs = std::vector<int64_t>;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Order, SortIsStableAndPutsNaNLast) {
  std::vector<Tensor> up = EagerAll(Op::k_sort, {Vector<float>({2, kNaN, 1, 2})});
  EXPECT_EQ(Values<int64_t>(up[1]), (Longs{2, 0, 3, 1}));
  std::vector<Tensor> down = EagerAll(Op::k_sort, {Vector<float>({2, kNaN, 1, 2})}, {int64_t{-1}, true});
  EXPECT_EQ(Values<int64_t>(down[1]), (Longs{1, 0, 3, 2}));
  Tensor m = Make<int64_t>({2, 2}, {3, 1, 2, 4});
  EXPECT_EQ(Values<int64_t>(EagerAll(Op::k_sort, {m}, {int64_t{0}})[0]), (Longs{2, 1, 3, 4}));
}

TEST(Order, TopK) {
  std::vector<Tensor> r = EagerAll(Op::k_topk, {Make<float>({2, 3}, {1, 3, 2, 9, 7, 8})}, {int64_t{2}});
  EXPECT_EQ(Values<float>(r[0]), (std::vector<float>{3, 2, 9, 8}));
  EXPECT_EQ(Values<int64_t>(r[1]), (Longs{1, 2, 0, 2}));
  EXPECT_EQ(
      Values<float>(EagerAll(Op::k_topk, {Vector<float>({1, 3, 2})}, {int64_t{1}, int64_t{0}, false})[0]),
      (std::vector<float>{1}));
  EXPECT_EQ(ErrorOf(Op::k_topk, {Vector<float>({1})}, {int64_t{2}}, ErrorKind::kRuntime),
            "selected index k out of range");
}

TEST(DataDependent, NonZeroMaskedSelectUnique) {
  Tensor m = Make<int64_t>({2, 2}, {0, 5, 6, 0});
  Tensor where = Eager(Op::k_nonzero, {m});
  EXPECT_EQ(where.sizes(), (Sizes{2, 2}));
  EXPECT_EQ(Values<int64_t>(where), (Longs{0, 1, 1, 0}));
  EXPECT_EQ(Eager(Op::k_nonzero, {Make<float>({}, {3})}).sizes(), (Sizes{1, 0}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_masked_select, {m, Vector<bool>({false, true})})), (Longs{5, 0}));
  std::vector<Tensor> u = EagerAll(Op::k_unique, {Vector<int64_t>({3, 1, 1})}, {true, true, true, None{}});
  EXPECT_EQ(Values<int64_t>(u[0]), (Longs{1, 3}));
  EXPECT_EQ(Values<int64_t>(u[1]), (Longs{1, 0, 0}));
  EXPECT_EQ(Values<int64_t>(u[2]), (Longs{2, 1}));
  EXPECT_EQ(Eager(Op::k_unique, {Vector<float>({kNaN, kNaN})}).sizes(), (Sizes{2}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_bincount, {Vector<int64_t>({1, 3, 1}), Tensor()}, {int64_t{5}})),
            (Longs{0, 2, 0, 1, 0}));
}

TEST(DataDependent, InferRefusesSoThatATraceBreaks) {
  TensorMeta mask = ContiguousMeta(DType::kBool, {3}), x = ContiguousMeta(DType::kFloat32, {3}),
             i = ContiguousMeta(DType::kInt64, {2});
  EXPECT_TRUE(IsDataDependent(Op::k_nonzero, {&x}, {}));
  EXPECT_TRUE(IsDataDependent(Op::k_index, {&x, &mask}, {}));
  EXPECT_FALSE(IsDataDependent(Op::k_index, {&x, &i}, {}));
  EXPECT_TRUE(IsDataDependent(Op::k_one_hot, {&i}, {int64_t{-1}}));
  EXPECT_EQ(Infer(Op::k_nonzero, {&x}, {}).status().kind(), ErrorKind::kNotImplemented);
}

}  // namespace
}  // namespace thirdbook
