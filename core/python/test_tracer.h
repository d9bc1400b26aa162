// A tracer written in Python, for tests of the hook: it decides for each frame what replaces it.
#pragma once

#include <Python.h>

namespace thirdbook {

bool InitTestTracer(PyObject* module);  // _set_test_tracer

}  // namespace thirdbook
