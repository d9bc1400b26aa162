// Operations that take their elements from computed places, as loop forms for a GPU: what concatenates,
// flips, pads, looks up and pools, and what finds where an extremum is.
//
// In: a node and the metadata of its values. Out: a loop form with its bindings, and which of its operands
// hold indices within which bounds; NotImplemented where the node has no such form (another operation, a
// dtype or a case that it does not cover). Invariant: as of every loop form, its text depends on the
// structure only; sizes, strides and distances are its parameters. No address leaves its buffer as long as
// the indices are within their bounds.
#pragma once

#include <vector>

#include "kernel/lower.h"
#include "kernel/plan.h"

namespace thirdbook {

// `max_buffers`: how many a kernel may bind.
Result<LoweredUnit> LowerIndexed(const Graph& graph, const ValueMetas& metas, NodeId id, int max_buffers);

}  // namespace thirdbook
