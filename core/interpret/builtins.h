// Which built-in callables the tracer knows, and how. See builtins.cc.
#pragma once

#include "interpret/trace.h"

namespace thirdbook {

enum class BuiltinClass : uint8_t {
  kUnknown,
  kPure,          // real call on constants or symbolic numbers and text
  kProtocol,      // real call on shadows: speaks only the object protocol
  kMutatesFirst,  // the same, and changes its first argument (heapq, bisect.insort)
};
BuiltinClass ClassOf(PyObject* callable);

// Those with a model of their own (Trace::CallBuiltin).
enum class Known : int {
  kNone,
  kIsInstance,
  kIsSubclass,
  kLen,
  kGetAttr,
  kSetAttr,
  kDelAttr,
  kHasAttr,
  kIter,
  kNext,
  kRepr,
  kFormat,
  kPrint,
  kWarn,
  kCallable,
  kHash,
  kVars,
  kGlobals,
  kGraphBreak,
  kIsCompiling,
  kId,
  kType,
  kStr,
  kBool,
  kInt,
  kFloat,
  kSlice,
  kSuper,
  kObject,
  kBytes,
  kRange,
  kAbs,
  kIsGradEnabled,
  kGetDefaultDType,
  kSetGradEnabled,
  kTensor,
  kException
};
Known KnownOf(PyObject* callable);

// Whether a pure callable gives this type for all arguments of the types given (so that the result's type
// needs no guard).
bool ResultTypeIsFixed(PyObject* callable, PyTypeObject* result);

}  // namespace thirdbook
