// Guards: premises of a compilation, each on a source, in the order in which the trace used them.
//
// In: the tracer appends. Out: a flat list that interpret/guard_program turns into a program. Invariant: a
// guard's source can be evaluated once all guards before it hold.
#pragma once

#include <string>
#include <vector>

#include "graph/meta.h"
#include "guards/source.h"

namespace thirdbook {

enum class GuardKind : uint8_t {
#define TB_GUARD(name, text, doc) k##name,
#include "guards/guards.def"
#undef TB_GUARD
};

const char* GuardKindText(GuardKind kind);

struct Guard {
  Guard() = default;
  Guard(GuardKind guard_kind, SourceId on, SourceId and_other = {})
      : kind(guard_kind), source(on), other(and_other) {}
  GuardKind kind = GuardKind::kType;
  SourceId source;
  SourceId other;            // kSame, kDistinct, kStorage
  ObjectIndex object = -1;   // the fixed object; kTypeLookup: the class
  ObjectIndex object2 = -1;  // kTypeLookup: what is found (-1: nothing); kHasNoAttribute: the slot, if one
  ObjectIndex name = -1;     // kTypeLookup, kHasNoAttribute
  int32_t detail = 0;
  TensorMeta meta;              // kTensor
  int array_flags = 0;          // kTensor: ArrayFlag bits of python/array_adapter.h
  std::vector<bool> dynamic;    // kTensor: dimensions whose size is free
  std::vector<SourceId> group;  // kAllDistinct
  int line = 0;                 // where the user's code made the trace rely on it
  std::string text;             // printed fact
};

class GuardSet {
 public:
  // Appends unless an equal premise is there already.
  void Add(Guard guard);
  const std::vector<Guard>& guards() const { return guards_; }

 private:
  std::vector<Guard> guards_;
  std::unordered_map<std::string, int> seen_;
};

}  // namespace thirdbook
