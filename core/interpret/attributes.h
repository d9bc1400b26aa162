// What the files of attribute access share.
#pragma once

#include "interpret/trace.h"

namespace thirdbook {

// An interned str of a literal, made once.
#define TB_NAME(text)                                         \
  ([] {                                                       \
    static PyObject* name = PyUnicode_InternFromString(text); \
    return name;                                              \
  }())

inline bool IsImmutableType(PyTypeObject* type) {
  return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE);
}
inline bool IsDataDescriptor(PyObject* o) { return Py_TYPE(o)->tp_descr_set != nullptr; }

// Compared with the slots of `object`, not with the functions: a side module may see a function of Pyodide's
// main module at another place of the table than the main module itself does (WebKit).
inline bool HasOwnGetAttr(PyTypeObject* t) { return t->tp_getattro != PyBaseObject_Type.tp_getattro; }
inline bool HasOwnSetAttr(PyTypeObject* t) { return t->tp_setattro != PyBaseObject_Type.tp_setattro; }

bool IsHalfMade(Var module);          // it was never initialised: it has no names yet
PyObject* MroOf(PyTypeObject* type);  // empty while the class is being made

}  // namespace thirdbook
