// A row of the ledger: one change that the traced code makes to the world, as plain data.
//
// Two axes make four kinds (value or attributes; existing or new object); cells, globals and effects are rows
// of their own. In: the tracer records. Out: assemble replays in order, reports and pages show. Invariant:
// `order` grows with program order; a row for one object and key is one row however often it was written, and
// knows every site.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace thirdbook {

enum class MutationKind : uint8_t {
#define TB_MUTATION(name, text, doc) k##name,
#include "ledger/mutations.def"
#undef TB_MUTATION
};
const char* MutationKindText(MutationKind kind);

struct Site {
  std::string file;
  int line = 0, column = 0, end_line = 0, end_column = 0;
  friend bool operator==(const Site&, const Site&) = default;
};

struct Mutation {
  int32_t order = 0;
  MutationKind kind = MutationKind::kEffect;
  std::string source;     // "L['self']"
  std::string operation;  // "setattr calls", "list.append"
  std::string before;     // empty: not known or absent
  std::string after;
  std::vector<Site> sites;  // deduplicated, in program order
  std::string settled_at;   // "return", or the break's place
};

class Ledger {
 public:
  // The row of (key), created at the end when new; key names object and place ("12.calls").
  Mutation& Row(const std::string& key, MutationKind kind);
  void AddSite(Mutation& row, const Site& site);
  const std::vector<Mutation>& rows() const { return rows_; }
  std::vector<Mutation>& mutable_rows() { return rows_; }

 private:
  std::vector<Mutation> rows_;
  std::unordered_map<std::string, size_t> row_of_key_;
};

std::string Print(const Ledger& ledger);

}  // namespace thirdbook
