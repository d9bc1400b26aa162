// The one file that includes CPython's private headers.
//
// In: nothing yet. Out: that the headers of the frame hook compile. Invariant: only CPython 3.14's layout is relied on.
#define Py_BUILD_CORE 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <Python.h>

#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interpframe.h"
#include "internal/pycore_stackref.h"
#pragma GCC diagnostic pop

static_assert(PY_VERSION_HEX >> 16 == 0x030E, "Thirdbook knows the frames of CPython 3.14 only");

extern "C" void _PyEval_FrameClearAndPop(PyThreadState* thread, _PyInterpreterFrame* frame);

namespace thirdbook {

void* FrameClearAndPopAddress() { return reinterpret_cast<void*>(&_PyEval_FrameClearAndPop); }

void* SetEvalFrameAddress() { return reinterpret_cast<void*>(&_PyInterpreterState_SetEvalFrameFunc); }

}  // namespace thirdbook
