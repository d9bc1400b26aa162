// A graph on the page's GPU, through thirdbook._gpu.
//
// In: inputs as the graph takes them. Out: tensors whose elements are on the device until someone reads them
// (tensor.h). Errors: none of the device's: it is said that the graph has not run, nothing has changed, and
// the CPU runs it. Invariant: inputs that belong to the device (their meta says so) stay there; others are
// copied at each run.
#pragma once

#include <Python.h>

#include <vector>

#include "graph/graph.h"
#include "graph/work.h"
#include "python/py_ref.h"

namespace thirdbook {

class DeviceGraph {
 public:
  // Whether a graph whose inputs are in memory is worth the way there and back: the cost model's word
  // (_device_choice.py), for this program and moment.
  bool Gains(const Graph& graph);

  // False: it has not run.
  bool Run(const Graph& graph, const Tensor* const* inputs, size_t n, std::vector<Tensor>* outputs);

 private:
  PyRef program_;
  enum class Gain : uint8_t { kUnknown, kNever, kPerhaps } gain_ = Gain::kUnknown;
  GraphWork work_;
};

// Whether an input is on the device, or belongs there.
bool AnyOnDevice(const Tensor* const* inputs, size_t n);

// target's elements become value's by a copy on the device, where value is there and both are whole storages
// of one layout; false: nothing has happened.
bool CommitOnDevice(const Tensor& target, const Tensor& value);

bool InitDeviceGraph(PyObject* module);  // _device_id, _with_device

}  // namespace thirdbook
