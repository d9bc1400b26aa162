// The kinds of graph breaks, for reports and the catalogue.
//
// In: breaks.def. Out: an enum, and for each kind its code, why it is so and what to do. Invariant: codes are
// stable: they are in reports and in links.
#pragma once

#include <cstdint>

namespace thirdbook {

enum class BreakKind : uint8_t {
#define TB_BREAK(name, code, title, why, hint) k##name,
#include "interpret/breaks.def"
#undef TB_BREAK
};

struct BreakKindInfo {
  const char *code, *why, *hint;
};

const BreakKindInfo& Info(BreakKind kind);
BreakKind BreakKindOf(const char* code);  // kInternal: there is no such code

}  // namespace thirdbook
