// Ledger rows: creation, sites, text. See mutation.h.
#include <algorithm>

#include "ledger/mutation.h"

namespace thirdbook {

const char* MutationKindText(MutationKind kind) {
  static const char* const kTexts[] = {
#define TB_MUTATION(name, text, doc) text,
#include "ledger/mutations.def"
#undef TB_MUTATION
  };
  return kTexts[static_cast<int>(kind)];
}

Mutation& Ledger::Row(const std::string& key, MutationKind kind) {
  auto [at, is_new] = row_of_key_.emplace(key, rows_.size());
  if (!is_new) return rows_[at->second];
  rows_.push_back({});
  rows_.back().order = static_cast<int32_t>(rows_.size());
  rows_.back().kind = kind;
  return rows_.back();
}

void Ledger::AddSite(Mutation& row, const Site& site) {
  if (std::find(row.sites.begin(), row.sites.end(), site) == row.sites.end()) row.sites.push_back(site);
}

std::string Print(const Ledger& ledger) {
  std::string text;
  for (const Mutation& m : ledger.rows()) {
    text += std::to_string(m.order) + " " + MutationKindText(m.kind) + " " + m.source + " " + m.operation;
    if (!m.before.empty() || !m.after.empty())
      text += ": " + (m.before.empty() ? "-" : m.before) + " -> " + m.after;
    for (const Site& s : m.sites) text += "  line " + std::to_string(s.line) + ":" + std::to_string(s.column);
    text += "\n";
  }
  return text;
}

}  // namespace thirdbook
