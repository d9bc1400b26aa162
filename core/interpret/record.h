// What a compilation was: kept for reports, turned into plain data when asked.
//
// In: CompileFrame fills a record. Out: a dict after the report schema (web/report/schema.json).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "assemble/code_builder.h"
#include "interpret/guard_program.h"
#include "interpret/trace.h"

namespace thirdbook {

// Milliseconds that the stages took, over all attempts.
struct StageTimes {
  double trace = 0, emit = 0, graph = 0;
};

struct CompilationRecord {
  explicit CompilationRecord(const FrameView& frame);
  PyObject* ToDict() const;      // new reference
  PyObject* LedgerRows() const;  // its "ledger"; new reference

  int id = 0;
  PyRef original, rewritten, graph_object;
  std::string function, file, trigger, status = "compiled";
  int line = 0;
  bool has_writes = false;
  StageTimes times;
  std::vector<GuardMiss> misses;  // of the versions that were there before
  std::vector<BreakReason> breaks;
  std::vector<Mutation> ledger;
  std::vector<Role> roles;
  std::shared_ptr<GuardProgram> guards;
};

void AddRecord(std::shared_ptr<CompilationRecord> record);
bool InitRecords(PyObject* module);  // _records(), _reset_records(), _tracer_counters()

}  // namespace thirdbook
