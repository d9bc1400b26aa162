// A graph made ready to run: a list of tagged steps (generated kernel, library kernel, view), an arena for
// intermediates.
//
// In: a verified Graph. Out: Run takes the inputs in the graph's order and gives fresh tensors for the
// outputs: each has a storage of its own, shared neither with an input nor with another output, whatever
// passes merged. Invariant: Run writes nothing but its own memory, so a failure leaves the world as it was.
// Sizes may differ from those of the trace as long as the graph still infers: plans are kept per size,
// generated kernels take sizes as arguments.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"

namespace thirdbook {

// What a kernel looked like, for reports.
struct KernelReport {
  std::string name;   // "k0_mul_add_tanh"
  std::string loops;  // loop form
  std::string text;   // wasm text or WGSL
  std::vector<NodeId> nodes;
};

class Executable {
 public:
  virtual ~Executable() = default;
  virtual Result<std::vector<Tensor>> Run(const std::vector<Tensor>& inputs) = 0;
  // The same without copies of the inputs: `count` pointers to tensors. `outputs` is overwritten; a tensor
  // that is there already offers its memory for that output, which is used where the layouts agree.
  virtual Status RunInto(const Tensor* const* inputs, size_t count, std::vector<Tensor>* outputs) = 0;
  virtual std::vector<KernelReport> Kernels() const = 0;
  virtual int64_t PeakBytes() const = 0;     // intermediates' arena, of the last run
  virtual std::string PlanText() const = 0;  // the steps of the last plan
};

// kAuto: on wasm, and on the GPU where an input is there. Here, both kAuto and kWebGpu are kWasm; who runs
// graphs on the GPU asks first.
enum class Backend : uint8_t { kReference, kWasm, kWebGpu, kAuto };

// Optimises, plans and (where the engine allows) generates code. Falls back step by step: what cannot be
// generated runs as a library kernel.
Result<std::unique_ptr<Executable>> CompileGraph(Graph graph, Backend backend);

}  // namespace thirdbook
