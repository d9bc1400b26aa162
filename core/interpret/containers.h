// What the files of containers share: the types that are no part of CPython's C API, and which keys are safe.
#pragma once

#include <initializer_list>

#include "interpret/trace.h"

namespace thirdbook {

PyTypeObject* DequeType();
PyTypeObject* DefaultDictType();
inline bool IsDict(PyTypeObject* t) { return PyType_IsSubtype(t, &PyDict_Type) != 0; }
bool IsBounded(PyObject* deque);
bool IsSafeKey(PyObject* key);  // its hash and equality run no user code
bool IsOneOf(const char* text, std::initializer_list<const char*> names);

}  // namespace thirdbook
