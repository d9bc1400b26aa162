// CompiledFunction and DisabledFunction: callables that wrap another and call it inside a region (hook on,
// hook off).
//
// In: any callable, and an options object. Out: an object that calls, binds and describes itself like the
// callable. Invariant: apart from what the hook does, calling the wrapper is calling the callable with the
// same arguments.
#pragma once

#include <Python.h>

namespace thirdbook {

extern PyTypeObject* CompiledFunctionType;
extern PyTypeObject* DisabledFunctionType;

void DropReplacements();  // that compiled functions keep from their last calls; may run finalizers

bool InitCompiledFunction(PyObject* module);  // CompiledFunction, DisabledFunction, compile, disable

}  // namespace thirdbook
