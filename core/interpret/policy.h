// What the user wants to hear about effects, and whether they are replayed at all; backends given as
// functions.
//
// In: `_core._set_policy(policy, replay)` from the config object; a record whose ledger is complete. Out:
// nothing, a log line, a warning, or a SideEffectError that names source and line (thirdbook/_policy.py
// writes the words). Invariant: it speaks once per compilation and before anything has been replayed; code
// made under one setting never runs under another.
#pragma once

#include <Python.h>

#include <cstdint>

#include "interpret/record.h"
#include "python/py_ref.h"

namespace thirdbook {

struct ReplaySettings {
  uint8_t policy = 0;  // index into thirdbook.config's POLICIES: silent, log, warn, error
  bool replay = true;  // false: the world keeps its state, only the result is given
  friend bool operator==(const ReplaySettings&, const ReplaySettings&) = default;
};
const ReplaySettings& CurrentReplaySettings();

// False with an exception set when the policy forbids what the record's ledger does.
bool ApplyPolicy(const CompilationRecord& record);

// What rewritten code calls for the graph: the graph object, or the function that `backend` makes of it. Null
// with an exception set.
PyRef GraphCallable(PyObject* config, PyObject* graph_object);

bool InitPolicy(PyObject* module);  // _set_policy

}  // namespace thirdbook
