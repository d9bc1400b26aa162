// Guard set: deduplication and texts. See guard.h.
#include "guards/guard.h"

#include <cstdio>

namespace thirdbook {

const char* GuardKindText(GuardKind kind) {
  static const char* const kTexts[] = {
#define TB_GUARD(name, text, doc) text,
#include "guards/guards.def"
#undef TB_GUARD
  };
  return kTexts[static_cast<int>(kind)];
}

void GuardSet::Add(Guard guard) {
  char key[128];
  std::snprintf(key, sizeof key, "%d:%d:%d:%d:%d:%d:%d", static_cast<int>(guard.kind), guard.source.value,
                guard.other.value, guard.object, guard.object2, guard.name, guard.detail);
  if (!seen_.emplace(key, 1).second) return;
  guards_.push_back(std::move(guard));
}

}  // namespace thirdbook
