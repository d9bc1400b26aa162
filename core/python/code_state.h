// What Thirdbook remembers about one code object. It lives in the code object's extra slot and dies with it.
//
//   kNew ──classified──▶ kCandidate ──tracer says skip──▶ kSkip
//     └────────────────▶ kSkip                kReplacement: made by us to run instead of a frame; never
//     traced
//
// Ownership: a state owns its cache entries and the resume codes made from it; a resume code's state points
// back to its origin without owning it (the pointer is cleared when the origin goes first).
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "python/code_object.h"
#include "python/frame_hook.h"

namespace thirdbook {

struct ResumeCode {
  ResumePoint point;
  PyCodeObject* code;  // owned
};

// The entries made for one options object.
struct ConfigCache {
  PyObject* config;            // owned
  EntryList entries;           // the one that was hit last comes first
  bool limit_reached = false;  // warned about it: misses run eagerly from now on
};

struct CodeState {
  enum class Kind : uint8_t { kNew, kCandidate, kSkip, kReplacement };
  Kind kind = Kind::kNew;
  uint32_t epoch = 0;  // of the last reset or change of the skip rules that this state has seen
  std::vector<ConfigCache> caches;

  std::vector<ResumeCode> resumes;
  PyCodeObject* origin = nullptr;     // borrowed; of a resume code
  std::vector<int32_t> origin_index;  // instruction → instruction of origin, -1: prologue
  std::vector<int32_t> origin_slot;   // localsplus slot → slot of origin, -1: a stack value

  CodeState *previous = nullptr, *next = nullptr;  // list of all states
  ~CodeState();
  ConfigCache* FindCache(PyObject* config);  // nullptr when there is none
  ConfigCache* EnsureCache(PyObject* config);
  void DropCaches();  // may run finalizers, which may come back here
};

// The state of a code object, or nullptr. No exception.
CodeState* FindState(PyCodeObject* code);
// The same, made when missing; nullptr with an exception set.
CodeState* EnsureState(PyCodeObject* code);
// Calls `visit` for every state alive.
void ForEachState(void (*visit)(CodeState*));

}  // namespace thirdbook
