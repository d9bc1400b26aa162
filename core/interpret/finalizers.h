// Objects whose death can be seen: a __del__, a weak reference, a generator that is left in the middle.
//
// In: a real object. Out: whether it, and what only it may keep alive, dies without running code. Invariant:
// asking runs no user code. The tracer drops no reference to a loud object symbolically: the instruction that
// drops it is a break, so it dies where it dies in plain Python.
#pragma once

#include <Python.h>

namespace thirdbook {

// Looks at most at a thousand objects below `o`; what lies deeper counts as quiet.
bool DiesQuietly(PyObject* o);

}  // namespace thirdbook
