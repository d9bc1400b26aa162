// Named rewrites of a graph. Each keeps the results bit for bit (fast-math is nobody's business here), the
// inputs and their order, and the order of random draws.
//
// In: a graph that Verify accepts. Out: one again; the number of changes. A pass is a function in a table, so
// that the optimiser's list of steps can be printed with the graph after each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace thirdbook {

struct Pass {
  std::string_view name;
  std::string_view what;     // one line for reports
  int (*run)(Graph* graph);  // how many nodes it replaced or dropped
};

// In the order in which they run.
const std::vector<Pass>& Passes();

struct PassTrace {
  std::string_view name;
  int changes = 0;
  std::string text;  // the graph afterwards; only where something changed
};

// Runs the table until nothing changes. `trace`, when given, receives every pass that changed something.
void Optimise(Graph* graph, std::vector<PassTrace>* trace = nullptr);

// The passes.
int FoldConstants(Graph* graph);
int SimplifyAlgebra(Graph* graph);
int DropNoOps(Graph* graph);
int MergeCommon(Graph* graph);
int DropDead(Graph* graph);

// ---- For writing passes ----

// Makes every use of a value read another one; values are replaced transitively. Leaves the nodes where they
// are (DropDead removes them).
class Replacement {
 public:
  explicit Replacement(const Graph& graph);
  void Set(ValueRef from, ValueRef to);
  ValueRef Find(ValueRef value) const;  // what stands for it by now
  int Apply(Graph* graph) const;        // rewrites operands and outputs; how many values were replaced

 private:
  std::vector<std::vector<ValueRef>> by_node_;
};

// Whether a node may be dropped, merged or evaluated early: everything but inputs and random ops.
bool IsPure(const Node& node);

// Whether running it may raise for some values of its operands: an index beyond the end, an int divided by
// zero, a singular matrix. It is run though nobody reads what it gives.
bool MayFail(const Node& node);

}  // namespace thirdbook
