// Packed, register-tiled, cache-blocked float32 matrix products, and convolutions as products.
//
//   C[m, n] = A[m, k] · B[k, n]        for each matrix of a batch
//
//   for n in blocks of kBlockN:  for k in blocks of kBlockK:  pack B into panels of 8 columns
//     for each band of rows:  micro-kernel over the panels;  after the last k block: the epilogue on the band
//
// A convolution is the product weight[o, ckk] · patches[ckk, pixels]; the patches are packed straight from
// the image.
//
// In: shapes with strides in elements, a workspace. Out: C. The micro-kernel is C++ with 128-bit vectors;
// where the engine has relaxed SIMD a generated one with fused multiply-add takes its place. Invariant: reads
// exactly A, B; writes exactly C and the workspace.
#pragma once

#include <cstdint>
#include <functional>

#include "kernel/engine.h"

namespace thirdbook {

struct ConvolutionShape {
  int64_t channels = 0, height = 0, width = 0;  // of one group of the image
  int64_t kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1, padding_h = 0, padding_w = 0, dilation_h = 1, dilation_w = 1;
  int64_t out_h = 0, out_w = 0;
};

struct ProductShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0;  // strides in elements
  int64_t c_row = 0;                                         // C's columns are contiguous
  // Batch: offsets in elements of each matrix; at least one entry.
  std::vector<int64_t> a_batch{0}, b_batch{0}, c_batch{0};
  bool convolution = false;  // B is an image
  ConvolutionShape image;
};

// Bytes of workspace for packing.
int64_t WorkspaceBytes(const ProductShape& shape);

// Called when rows [first, first + count) of matrix `batch` are complete.
using BandDone = void (*)(void* context, int64_t batch, int64_t first, int64_t count);

void MultiplyPacked(const ProductShape& shape, const float* a, const float* b, float* c, float* workspace,
                    BandDone done, void* context);

}  // namespace thirdbook
