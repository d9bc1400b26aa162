// How deep the C stack is nested by the hook and by compiled calls, and when to stop.
//
// With the hook on, CPython runs a Python call as a C call, about 4 kB of stack each. A native stack is
// guarded by CPython itself, but may end before the recursion limit does; in a wasm engine CPython cannot see
// the stack, and running out of it kills the interpreter. So:
//   soft limit   frames are evaluated with the hook off from here on: Python calls then need no C stack again
//   hard limit   a compiled call raises RecursionError
// Invariant: both are so far from the end of the smallest stack that browsers give (about 1 MB) that other C
// code fits.
#pragma once

#include <Python.h>

namespace thirdbook {

class NestingScope {
 public:
  NestingScope() { ++depth_; }
  NestingScope(const NestingScope&) = delete;
  NestingScope& operator=(const NestingScope&) = delete;
  ~NestingScope() { --depth_; }
  static bool AtSoftLimit() { return depth_ > soft_; }
  static bool AtHardLimit() { return depth_ > hard_; }
  static void SetLimits(int soft, int hard) {
    soft_ = soft;
    hard_ = hard;
  }

 private:
#ifdef __EMSCRIPTEN__
  static constexpr int kSoft = 64, kHard = 150;
#else
  static constexpr int kSoft = 400, kHard = 1 << 30;
#endif
  static inline int depth_ = 0, soft_ = kSoft, hard_ = kHard;
};

}  // namespace thirdbook
