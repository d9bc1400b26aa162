// Small dense solvers, in double: LU with partial pivoting, Cholesky.
#include <algorithm>
#include <cmath>

#include "graph/attrs.h"
#include "graph/shape.h"
#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/families.h"

namespace thirdbook {
namespace {

// L and U in one matrix, and the order of the rows. `singular` is the 1-based place of the first zero pivot,
// 0 when there is none.
struct Factors {
  std::vector<double> lu;
  std::vector<int64_t> rows;
  bool odd = false;  // permutation
  int64_t singular = 0;
};

Factors Factorise(const double* a, int64_t n) {
  Factors f;
  f.lu.assign(a, a + n * n);
  f.rows.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) f.rows[static_cast<size_t>(i)] = i;
  double* m = f.lu.data();
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r) {
      if (std::fabs(m[r * n + c]) > std::fabs(m[pivot * n + c])) pivot = r;
    }
    if (pivot != c) {
      std::swap_ranges(m + c * n, m + (c + 1) * n, m + pivot * n);
      std::swap(f.rows[static_cast<size_t>(c)], f.rows[static_cast<size_t>(pivot)]);
      f.odd = !f.odd;
    }
    if (m[c * n + c] == 0) {
      if (f.singular == 0) f.singular = c + 1;
      continue;
    }
    for (int64_t r = c + 1; r < n; ++r) {
      double factor = m[r * n + c] /= m[c * n + c];
      for (int64_t j = c + 1; j < n; ++j) m[r * n + j] -= factor * m[c * n + j];
    }
  }
  return f;
}

// x = A⁻¹ b for `columns` right sides; b and x are row-major n × columns.
void Substitute(const Factors& f, int64_t n, const double* b, double* x, int64_t columns) {
  const double* m = f.lu.data();
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < n; ++i) {
      double value = b[f.rows[static_cast<size_t>(i)] * columns + j];
      for (int64_t p = 0; p < i; ++p) value -= m[i * n + p] * x[p * columns + j];
      x[i * columns + j] = value;
    }
    for (int64_t i = n; i-- > 0;) {
      double value = x[i * columns + j];
      for (int64_t p = i + 1; p < n; ++p) value -= m[i * n + p] * x[p * columns + j];
      x[i * columns + j] = value / m[i * n + i];
    }
  }
}

std::string InBatch(const Tensor& a, int64_t batch) {
  return a.meta().rank() > 2 ? Format("(Batch element %lld): ", static_cast<long long>(batch))
                             : std::string();
}

void Transpose(const double* from, int64_t rows, int64_t columns, double* to) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
}

Status Invert(const Tensor& a, const double* from, double* to, int64_t n, int64_t batches) {
  std::vector<double> identity(static_cast<size_t>(n * n), 0.0);
  for (int64_t i = 0; i < n; ++i) identity[static_cast<size_t>(i * n + i)] = 1;
  for (int64_t k = 0; k < batches; ++k) {
    Factors f = Factorise(from + k * n * n, n);
    if (f.singular) {
      return RuntimeError("linalg.inv: " + InBatch(a, k) +
                          Format("The diagonal element %lld is zero, the inversion could not be completed "
                                 "because the input matrix is singular.",
                                 static_cast<long long>(f.singular)));
    }
    Substitute(f, n, identity.data(), to + k * n * n, n);
  }
  return Status::Ok();
}

Status Cholesky(const Tensor& a, const double* from, double* to, int64_t n, int64_t batches, bool upper) {
  for (int64_t k = 0; k < batches; ++k, from += n * n, to += n * n) {
    std::fill(to, to + n * n, 0.0);
    // Only one triangle is read: the lower one, or the upper one transposed.
    auto read = [&](int64_t i, int64_t j) { return upper ? from[j * n + i] : from[i * n + j]; };
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        double value = read(i, j);
        for (int64_t p = 0; p < j; ++p) value -= to[i * n + p] * to[j * n + p];
        if (i == j && !(value > 0)) {
          return RuntimeError(
              "linalg.cholesky: " + InBatch(a, k) +
              Format("The factorization could not be completed because the input is "
                     "not positive-definite (the leading minor of order %lld is not positive-definite).",
                     static_cast<long long>(i + 1)));
        }
        to[i * n + j] = i == j ? std::sqrt(value) : value / to[j * n + j];
      }
    }
    if (upper) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < i; ++j) std::swap(to[i * n + j], to[j * n + i]);
      }
    }
  }
  return Status::Ok();
}

// A X = B, or X A = B by the transposes.
Result<Tensor> Solve(const Tensor& a, const Tensor& b, const Sizes& sizes, bool left) {
  int64_t n = a.sizes().back();
  Sizes a_vectors(a.sizes().begin(), a.sizes().end() - 1);
  bool vector = b.meta().rank() == 1 || (b.meta().rank() == a.meta().rank() - 1 && b.sizes() == a_vectors);
  int64_t rows = vector ? n : b.sizes()[b.sizes().size() - 2], columns = vector ? 1 : b.sizes().back();
  TB_ASSIGN_OR_RETURN(Tensor x, Tensor::Empty(DType::kFloat64, sizes));
  Sizes batch(sizes.begin(), sizes.end() - (vector ? 1 : 2));
  Sizes a_sizes = batch, b_sizes = sizes;
  a_sizes.insert(a_sizes.end(), {n, n});
  TB_ASSIGN_OR_RETURN(Tensor a_all, Tensor::Empty(DType::kFloat64, a_sizes));
  TB_ASSIGN_OR_RETURN(Tensor b_all, Tensor::Empty(DType::kFloat64, b_sizes));
  CopyElements(a_all, a);
  CopyElements(b_all, b);
  int64_t batches = 1;
  for (int64_t s : batch) batches *= s;
  std::vector<double> transposed(static_cast<size_t>(n * n)), right(static_cast<size_t>(rows * columns)),
      solved(right.size());
  for (int64_t k = 0; k < batches; ++k) {
    const double* matrix = a_all.data<double>() + k * n * n;
    const double* side = b_all.data<double>() + k * rows * columns;
    double* out = x.data<double>() + k * rows * columns;
    if (!left) {
      Transpose(matrix, n, n, transposed.data());
      matrix = transposed.data();
    }
    Factors f = Factorise(matrix, n);
    if (f.singular) {
      return RuntimeError("torch.linalg.solve: " + InBatch(a, k) +
                          "The solver failed because the input matrix is singular.");
    }
    if (left) {
      Substitute(f, n, side, out, columns);
    } else {
      Transpose(side, rows, columns, right.data());
      Substitute(f, n, right.data(), solved.data(), rows);
      Transpose(solved.data(), columns, rows, out);
    }
  }
  return x;
}

}  // namespace

Result<Tensors> ExecuteSolver(const KernelCall& call) {
  DType dtype = call.outputs[0].dtype;
  if (call.op == Op::k_linalg_solve) {
    TB_ASSIGN_OR_RETURN(Tensor x,
                        Solve(call.in(0), call.in(1), call.outputs[0].sizes, BoolAttr(call.attrs, 0)));
    TB_ASSIGN_OR_RETURN(x, AsContiguous(x, dtype));
    return Tensors{x};
  }
  TB_ASSIGN_OR_RETURN(Tensor a, AsContiguous(call.in(0), DType::kFloat64));
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(DType::kFloat64, call.outputs[0].sizes));
  int64_t n = a.sizes().back();
  int64_t batches = 1;
  for (size_t i = 0; i + 2 < a.sizes().size(); ++i) batches *= a.sizes()[i];
  const double* from = a.data<double>();
  double* to = out.data<double>();
  switch (call.op) {
    case Op::k_linalg_inv: TB_RETURN_IF_ERROR(Invert(a, from, to, n, batches)); break;
    case Op::k_linalg_cholesky:
      TB_RETURN_IF_ERROR(Cholesky(a, from, to, n, batches, BoolAttr(call.attrs, 0)));
      break;
    default:
      for (int64_t k = 0; k < batches; ++k) {
        Factors f = Factorise(from + k * n * n, n);
        double value = f.odd ? -1 : 1;
        for (int64_t i = 0; i < n; ++i) value *= f.lu[static_cast<size_t>(i * n + i)];
        to[k] = value;
      }
  }
  TB_ASSIGN_OR_RETURN(out, AsContiguous(out, dtype));
  return Tensors{out};
}

}  // namespace thirdbook
