// See region.h. All state is guarded by the GIL.
#include "python/region.h"

#include <vector>

#include "python/cpython_internal.h"

namespace thirdbook {
namespace {

struct Region {
  RegionToken token;
  PyThreadState* thread;
  PyObject* config;
};

std::vector<Region> regions;   // innermost last; several threads' regions may be interleaved
bool several_threads = false;  // whether they are
RegionToken next_token = 1;
bool installed = false;
_PyFrameEvalFunction our_hook = nullptr, outer_hook = nullptr;

const Region* Innermost(PyThreadState* thread) {
  for (size_t i = regions.size(); i > 0; --i) {
    if (regions[i - 1].thread == thread) return &regions[i - 1];
    if (!several_threads) return nullptr;
  }
  return nullptr;
}

void Install(bool on) {
  if (on == installed) return;
  if (on) {
    outer_hook = GetFrameHook();
    SetFrameHook(our_hook);
  } else if (GetFrameHook() == our_hook) {  // else somebody put a hook over ours and will put ours back
    SetFrameHook(outer_hook);
  }
  installed = on;
}

void UpdateHook() {
  if (regions.empty()) {
    several_threads = false;
    Install(false);
  } else {
    Install(several_threads || regions.back().config != nullptr);
  }
}

}  // namespace

RegionToken EnterRegion(PyThreadState* thread, PyObject* config) {
  if (!regions.empty() && regions.back().thread != thread) several_threads = true;
  regions.push_back({next_token, thread, Py_XNewRef(config)});
  UpdateHook();
  return next_token++;
}

void LeaveRegion(RegionToken token) {
  PyObject* config = nullptr;
  for (size_t i = regions.size(); i > 0; --i) {
    if (regions[i - 1].token != token) continue;
    config = regions[i - 1].config;
    regions.erase(regions.begin() + static_cast<std::ptrdiff_t>(i - 1));
    break;
  }
  UpdateHook();
  Py_XDECREF(config);
}

PyObject* ActiveConfig(PyThreadState* thread) {
  const Region* region = Innermost(thread);
  return region != nullptr ? region->config : nullptr;
}

bool InDisabledRegion(PyThreadState* thread) {
  const Region* region = Innermost(thread);
  return region != nullptr && region->config == nullptr;
}

int RegionDepth() { return static_cast<int>(regions.size()); }

void SetRegionHook(_PyFrameEvalFunction hook) { our_hook = hook; }

_PyFrameEvalFunction OuterHook() { return outer_hook; }

}  // namespace thirdbook
