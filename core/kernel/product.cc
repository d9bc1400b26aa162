#include "kernel/product.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernel/wasm_product.h"

namespace thirdbook {
namespace {

constexpr int64_t kTileRows = 4;  // rows of a register tile; its columns: kPanel
constexpr int64_t kPanel = 8;
constexpr int64_t kBlockK = 256;  // k is cut into equal blocks of about so many
constexpr int64_t kBlockN = 1024;
constexpr int64_t kBandRows =
    16;  // rows between two epilogues; also what is packed of an A with strided columns

typedef float Vector __attribute__((vector_size(16), aligned(4)));

Vector Load(const float* p) {
  Vector v;
  std::memcpy(&v, p, 16);
  return v;
}
void Store(float* p, Vector v) { std::memcpy(p, &v, 16); }
Vector Splat(float x) { return Vector{x, x, x, x}; }

// The sums live in registers only where the loops over a tile's rows are gone, at every optimisation level.
#ifdef __clang__
#define TB_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TB_UNROLL
#endif

// One band: for each panel of B, tiles of R rows. The form that the generated kernel has too
// (wasm_product.h). Offsets of a tile's rows are pointer-sized and do not change: with 64-bit indices each
// element's address was computed anew, which took a sixth of the time.
template <int R>
void Band(const BandArguments& g) {
  const float* panel = g.panels;
  const auto a_row = static_cast<ptrdiff_t>(g.a_row), c_row = static_cast<ptrdiff_t>(g.c_row);
  const auto panel_size = static_cast<ptrdiff_t>(g.depth * kPanel);
  for (int64_t j = 0; j < g.panel_count; ++j, panel += panel_size) {
    const float* a = g.a;
    float* c = g.c + j * kPanel;
    for (int64_t tile = 0; tile < g.tiles; ++tile, a += R * a_row, c += R * c_row) {
      Vector sums[R][2];
      TB_UNROLL for (int i = 0; i < R; ++i) {
        sums[i][0] = g.accumulate ? Load(c + i * c_row) : Splat(0);
        sums[i][1] = g.accumulate ? Load(c + i * c_row + 4) : Splat(0);
      }
      const float* x = a;
      for (const float* b = panel; b != panel + panel_size; b += kPanel, ++x) {
        const Vector b0 = Load(b), b1 = Load(b + 4);
        TB_UNROLL for (int i = 0; i < R; ++i) {
          const Vector element = Splat(x[i * a_row]);
          sums[i][0] += element * b0;
          sums[i][1] += element * b1;
        }
      }
      TB_UNROLL for (int i = 0; i < R; ++i) {
        Store(c + i * c_row, sums[i][0]);
        Store(c + i * c_row + 4, sums[i][1]);
      }
    }
  }
}
#undef TB_UNROLL

void RunBandTiles(const BandArguments& g, int rows) {
  if (RunGeneratedBand(g, rows)) return;
  switch (rows) {
    case 4: return Band<4>(g);
    case 3: return Band<3>(g);
    case 2: return Band<2>(g);
    default: return Band<1>(g);
  }
}

// `rows` rows: whole tiles, then what is left.
void RunRows(BandArguments g, int64_t rows) {
  g.tiles = rows / kTileRows;
  if (g.tiles) RunBandTiles(g, kTileRows);
  const int left = static_cast<int>(rows % kTileRows);
  if (!left) return;
  g.a += g.tiles * kTileRows * g.a_row;
  g.c += g.tiles * kTileRows * g.c_row;
  g.tiles = 1;
  RunBandTiles(g, left);
}

// B[k0 .. k0+depth, n0 .. n0+columns] as panels: for each 8 columns, depth rows of 8; missing columns are 0.
void PackMatrix(const ProductShape& s, const float* b, int64_t k0, int64_t depth, int64_t n0, int64_t columns,
                float* out) {
  for (int64_t j = 0; j < columns; j += kPanel) {
    const int64_t width = std::min(kPanel, columns - j);
    const float* from = b + k0 * s.b_row + (n0 + j) * s.b_column;
    if (width == kPanel && s.b_column == 1) {
      for (int64_t p = 0; p < depth; ++p, from += s.b_row, out += kPanel) {
        Store(out, Load(from));
        Store(out + 4, Load(from + 4));
      }
      continue;
    }
    if (width == kPanel && s.b_row == 1) {  // columns are contiguous: 4 x 4 transposes
      int64_t p = 0;
      for (; p + 4 <= depth; p += 4, from += 4, out += 4 * kPanel) {
        for (int half = 0; half < 2; ++half) {
          const float* f = from + 4 * half * s.b_column;
          const Vector r0 = Load(f), r1 = Load(f + s.b_column), r2 = Load(f + 2 * s.b_column),
                       r3 = Load(f + 3 * s.b_column);
          const Vector t0 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5),
                       t1 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
          const Vector t2 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5),
                       t3 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
          float* o = out + 4 * half;
          Store(o, __builtin_shufflevector(t0, t2, 0, 1, 4, 5));
          Store(o + kPanel, __builtin_shufflevector(t0, t2, 2, 3, 6, 7));
          Store(o + 2 * kPanel, __builtin_shufflevector(t1, t3, 0, 1, 4, 5));
          Store(o + 3 * kPanel, __builtin_shufflevector(t1, t3, 2, 3, 6, 7));
        }
      }
      for (; p < depth; ++p, ++from, out += kPanel) {
        for (int64_t i = 0; i < kPanel; ++i) out[i] = from[i * s.b_column];
      }
      continue;
    }
    for (int64_t p = 0; p < depth; ++p, from += s.b_row, out += kPanel) {
      for (int64_t i = 0; i < width; ++i) out[i] = from[i * s.b_column];
      for (int64_t i = width; i < kPanel; ++i) out[i] = 0;
    }
  }
}

// Writes `count` elements (or zeros, where `from` is null) of row p of the panels, from column `column` on.
void PutRow(float* row, int64_t panel_stride, int64_t column, int64_t count, const float* from,
            int64_t step) {
  while (count > 0) {
    float* to = row + column / kPanel * panel_stride + column % kPanel;
    if (column % 4 == 0 && count >= 4 && step == 1) {
      Store(to, from ? Load(from) : Splat(0));
      column += 4, count -= 4;
      if (from) from += 4;
    } else {
      *to = from ? *from : 0;
      ++column, --count;
      if (from) from += step;
    }
  }
}

// The same from an image: row (channel, y, x of the kernel), column = output pixel. One row of pixels at a
// time: zeros where the window is over the left edge, a run of the image, zeros over the right edge.
void PackPatches(const ConvolutionShape& s, const float* image, int64_t k0, int64_t depth, int64_t n0,
                 int64_t columns, float* out) {
  const int64_t window = s.kernel_h * s.kernel_w, panel_stride = depth * kPanel;
  const int64_t padded = (columns + kPanel - 1) / kPanel * kPanel;
  int64_t channel = k0 / window, dy = k0 % window / s.kernel_w, dx = k0 % window % s.kernel_w;
  for (int64_t p = 0; p < depth; ++p, out += kPanel) {
    const float* plane = image + channel * s.height * s.width;
    const int64_t shift = dx * s.dilation_w - s.padding_w;  // input x of output x = 0
    // Output x whose input lies inside the image: [first, last).
    const int64_t first = shift >= 0 ? 0 : (-shift + s.stride_w - 1) / s.stride_w;
    const int64_t last = s.width <= shift ? 0 : (s.width - shift - 1) / s.stride_w + 1;
    int64_t y = n0 / s.out_w, x = n0 % s.out_w;
    for (int64_t column = 0; column < columns; ++y, x = 0) {
      const int64_t end = std::min(s.out_w, x + columns - column);  // of this row of pixels
      const int64_t in_y = y * s.stride_h - s.padding_h + dy * s.dilation_h;
      const bool inside = in_y >= 0 && in_y < s.height;
      const int64_t low = inside ? std::clamp(first, x, end) : end,
                    high = inside ? std::clamp(last, low, end) : end;
      PutRow(out, panel_stride, column, low - x, nullptr, 1);
      if (high > low)
        PutRow(out, panel_stride, column + low - x, high - low,
               plane + in_y * s.width + low * s.stride_w + shift, s.stride_w);
      PutRow(out, panel_stride, column + high - x, end - high, nullptr, 1);
      column += end - x;
    }
    PutRow(out, panel_stride, columns, padded - columns, nullptr, 1);
    if (++dx == s.kernel_w) dx = 0, ++dy;
    if (dy == s.kernel_h) dy = 0, ++channel;
  }
}

// A short last block would cost as many loads and stores of C as a whole one.
int64_t BlockDepth(int64_t k) {
  const int64_t blocks = std::max<int64_t>(1, (k + kBlockK / 2 - 1) / kBlockK);
  return std::max<int64_t>(4, ((k + blocks - 1) / blocks + 3) & ~int64_t{3});
}
int64_t BlockColumns(int64_t n) { return std::min((n + kPanel - 1) / kPanel * kPanel, kBlockN); }

}  // namespace

int64_t WorkspaceBytes(const ProductShape& s) {
  const int64_t depth = BlockDepth(s.k);
  int64_t floats = BlockColumns(s.n) * depth + kBandRows * kPanel;
  if (s.a_column != 1) floats += kBandRows * depth;
  return floats * 4;
}

void MultiplyPacked(const ProductShape& s, const float* a_all, const float* b_all, float* c_all,
                    float* workspace, BandDone done, void* context) {
  const int64_t block_k = BlockDepth(s.k), block_n = BlockColumns(s.n);
  float* panels = workspace;
  float* edge = panels + block_n * block_k;  // a band of the last, partial panel
  float* a_packed = edge + kBandRows * kPanel;
  const bool one_block = s.k <= block_k && s.n <= block_n;
  int64_t packed_for = -1;  // batch whose whole B is in `panels`
  for (size_t batch = 0; batch < s.a_batch.size(); ++batch) {
    const float* a = a_all + s.a_batch[batch];
    const float* b = b_all + s.b_batch[batch];
    float* c = c_all + s.c_batch[batch];
    for (int64_t n0 = 0; n0 < s.n; n0 += block_n) {
      const int64_t columns = std::min(block_n, s.n - n0);
      for (int64_t k0 = 0; k0 < std::max<int64_t>(s.k, 1); k0 += block_k) {
        const int64_t depth = std::min(block_k, s.k - k0);
        const bool packed =
            one_block && packed_for >= 0 && s.b_batch[static_cast<size_t>(packed_for)] == s.b_batch[batch];
        if (!packed) {
          if (s.convolution)
            PackPatches(s.image, b, k0, depth, n0, columns, panels);
          else
            PackMatrix(s, b, k0, depth, n0, columns, panels);
          packed_for = static_cast<int64_t>(batch);
        }
        for (int64_t first = 0; first < s.m; first += kBandRows) {
          const int64_t rows = std::min(kBandRows, s.m - first);
          BandArguments g;
          g.a = a + first * s.a_row + k0;
          g.a_row = s.a_row;
          if (s.a_column != 1) {
            for (int64_t i = 0; i < rows; ++i) {
              for (int64_t p = 0; p < depth; ++p)
                a_packed[i * depth + p] = a[(first + i) * s.a_row + (k0 + p) * s.a_column];
            }
            g.a = a_packed;
            g.a_row = depth;
          }
          g.panels = panels;
          g.depth = depth;
          g.accumulate = k0 > 0;
          g.c = c + first * s.c_row + n0;
          g.c_row = s.c_row;
          g.panel_count = columns / kPanel;
          if (g.panel_count) RunRows(g, rows);
          const int64_t rest = columns % kPanel;
          if (rest) {
            float* corner = g.c + g.panel_count * kPanel;
            if (g.accumulate) {
              for (int64_t i = 0; i < rows; ++i)
                std::memcpy(edge + i * kPanel, corner + i * s.c_row, static_cast<size_t>(rest) * 4);
            }
            g.panels = panels + g.panel_count * kPanel * depth;
            g.panel_count = 1;
            g.c = edge;
            g.c_row = kPanel;
            RunRows(g, rows);
            for (int64_t i = 0; i < rows; ++i)
              std::memcpy(corner + i * s.c_row, edge + i * kPanel, static_cast<size_t>(rest) * 4);
          }
          if (done && n0 + columns == s.n && k0 + depth == s.k)
            done(context, static_cast<int64_t>(batch), first, rows);
        }
      }
    }
  }
}

}  // namespace thirdbook
