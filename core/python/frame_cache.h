// The cache per code object: which replacement runs for a call, and making one when none fits.
//
// In: a frame (as a view) and the options of its region. Out: a replacement function, or that the frame runs
// as it is. Invariant: while the tracer runs the hook is off, and reset() waits.
#pragma once

#include <Python.h>

#include "python/code_state.h"
#include "python/frame_hook.h"
#include "python/py_ref.h"

namespace thirdbook {

int ArgumentSlots(PyCodeObject* code);

// False for code whose known state says that it is never traced. First and cheapest test of the hook.
bool MayTrace(const CodeState* state);
// The state with an up-to-date verdict; nullptr (no exception) when it could not be made.
CodeState* ClassifiedState(PyCodeObject* code);

enum class CacheAnswer { kReplacement, kEager, kError /* exception set */ };

// First entry whose guards hold, moved to the front; nullptr when none does.
CacheEntry* FindEntry(ConfigCache* cache, const FrameView& frame);
// The entry's replacement as a function for this frame: new reference, NULL with an exception set.
PyRef MakeReplacement(const CacheEntry& entry, const FrameView& frame);
// First entry that holds, and when there is none, one compilation. `replacement` gets the function to call.
CacheAnswer FindReplacement(PyThreadState* thread, const FrameView& frame, CodeState* state, PyObject* config,
                            PyRef* replacement);

bool InitFrameCache(PyObject* module);  // reset, _counters, _reset_counters

}  // namespace thirdbook
