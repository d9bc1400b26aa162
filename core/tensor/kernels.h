// Every op computed in plain C++ (vectorised where it matters): eager calls, the reference executor and the
// parts of compiled graphs for which no kernel is generated.
#pragma once

#include <vector>

#include "base/status.h"
#include "graph/op.h"
#include "tensor/tensor.h"

namespace thirdbook {

// Checks (through Infer), allocates and computes. View ops share the operand's storage, all others give fresh
// contiguous tensors. An optional operand that is missing is an undefined Tensor.
Result<std::vector<Tensor>> Execute(Op op, const std::vector<Tensor>& operands, const Attrs& attrs);

// Results belong to the device of their operands: their meta says so, the elements are in memory.
Result<std::vector<Tensor>> OnDevice(Result<std::vector<Tensor>> results, Device device);

// Writes `value` (broadcast, converted) into the elements of `target`, as Tensor.copy_ does; correct for
// overlapping memory.
Status CopyInto(const Tensor& target, const Tensor& value);

}  // namespace thirdbook
