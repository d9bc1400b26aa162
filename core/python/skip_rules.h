// Which files the frame hook never traces: prefixes (the package's own folder, the standard library) and
// exceptions from them (files of the package that are meant to be traced through).
//
// In: lists set from Python. Out: a verdict per code object. Invariant: each change raises the epoch, so that
// cached verdicts are taken again.
#pragma once

#include <Python.h>

#include <cstdint>

namespace thirdbook {

bool IsSkippedFile(PyObject* filename);
uint32_t RulesEpoch();
void RaiseEpoch();                     // also after reset()
bool InitSkipRules(PyObject* module);  // set_skip_prefixes, set_trace_files

}  // namespace thirdbook
