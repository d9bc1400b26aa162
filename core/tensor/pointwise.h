// Inner loops of pointwise ops, found by (op, compute dtype).
#pragma once

#include "graph/op.h"
#include "tensor/tensor.h"

namespace thirdbook {

// What a loop needs beside its arrays, and what it reports.
struct LoopState {
  double number = 0;    // alpha of floating add/sub, 10^decimals of round, an exponent
  int64_t integer = 1;  // alpha of integer add/sub
  bool zero_division = false;
};

// addresses[0] is the output, then the operands; strides in bytes.
using PointwiseLoop = void (*)(char* const* addresses, const int64_t* strides, int64_t count,
                               LoopState* state);

PointwiseLoop FindUnaryLoop(Op op, DType compute);
PointwiseLoop FindBinaryLoop(Op op, DType compute);
PointwiseLoop FindAddScaledLoop(DType compute);  // a + alpha * b
PointwiseLoop FindTruncDivideLoop(DType compute);

PointwiseLoop FindRoundDecimalsLoop(
    DType compute);  // state.number: 10^|decimals|, negated for negative decimals

// pow with an exponent that every element shares: products and roots where they are exact enough (PyTorch
// does the same).
PointwiseLoop FindPowNumberLoop(double exponent, DType compute);

Result<std::vector<Tensor>> ExecutePointwise(Op op, const std::vector<Tensor>& operands, const Attrs& attrs,
                                             const TensorMeta& output);

}  // namespace thirdbook
