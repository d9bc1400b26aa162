// Products and small solvers, checked against plain sums.
#include <cmath>

#include "make.h"
#include "tensor/generator.h"

namespace thirdbook {
namespace {

using Floats = std::vector<float>;

Tensor Random(Sizes sizes) { return Eager(Op::k_randn, {}, {std::move(sizes)}); }

void ExpectProduct(const Tensor& a, const Tensor& b) {
  Floats got = Values<float>(Eager(Op::k_mm, {a, b})), x = Values<float>(a), y = Values<float>(b);
  int64_t m = a.sizes()[0], k = a.sizes()[1], n = b.sizes()[1];
  ASSERT_EQ(got.size(), static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double total = 0, size = 0;
      for (int64_t p = 0; p < k; ++p) {
        double term = static_cast<double>(x[static_cast<size_t>(i * k + p)]) *
                      static_cast<double>(y[static_cast<size_t>(p * n + j)]);
        total += term;
        size += std::fabs(term);
      }
      ASSERT_NEAR(got[static_cast<size_t>(i * n + j)], total, 1e-6 * size + 1e-6)
          << m << "x" << k << "x" << n << " at " << i << "," << j;
    }
  }
}

TEST(Product, EverySizeAroundTheTiles) {
  DefaultGenerator().Seed(1);
  for (int64_t m : {1, 3, 4, 5, 67}) {
    for (int64_t k : {0, 1, 9, 300}) {
      for (int64_t n : {1, 7, 8, 9, 33}) ExpectProduct(Random({m, k}), Random({k, n}));
    }
  }
  ExpectProduct(Random({3, 40}), Random({40, 1030}));
}

TEST(Product, AnyStrides) {
  DefaultGenerator().Seed(2);
  Tensor a = Random({30, 20}), b = Random({40, 30});
  ExpectProduct(Eager(Op::k_t, {a}), Eager(Op::k_t, {b}));
  Tensor stepped = Eager(Op::k_slice, {Random({30, 60})}, {int64_t{1}, int64_t{0}, None{}, int64_t{3}});
  ExpectProduct(stepped, Random({20, 11}));
}

TEST(Product, MatmulOfEveryRank) {
  Tensor v = Vector<float>({1, 2}), m = Make<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(Values<float>(Eager(Op::k_matmul, {v, v})), (Floats{5}));
  EXPECT_EQ(Values<float>(Eager(Op::k_matmul, {m, v})), (Floats{5, 11}));
  EXPECT_EQ(Values<float>(Eager(Op::k_matmul, {v, m})), (Floats{7, 10}));
  Tensor batch = Make<float>({2, 1, 2}, {1, 0, 0, 1});
  Tensor r = Eager(Op::k_matmul, {batch, m});
  EXPECT_EQ(r.sizes(), (Sizes{2, 1, 2}));
  EXPECT_EQ(Values<float>(r), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(
      Eager(Op::k_matmul, {Make<float>({3, 1, 1, 2}, Floats(6)), Make<float>({4, 2, 5}, Floats(40))}).sizes(),
      (Sizes{3, 4, 1, 5}));
  EXPECT_EQ(Values<int64_t>(Eager(Op::k_mm, {Make<int64_t>({1, 2}, {3, 4}), Make<int64_t>({2, 1}, {5, 6})})),
            (std::vector<int64_t>{39}));
  EXPECT_EQ(Values<float>(Eager(Op::k_outer, {v, v})), (Floats{1, 2, 2, 4}));
}

TEST(Product, AddMMAndLinear) {
  Tensor m = Make<float>({2, 2}, {1, 2, 3, 4}), bias = Vector<float>({10, 20});
  EXPECT_EQ(Values<float>(Eager(Op::k_addmm, {bias, m, m}, {2.0, 0.5})), (Floats{23.5f, 45, 27.5f, 51}));
  EXPECT_EQ(Values<float>(Eager(Op::k_linear, {m, m, bias})), (Floats{15, 31, 21, 45}));
  Tensor nan = Vector<float>({NAN, NAN});
  EXPECT_EQ(Values<float>(Eager(Op::k_addmm, {nan, m, m}, {int64_t{0}, int64_t{1}})),
            (Floats{7, 10, 15, 22}));
}

TEST(Product, Errors) {
  Tensor a = Make<float>({2, 3}, Floats(6)), b = Make<float>({4, 5}, Floats(20));
  EXPECT_EQ(ErrorOf(Op::k_mm, {a, b}, {}, ErrorKind::kRuntime),
            "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
  EXPECT_EQ(ErrorOf(Op::k_mm, {a, Make<double>({3, 1}, {0, 0, 0})}, {}, ErrorKind::kRuntime),
            "expected m1 and m2 to have the same dtype, but got: float != double");
  EXPECT_EQ(
      ErrorOf(Op::k_dot, {Vector<float>({1}), Vector<float>({1, 2})}, {}, ErrorKind::kRuntime).substr(0, 55),
      "inconsistent tensor size, expected tensor [1] and src [");
}

TEST(Solver, SolvesInvertsFactors) {
  Tensor a = Make<double>({2, 2}, {0, 2, 1, 1});  // needs a row exchange
  EXPECT_EQ(Values<double>(Eager(Op::k_linalg_solve, {a, Vector<double>({4, 3})})),
            (std::vector<double>{1, 2}));
  EXPECT_EQ(Values<double>(Eager(Op::k_linalg_solve, {a, Make<double>({1, 2}, {2, 4})}, {false})),
            (std::vector<double>{1, 2}));
  EXPECT_EQ(Values<double>(Eager(Op::k_linalg_inv, {a})), (std::vector<double>{-0.5, 1, 0.5, 0}));
  EXPECT_EQ(Values<double>(Eager(Op::k_linalg_det, {a})), (std::vector<double>{-2}));
  Tensor spd = Make<double>({2, 2}, {4, 2, 2, 10});
  EXPECT_EQ(Values<double>(Eager(Op::k_linalg_cholesky, {spd})), (std::vector<double>{2, 0, 1, 3}));
  EXPECT_EQ(Values<double>(Eager(Op::k_linalg_cholesky, {spd}, {true})), (std::vector<double>{2, 1, 0, 3}));
  Tensor zero = Make<double>({2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(ErrorOf(Op::k_linalg_inv, {zero}, {}, ErrorKind::kRuntime),
            "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed because the "
            "input matrix is singular.");
  EXPECT_EQ(Eager(Op::k_linalg_det, {Make<double>({0, 2, 2}, {})}).sizes(), (Sizes{0}));
}

}  // namespace
}  // namespace thirdbook
