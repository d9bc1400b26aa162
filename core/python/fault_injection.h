// Faults on demand, for tests: the n-th event of a kind inside compiled graphs fails once, as it would in
// nature.
//
// Kinds: "allocation" (a storage of a graph's run), "kernel" (making an Executable, instantiating a kernel),
// "dispatch" (one step of a run). In: `_core.inject_fault(kind, nth)`; nth counts from 0, a negative one
// disarms. Out: how many events of the kind there were since the last arming. Invariant: only events inside a
// FaultScope count; plain tensor code, and the original frame that runs after a fault, meet none. Nothing
// armed: a scope costs one comparison.
#pragma once

#include <Python.h>

namespace thirdbook {

extern bool fault_armed;  // of any kind

// Around what a compiled graph does: being made ready, and each run.
class FaultScope {
 public:
  FaultScope() : active_(fault_armed) {
    if (active_) Enter();
  }
  FaultScope(const FaultScope&) = delete;
  FaultScope& operator=(const FaultScope&) = delete;
  ~FaultScope() {
    if (active_) Leave();
  }

 private:
  static void Enter();
  static void Leave();
  bool active_;
};

// Counts the making of an Executable as a "kernel" event, outside of any scope; true: it has to fail.
bool MakingFault();

bool InitFaultInjection(PyObject* module);  // inject_fault

}  // namespace thirdbook
