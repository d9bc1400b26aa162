// Matrix product: packed panels and a register tile that the compiler vectorises.
//
//   C[m, n]  =  A[m, k] · B[k, n]
//     for kc-deep slices:  pack B into panels of kNR columns, A into panels of kMR rows, then tile by tile
#include <algorithm>
#include <cstring>

#include "tensor/element.h"
#include "tensor/families.h"

namespace thirdbook {
namespace {

constexpr int64_t kMR = 4;          // rows of a tile
constexpr int64_t kNR = 8;          // columns of a tile
constexpr int64_t kDepth = 256;     // of a slice
constexpr int64_t kRows = 64;       // of A packed at once
constexpr int64_t kColumns = 1024;  // of B packed at once
constexpr int64_t kSmall = 512;     // multiplications below which packing does not pay

template <typename T>
void Tile(int64_t depth, const T* a, const T* b, T* c, int64_t ldc, int64_t rows, int64_t columns,
          bool accumulate) {
  T sums[kMR][kNR] = {};
  for (int64_t p = 0; p < depth; ++p, a += kMR, b += kNR) {
    for (int64_t i = 0; i < kMR; ++i) {
      for (int64_t j = 0; j < kNR; ++j) sums[i][j] += a[i] * b[j];
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      c[i * ldc + j] = accumulate ? c[i * ldc + j] + sums[i][j] : sums[i][j];
  }
}

// `count` lines (rows of A or columns of B) of `depth` elements, interleaved `width` at a time, short panels
// filled up with zeros.
template <typename T>
void Pack(const T* source, int64_t line_stride, int64_t element_stride, int64_t count, int64_t depth,
          int64_t width, T* panels) {
  for (int64_t first = 0; first < count; first += width) {
    int64_t lines = std::min(width, count - first);
    const T* from = source + first * line_stride;
    for (int64_t p = 0; p < depth; ++p, panels += width) {
      for (int64_t i = 0; i < lines; ++i) panels[i] = from[i * line_stride + p * element_stride];
      for (int64_t i = lines; i < width; ++i) panels[i] = T(0);
    }
  }
}

}  // namespace

template <typename T>
void Gemm(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_column, const T* b,
          int64_t b_row, int64_t b_column, T* c, int64_t ldc, bool accumulate) {
  if constexpr (std::is_integral_v<T>) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        T total = accumulate ? c[i * ldc + j] : T(0);
        for (int64_t p = 0; p < k; ++p)
          total = WrapAdd(total, WrapMul(a[i * a_row + p * a_column], b[p * b_row + j * b_column]));
        c[i * ldc + j] = total;
      }
    }
  } else {
    if (k == 0 || m * n * k <= kSmall || m == 1) {
      // Few elements, or one row: sums in double cost nothing and are exact enough.
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double total = accumulate ? static_cast<double>(c[i * ldc + j]) : 0;
          for (int64_t p = 0; p < k; ++p) {
            total += static_cast<double>(a[i * a_row + p * a_column]) *
                     static_cast<double>(b[p * b_row + j * b_column]);
          }
          c[i * ldc + j] = static_cast<T>(total);
        }
      }
      return;
    }
    int64_t width = std::min((n + kNR - 1) / kNR * kNR, kColumns);
    std::vector<T> b_panels(static_cast<size_t>(width * std::min(k, kDepth)));
    std::vector<T> a_panels(static_cast<size_t>(kRows * std::min(k, kDepth)));
    for (int64_t first = 0; first < n; first += kColumns) {
      int64_t columns = std::min(kColumns, n - first);
      for (int64_t p = 0; p < k; p += kDepth) {
        int64_t depth = std::min(kDepth, k - p);
        Pack(b + p * b_row + first * b_column, b_column, b_row, columns, depth, kNR, b_panels.data());
        for (int64_t i = 0; i < m; i += kRows) {
          int64_t rows = std::min(kRows, m - i);
          Pack(a + i * a_row + p * a_column, a_row, a_column, rows, depth, kMR, a_panels.data());
          for (int64_t j = 0; j < columns; j += kNR) {
            for (int64_t r = 0; r < rows; r += kMR) {
              Tile(depth, a_panels.data() + r * depth, b_panels.data() + j * depth,
                   c + (i + r) * ldc + first + j, ldc, std::min(kMR, rows - r), std::min(kNR, columns - j),
                   accumulate || p > 0);
            }
          }
        }
      }
    }
  }
}

template void Gemm<float>(int64_t, int64_t, int64_t, const float*, int64_t, int64_t, const float*, int64_t,
                          int64_t, float*, int64_t, bool);
template void Gemm<double>(int64_t, int64_t, int64_t, const double*, int64_t, int64_t, const double*, int64_t,
                           int64_t, double*, int64_t, bool);
template void Gemm<int64_t>(int64_t, int64_t, int64_t, const int64_t*, int64_t, int64_t, const int64_t*,
                            int64_t, int64_t, int64_t*, int64_t, bool);
template void Gemm<int32_t>(int64_t, int64_t, int64_t, const int32_t*, int64_t, int64_t, const int32_t*,
                            int64_t, int64_t, int32_t*, int64_t, bool);
template void Gemm<uint8_t>(int64_t, int64_t, int64_t, const uint8_t*, int64_t, int64_t, const uint8_t*,
                            int64_t, int64_t, uint8_t*, int64_t, bool);

}  // namespace thirdbook
