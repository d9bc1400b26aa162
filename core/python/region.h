// Regions: the dynamic extents in which the frame hook is on (a compiled call) or off (a disabled call, or
// the tracer at work).
//
// In: enter and leave, properly nested on one stack of calls. Out: the hook is installed in the interpreter
// exactly while some thread's innermost region is on, so that plain Python elsewhere runs at full speed.
// Invariant: a region is left by its token, not by its place: calls suspended by JSPI may end out of order.
#pragma once

#include <Python.h>

#include <cstdint>

namespace thirdbook {

using RegionToken = uint64_t;

// `config` is the options object (owned while the region lasts); nullptr: a region in which nothing is
// compiled.
RegionToken EnterRegion(PyThreadState* thread, PyObject* config);
void LeaveRegion(RegionToken token);

// Options of this thread's innermost region (borrowed); nullptr when it is off or there is none.
PyObject* ActiveConfig(PyThreadState* thread);
// Whether this thread's innermost region is a disabled one.
bool InDisabledRegion(PyThreadState* thread);
int RegionDepth();

// The function that EnterRegion installs; what was installed before it (a debugger's, CPython's own).
void SetRegionHook(_PyFrameEvalFunction hook);
_PyFrameEvalFunction OuterHook();

class DisabledRegion {
 public:
  explicit DisabledRegion(PyThreadState* thread) : token_(EnterRegion(thread, nullptr)) {}
  DisabledRegion(const DisabledRegion&) = delete;
  DisabledRegion& operator=(const DisabledRegion&) = delete;
  ~DisabledRegion() { LeaveRegion(token_); }

 private:
  RegionToken token_;
};

}  // namespace thirdbook
