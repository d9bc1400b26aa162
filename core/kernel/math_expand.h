// Rewrites the kMath rows of prims.def into arithmetic, for emitters that have no native function (wasm).
//
// In: a verified loop form. Out: the same kernel with kCore and kHost rows only. float32 functions below
// become straight-line vector code within 2 ulp of the exact value for every argument
// (tests/native/kernel/math_test.cc goes through all of float32); the other float32 functions and all float64
// ones become calls of the C library's function for each lane.
//
//   exp exp2 expm1 sigmoid tanh   x = n ln2 + r, e^r by a minimax polynomial, 2^n through the exponent bits
//   log log2 log10 log1p          x = 2^e m, sqrt(1/2) <= m < sqrt(2), log(m) by a polynomial in m - 1
//   sin cos                       Cody-Waite reduction in four parts up to |x| = 6400, libm for the lanes
//   beyond erf                           |x| < 1: odd polynomial; else 1 - exp(-q(|x|)), q fitted to -log
//   erfc
//
// The polynomials' coefficients are our own weighted minimax fits (Lawson's iteration on Chebyshev nodes, in
// double).
#pragma once

#include "kernel/loops.h"

namespace thirdbook {

LoopKernel ExpandMath(const LoopKernel& kernel);

}  // namespace thirdbook
