// Counters of the tracer; CompileFrame itself is declared in python/frame_hook.h.
#pragma once

#include <cstdint>

namespace thirdbook {

struct TraceCounters {
  uint64_t graphs = 0, breaks = 0, replays = 0;
};
TraceCounters& TracerCounters();

}  // namespace thirdbook
