// The tracer: from a frame to a cache entry.
//
// In: a frame at its start, the options of its region, the entries that its code has so far (guard failures
// explain recompiles, sizes become dynamic). Out: kCompiled and an entry; kSkip: the frame runs as it is;
// kError with an exception set (fullgraph). Invariant: the world is untouched.
#pragma once

#include <cstdint>
#include <memory>

#include "python/frame_hook.h"

namespace thirdbook {

struct TraceCounters {
  uint64_t graphs = 0, breaks = 0, replays = 0;
};
TraceCounters& TracerCounters();

CompileOutcome CompileFrame(const FrameView& frame, const CompileOptions& options, const EntryList& earlier,
                            std::unique_ptr<CacheEntry>* out);

}  // namespace thirdbook
