// Copies between layouts and dtypes.
#pragma once

#include "tensor/tensor.h"

namespace thirdbook {

// Writes `source`, broadcast and converted, into `target`'s elements; their memory must not overlap.
void CopyElements(const Tensor& target, const Tensor& source);

// A fresh contiguous tensor of the same sizes.
Result<Tensor> ToContiguous(const Tensor& source, DType dtype);
// The same, or `source` itself when it is already so.
Result<Tensor> AsContiguous(const Tensor& source, DType dtype);
// `source` itself when it has the dtype, in whatever layout; else converted.
Result<Tensor> AsDType(const Tensor& source, DType dtype);

// A fresh storage with the same layout (strides, overlaps); the offset starts anew.
Result<Tensor> CopyLayout(const Tensor& source);

// The same memory, its bytes read as elements of another dtype: x.view(dtype). It stays in memory from now
// on.
Result<Tensor> ViewAs(const Tensor& source, DType dtype);
// All elements 0.
Result<Tensor> Zeros(DType dtype, Sizes sizes);

// The number in a tensor of one element.
double ScalarAsDouble(const Tensor& tensor);
int64_t ScalarAsInt64(const Tensor& tensor);

// The inner loop of a conversion: (target, source) with byte strides.
using ConvertLoop = void (*)(char* target, int64_t target_stride, const char* source, int64_t source_stride,
                             int64_t count);
ConvertLoop FindConvertLoop(DType to, DType from);

}  // namespace thirdbook
