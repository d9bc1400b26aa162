// The order of a set is its table: which slot each element got, and what was removed before.
//
// In: sets and frozensets. Out: copies that keep the table, so that whatever is done to them next comes out
// in the order in which it would have come out of the original. Invariant: no hash is computed and nothing
// compared, so no user code runs.
#pragma once

#include <Python.h>

namespace thirdbook {

// The same table with other elements: `element(key, context)` gives each (a new reference). nullptr with an
// exception set.
using SetElement = PyObject* (*)(PyObject* key, void* context);
PyObject* CloneSet(PyObject* set, SetElement element, void* context);

// The table alone, as a set of placeholders that nobody may use but the functions here.
PyObject* SetTemplate(PyObject* set);

bool SameSetLayout(PyObject* a, PyObject* b);

// Borrowed: `_set_like(template, *elements)` puts the elements, in order, where the template has some. Where
// their hashes differ (objects with an address for a hash), they are added one after the other.
PyObject* SetLikeCallable();

}  // namespace thirdbook
