// A matrix product, or a convolution as one, as a compute shader, with its epilogue.
//
// In: the structure (convolution, batch) and the epilogue as a loop form over the product's elements in
// row-major order, in which one buffer stands for the product. Out: WGSL; cells of kind kShape are the
// numbers that WgslProductShape lists, in its order. Invariant: sums in one float32 accumulator an element,
// in the order of k.
//
// A workgroup of 64 computes a tile of 32 x 32, an invocation 4 x 4 of it; 16 rows of B and columns of A at a
// time lie in workgroup memory. Or (direct) each invocation reads what it needs for 8 x 8: nothing is waited
// for, and a load serves eight products.
#pragma once

#include "kernel/product.h"
#include "kernel/wgsl_body.h"

namespace thirdbook {

struct WgslProductForm {
  bool convolution = false;
  bool direct = false;                  // no workgroup memory: for adapters in software
  bool a_half = false, b_half = false;  // their elements are float16
  bool batched = false;                 // more than one matrix: `offsets` holds a pair (a, b) for each
  int a = 1, b = 2, offsets = 3;        // bindings
  int product = -1;                     // the epilogue's buffer that is the product
};

WgslShader EmitWgslProduct(const WgslProductForm& form, const LoopKernel& epilogue,
                           const std::vector<int>& bindings);
// Rows and columns of what a workgroup computes.
int WgslProductTile(const WgslProductForm& form);
// The epilogue of a product that has none: buffer 0 is the product, buffer 1 what is written.
LoopKernel PlainEpilogue();

// `a_base`, `b_base`: elements from the start of their buffers.
std::vector<int64_t> WgslProductShape(const ProductShape& shape, int64_t a_base, int64_t b_base);

}  // namespace thirdbook
