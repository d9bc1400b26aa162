#include "interpret/break_kind.h"

#include <cstddef>

namespace thirdbook {

const BreakKindInfo& Info(BreakKind kind) {
  static constexpr BreakKindInfo kKinds[] = {
#define TB_BREAK(name, code, title, why, hint) {code, why, hint},
#include "interpret/breaks.def"
#undef TB_BREAK
  };
  return kKinds[static_cast<size_t>(kind)];
}

}  // namespace thirdbook
