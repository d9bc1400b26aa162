#include "interpret/break_kind.h"

#include <cstddef>
#include <cstring>

namespace thirdbook {

const BreakKindInfo& Info(BreakKind kind) {
  static constexpr BreakKindInfo kKinds[] = {
#define TB_BREAK(name, code, title, why, hint) {code, why, hint},
#include "interpret/breaks.def"
#undef TB_BREAK
  };
  return kKinds[static_cast<size_t>(kind)];
}

BreakKind BreakKindOf(const char* code) {
  for (int i = 0; i < static_cast<int>(BreakKind::kInternal); i++) {
    if (std::strcmp(Info(static_cast<BreakKind>(i)).code, code) == 0) return static_cast<BreakKind>(i);
  }
  return BreakKind::kInternal;
}

}  // namespace thirdbook
