// The kinds of graph breaks, for reports and the catalogue.
//
// In: breaks.def. Out: an enum, and for each kind its code, why it is so and what to do. Invariant: codes are
// stable: they are in reports and in links.
#pragma once

#include <cstdint>
#include <string>

namespace thirdbook {

enum class BreakKind : uint8_t {
#define TB_BREAK(name, code, title, why, hint) k##name,
#include "interpret/breaks.def"
#undef TB_BREAK
};

const char* CodeOf(BreakKind kind);
std::string WhyOf(BreakKind kind);  // from the package's _break_texts: long texts are no code
std::string HintOf(BreakKind kind);
BreakKind BreakKindOf(const char* code);  // kInternal: there is no such code

}  // namespace thirdbook
