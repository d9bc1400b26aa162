// What a plan has a step for: the units of a graph, which of them are products, and who reads whose values.
//
// In: a graph and the metadata of its values. Out: units with their readers; a product that one fused unit
// reads element by element has become that unit's first member, and its own unit is empty. Invariant: every
// node that is no input, constant or view is a member of exactly one unit.
#pragma once

#include <map>
#include <optional>

#include "kernel/plan.h"
#include "kernel/product_node.h"

namespace thirdbook {

// A unit that is a product, with what follows it as its epilogue.
struct PlannedProduct {
  ProductNode product;
  NodeId node;
};

class PlannedUnits {
 public:
  PlannedUnits(const Graph& graph, const ValueMetas& metas, const PlanOptions& options);

  size_t size() const { return units_.size(); }
  const Unit& unit(int u) const { return units_[static_cast<size_t>(u)]; }
  const std::optional<PlannedProduct>& product(int u) const { return products_[static_cast<size_t>(u)]; }
  // Neither fused nor a product: the library's kernel runs it.
  bool IsLibrary(int u) const { return !unit(u).fused && !product(u); }
  int UnitOf(NodeId id) const { return unit_of_[static_cast<size_t>(id.value)]; }  // -1: in none
  // Whether the base value is, or a view of it is, an output of the graph.
  bool IsOutput(NodeId base) const { return is_output_[static_cast<size_t>(base.value)]; }
  // Members' values that something outside reads.
  std::vector<ValueRef> OutputsOf(int u, NodeId except) const;

  const TensorMeta& Meta(ValueRef v) const {
    return metas_[static_cast<size_t>(v.node.value)][static_cast<size_t>(v.output)];
  }
  // The value that v is a view of, through all views.
  ValueRef Base(ValueRef v) const;

 private:
  bool IsView(NodeId id) const;
  void MakeUnits();
  void FindUses();
  void AttachEpilogues();
  bool EpilogueFits(NodeId id, const ProductNode& product, const Unit& unit) const;
  bool HasNoFloat64(const Unit& unit) const;

  const Graph& graph_;
  const ValueMetas& metas_;
  const PlanOptions& options_;
  std::vector<Unit> units_;
  std::vector<std::optional<PlannedProduct>> products_;  // by unit
  std::vector<std::vector<int>> readers_;                // by node that makes a base value
  std::vector<int> unit_of_;
  std::vector<char> is_output_;
};

}  // namespace thirdbook
