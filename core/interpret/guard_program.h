// Guards as a program that runs at each call: cheap, in order, without user code.
//
// In: the trace's guards and sources, the objects they name. Out: Check (whether all hold) and FirstMiss
// (the first that does not). Invariant: sources are evaluated once a check, only after the guards before them
// have held; nothing raises.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "guards/guard.h"
#include "interpret/sizes.h"
#include "python/frame_hook.h"
#include "python/py_ref.h"

namespace thirdbook {

class GuardProgram {
 public:
  GuardProgram(SourceTable sources, std::vector<Guard> guards, std::vector<PyRef> objects,
               std::shared_ptr<SizePremises> sizes);
  bool Check(const FrameView& frame) { return FirstFailure(frame) < 0; }
  // Index of the first guard that does not hold, -1 when all do.
  int FirstFailure(const FrameView& frame);
  GuardMiss FirstMiss(const FrameView& frame);
  // Appends "SOURCE.DIMENSION" of each size and "SOURCE" of each int that should be free in a new compilation
  // for this frame.
  void ChangedSizes(const FrameView& frame, std::vector<std::string>* out);
  std::string Text(const Guard& guard) const;
  std::string Wanted(const Guard& guard) const;  // the value that it asks for; empty where Text says it all
  const std::vector<Guard>& guards() const { return guards_; }
  const SourceTable& sources() const { return sources_; }
  std::vector<int> Costs() const;  // per guard: steps that it adds to those of the guards before it
  uint64_t hits(size_t guard) const { return failures_[guard]; }  // how often it was the one that failed

 private:
  void ChangedInts(SourceId id, std::vector<std::string>* out);
  PyObject* Evaluate(SourceId id);              // borrowed; nullptr: it cannot be reached
  PyObject* EvaluateUncached(const Source& s);  // new reference
  bool Holds(Guard& guard);
  bool IntOf(SourceId source, int64_t* out);
  bool SizesHold();
  bool SizesFit(const SizePremises& premises);
  bool AllDistinct(const Guard& guard);
  // Borrowed; None for a function or class that has died since.
  PyObject* object(ObjectIndex i) const {
    PyObject* o = objects_[static_cast<size_t>(i)].get();
    return Py_TYPE(o) == &_PyWeakref_RefType ? Referent(o) : o;
  }
  PyObject* Referent(PyObject* reference) const;

  SourceTable sources_;
  std::vector<Guard> guards_;
  std::vector<PyRef>
      objects_;  // functions and classes through weak references: guards keep nothing alive that dies
  std::vector<PyRef> references_;        // weak references that the guards are about themselves
  std::shared_ptr<SizePremises> sizes_;  // null: no size is free
  std::vector<PyObject*> values_;        // per source, owned while a check runs
  std::vector<int32_t> touched_;
  std::vector<uint32_t> versions_;  // per guard: type version at which a class look-up held
  std::vector<uint64_t> failures_;
  const FrameView* frame_ = nullptr;
};

}  // namespace thirdbook
