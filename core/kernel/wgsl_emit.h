// A loop form as a compute shader.
//
// In: a kernel as lower.cc made it (with kMath rows), and where its buffers are bound. Out: WGSL and the
// cells of its uniform. Invariant: the text depends on the structure only, so a new size compiles nothing;
// reads and writes exactly what the cells describe.
//
//   elements     no folds: an invocation as many elements of the whole domain as the number of workgroups
//   asks
//                for; they lie in two dimensions
//   row groups   folds: a workgroup takes a row, its invocations every 64th element; partial results meet in
//                a tree: through subgroups where there are any, else in workgroup memory
//   row threads  folds of few elements, or along dimensions that are not the contiguous ones: an invocation
//                takes a row
//
// What the wasm form keeps in a scratch row is computed again: arithmetic is cheaper there than memory.
#pragma once

#include "kernel/wgsl_body.h"

namespace thirdbook {

inline constexpr int kWgslGroup = 64;  // invocations of a workgroup

enum class WgslForm : uint8_t { kElements, kRowGroups, kRowThreads };

// `form`: kElements exactly when the kernel has no folds. `subgroups`: the adapter has them, of 64
// invocations at most.
WgslShader EmitWgsl(const LoopKernel& kernel, const std::vector<int>& bindings, WgslForm form,
                    bool subgroups = false);

// The statements that compute the element whose running number is in the variable `number`, of a kernel
// without folds; what is less deep than `from` has been defined.
void EmitElement(const LoopKernel& kernel, const std::string& number, WgslBody* body,
                 Depth from = Depth::kKernel);

}  // namespace thirdbook
