// The PEP 523 frame hook, the cache per code object, and the object that tb.compile returns.
//
// Life of a call:
//   CompiledFunction.__call__ → region entered (hook on) → CPython binds the arguments and makes the frame →
//   hook
//     → cache of the code: first entry whose guards hold → its replacement function runs with the frame's
//     locals → result is a value, or ResumeRequest (a graph break: the trampoline here calls the resume
//     function, as often as needed, without growing the C
//       stack), or kFallback (nothing has happened yet: the untouched original frame is evaluated)
//     → no entry: the tracer makes one (CompileFrame) or says to skip the frame.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace thirdbook {

// A frame at its start, as the tracer and the guards see it. All borrowed.
struct FrameView {
  PyCodeObject* code;
  PyObject* function;  // PyFunctionObject
  PyObject* globals;
  PyObject* builtins;
  // Raw values of localsplus. For the tracer all co_nlocalsplus slots (arguments bound, others NULL). For
  // Check and FailureReason only the `argument_slots` are there. Free variables are NOT here: see closure.
  PyObject* const* locals;
  PyObject* closure;   // tuple of cells or NULL
  int argument_slots;  // argcount + kwonlyargcount + *args + **kwargs: the first slots of localsplus
};

// A guard that did not hold: its text and line, the value that it asks for (where that is short) and the one
// it met.
struct GuardMiss {
  std::string guard, was, now;
  int line = 0;
  int compilation = -1;      // of the version that it guards
  std::string Text() const;  // one line; empty when there is no guard
};

// One specialisation of a code object. The code object owns it, out of the garbage collector's sight: an
// entry that held the frame's globals, closure or arguments would keep them (and itself) alive for ever, so
// it holds them weakly or not at all.
class CacheEntry {
 public:
  CacheEntry();
  CacheEntry(const CacheEntry&) = delete;
  CacheEntry& operator=(const CacheEntry&) = delete;
  virtual ~CacheEntry() = default;
  // Whether every guard holds for this call. Runs no user code, raises nothing.
  virtual bool Check(const FrameView& frame) = 0;
  // The first guard that does not hold (for recompile reports); nothing when all hold.
  virtual GuardMiss FirstMiss(const FrameView&) { return {}; }
  // Appends which tensor sizes differ from this entry's, as names that the tracer understands.
  virtual void ChangedSizes(const FrameView&, std::vector<std::string>*) {}
  // Runs instead of the frame: parameters are the argument slots of the original, all positional, in
  // localsplus order; free variables as the original's. Borrowed; a code object, from which the hook makes
  // the function for the frame's globals and closure.
  virtual PyCodeObject* replacement() const = 0;
  virtual PyObject* Report() const = 0;  // new reference: the report's dict for this compilation

  uint64_t serial() const { return serial_; }  // no two entries have the same

 private:
  uint64_t serial_;
};

using EntryList = std::vector<std::unique_ptr<CacheEntry>>;

struct CompileOptions {
  PyObject* config =
      nullptr;  // the options object of the region (borrowed): backend, fullgraph, dynamic, verify
};

enum class CompileOutcome { kCompiled, kSkip, kError /* exception set: fullgraph */ };

// The hook calls the tracer through this pointer; until it is set every frame runs as it is. The third
// argument are the entries that the code has for the same options object so far.
using Tracer = CompileOutcome (*)(const FrameView&, const CompileOptions&, const EntryList&,
                                  std::unique_ptr<CacheEntry>*);
void SetTracer(Tracer tracer);
Tracer CurrentTracer();

// Objects that a replacement may return beside values:
extern PyObject* kFallback;  // singleton
// `_core._resume(function, *args)` returns one; only the trampoline sees it.
extern PyTypeObject* ResumeRequestType;
PyObject* ResumeCallable();  // borrowed: what replacement code calls
// Borrowed: a replacement calls it when it can no longer hand the call back, to let go of the arguments that
// the original frame holds: they may have to die before the call ends.
PyObject* ReleaseCallable();

struct HookCounters {
  uint64_t frames = 0;        // calls of candidate code inside regions
  uint64_t compilations = 0;  // entries made
  uint64_t recompiles = 0;    // of these, for code that had an entry for the same options
  uint64_t cache_hits = 0;
  uint64_t fallbacks = 0;  // replacements that handed the call back to the original frame
};
HookCounters& Counters();

// Whether the frame hook would ever trace this code: a plain function, not in a skipped file, not a
// replacement.
bool IsTraceable(PyCodeObject* code);
// `disable(fn)` of a callable, and what it wraps (borrowed; nullptr when `object` is no such wrapper).
PyObject* CompiledTarget(PyObject* object);
PyObject* DisabledTarget(PyObject* object);

bool InitFrameHook(
    PyObject* module);  // types CompiledFunction, ResumeRequest; functions compile, disable, reset, ...

}  // namespace thirdbook
