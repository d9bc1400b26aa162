// One node as expressions.
//
// In: the node and its operands as expressions (missing ones have id -1). Out: its value. LowersOp says
// beforehand whether it can.
#pragma once

#include "graph/graph.h"
#include "kernel/expr.h"

namespace thirdbook {

// By op, dtypes and attributes only.
bool LowersOp(const Node& node, const std::vector<const TensorMeta*>& operands, const TensorMeta& output);

TypedExpr LowerOp(ExprPool& pool, const Node& node, const std::vector<const TensorMeta*>& operands,
                  const std::vector<TypedExpr>& values, const TensorMeta& output);

}  // namespace thirdbook
