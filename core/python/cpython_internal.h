// What Thirdbook needs of CPython beside its public C API. Only cpython_internal.cc includes private headers.
//
// In: a frame as PEP 523 hands it over, before its first instruction. Out: its parts, borrowed; or its
// evaluation. Invariant: CheckInterpreter has compared the frame layout with the running interpreter's own
// before anything else here is called.
#pragma once

#include <Python.h>

#include <vector>

struct _PyInterpreterFrame;

namespace thirdbook {

using InterpreterFrame = struct _PyInterpreterFrame;

// False with ImportError when this is not CPython 3.14 with the layout that Thirdbook was built for.
bool CheckInterpreter();

// ---- the hook
// -------------------------------------------------------------------------------------------------------
void SetFrameHook(_PyFrameEvalFunction hook);  // nullptr: CPython's own evaluation
_PyFrameEvalFunction GetFrameHook();           // never nullptr

// ---- frames
// ---------------------------------------------------------------------------------------------------------
PyObject* EvaluateFrame(PyThreadState* thread, InterpreterFrame* frame, int throw_flag);  // as CPython would
// Instead of evaluation: drops the frame's references and takes it off the thread's stack. The frame must be
// the topmost.
void DropFrame(PyThreadState* thread, InterpreterFrame* frame);
PyCodeObject* FrameCode(InterpreterFrame* frame);  // nullptr when the frame runs no code object
PyObject* FrameFunction(InterpreterFrame* frame);
PyObject* FrameGlobals(InterpreterFrame* frame);
PyObject* FrameBuiltins(InterpreterFrame* frame);
// Borrowed values of the first `count` slots of localsplus.
void FrameLocals(InterpreterFrame* frame, int count, PyObject** out);
void ClearFrameLocals(InterpreterFrame* frame, int count);  // makes them unbound
// When somebody has the frame that runs as an object, a traceback for one: what goes on in `next`, a function
// of the rest of it, is to find in that frame's place what CPython would leave there. Locals that `next`
// binds again or drops are let go of; the others and the cells stay until the frame object dies. New
// reference: that object; nullptr: nobody has one.
PyObject* SettleHeldFrame(PyThreadState* thread, PyCodeObject* next);
// The object of a frame that is about to be evaluated: when the frame ends, its locals are the object's. New
// reference; nullptr: a generator's has none yet.
PyObject* MakeFrameObject(PyThreadState* thread, InterpreterFrame* frame);
// A function of the rest of a frame, of code `rest`, has ended in the frame of this object: lets go of the
// exceptions that it handled, whose tracebacks may hold the frame that it went on from: those that stood on
// the stack and, where it returned, those in arguments that the rest binds again or drops.
void SettleEndedFrame(PyObject* object, PyCodeObject* rest, bool returned);
// What `held` stands for has gone on in `rest`: whoever has the one holds the other's locals too.
void KeepWithFrame(PyObject* held, PyObject* rest);
// With a frame hook a Python call is a C call, and the caller's stack keeps the arguments until it returns.
// When `caller` is at a call of `function` (or of `wrapper`, which passes on to it), this lets go of them:
// the callee has its own references.
void ClearCallArguments(PyThreadState* thread, const void* caller, PyObject* function, PyObject* wrapper);

// Raw content of a running frame's localsplus and value stack: `slots` gets the number of localsplus slots,
// the stack follows them. Borrowed. Only while the frame is suspended in a call or in a trace function.
struct FrameSlot {
  PyObject* value;  // NULL: empty
  bool is_int;      // a tagged integer, value is NULL
};
std::vector<FrameSlot> FrameSlots(PyFrameObject* frame, int* slots);

// ---- tracing, profiling, monitoring
// --------------------------------------------------------------------------------- Whether somebody watches:
// sys.settrace or sys.setprofile on this thread, or a sys.monitoring tool with events on (for every code
// object or for this one). Then frames must run as they are. Cheap unless something has changed.
bool IsObserved(PyThreadState* thread, PyCodeObject* code);

}  // namespace thirdbook
