// What a GPU does for one call of a graph, as data for the JavaScript that does it (web/lib/webgpu).
//
// In: a graph, the metadata of its inputs, the adapter's limits. Out: JSON, made once for each set of input
// sizes:
//
//   slots     {kind, dtype, elements, first, last}       a buffer each; kind: input (with `index`), constant,
//   temporary, output;
//                                                        first and last: the steps that use it
//   shaders   {code}                                     equal for equal structures
//   steps     {kind: "dispatch", name, nodes, shader, slots, cells, groups}   slots are bindings 1, 2, …;
//   cells the uniform, binding 0
//             and for a step that looks up elements: indices: [{slot, low, high}], slots whose elements are
//             to be within [low, high) before it may run
//             {kind: "copy", from, to}
//             {kind: "host", reads, writes}              what has no shader: slots are read back,
//             RunHostStep, slots are written
//   outputs   {slot, dtype, shape, strides, offset}      in elements
//
// On the device an element takes 4 bytes, or 8 where the dtype has 64 bits, or 2 in a slot with `half`;
// strides and offsets are those of the CPU. Invariant: a slot is written by one step, before any that reads
// it. A graph that the limits do not allow is an error, and runs on the CPU.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernel/plan.h"

namespace thirdbook {

struct DeviceLimits {
  int storage_buffers = 8;           // bound at once
  int64_t buffer_bytes = 128 << 20;  // of one buffer
  int64_t groups = 65535;            // workgroups along a dimension
  // An adapter in software, where invocations of a workgroup wait for each other dearly: what can does
  // without.
  bool software = false;
  bool subgroups = false;  // of 64 invocations at most
  // Float32 values that stay inside the graph are stored as float16: the adapter can, and the user has asked.
  bool halves = false;
  std::set<int> own_inputs;  // of the graph, the same at every run: they count as inside
};

class DevicePlan {
 public:
  // `storage_elements`: of each input's whole storage.
  static Result<std::unique_ptr<DevicePlan>> Make(const Graph& graph,
                                                  const std::vector<const TensorMeta*>& inputs,
                                                  const std::vector<int64_t>& storage_elements,
                                                  const DeviceLimits& limits);

  const std::string& json() const { return json_; }
  const Tensor& Constant(int slot) const { return plan_->slots[static_cast<size_t>(slot)].constant; }
  // `storages`: the elements of step.reads. Gives contiguous tensors for step.writes.
  Result<std::vector<Tensor>> RunHostStep(const Graph& graph, int step,
                                          const std::vector<std::shared_ptr<Storage>>& storages) const;
  int dispatches() const { return dispatches_; }

 private:
  std::unique_ptr<Plan> plan_;
  std::string json_;
  int dispatches_ = 0;
};

}  // namespace thirdbook
