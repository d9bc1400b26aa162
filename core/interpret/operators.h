// What operators and comparisons share.
#pragma once

#include "interpret/trace.h"

namespace thirdbook {

inline bool IsNumber(PyTypeObject* t) { return t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type; }
bool BuiltinTakes(PyTypeObject* a, PyTypeObject* b, bool comparing);  // operators.cc

}  // namespace thirdbook
