#include "kernel/planned_units.h"

namespace thirdbook {

PlannedUnits::PlannedUnits(const Graph& graph, const ValueMetas& metas, const PlanOptions& options)
    : graph_(graph), metas_(metas), options_(options) {
  MakeUnits();
  FindUses();
  AttachEpilogues();
}

bool PlannedUnits::IsView(NodeId id) const {
  const Node& node = graph_.node(id);
  return !node.operands.empty() && node.operands[0].defined() &&
         AliasesOperand(node.op, Meta(node.operands[0]), node.attrs);
}

ValueRef PlannedUnits::Base(ValueRef v) const {
  while (IsView(v.node)) v = graph_.node(v.node).operands[0];
  return v;
}

void PlannedUnits::MakeUnits() {
  if (options_.generate) {
    units_ = Fuse(graph_, metas_, options_.fuse);
  } else {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const NodeId id{static_cast<int32_t>(i)};
      if (graph_.nodes()[i].op == Op::k_input || graph_.nodes()[i].op == Op::k_constant || IsView(id))
        continue;
      Unit unit;
      unit.members.push_back({id, {}});
      units_.push_back(std::move(unit));
    }
  }
  products_.resize(units_.size());
  if (!options_.generate) return;
  for (size_t u = 0; u < units_.size(); ++u) {
    ProductNode product;
    const NodeId id = units_[u].members[0].node;
    if (!units_[u].fused && AsProduct(graph_, metas_, id, options_.device, &product))
      products_[u] = PlannedProduct{std::move(product), id};
  }
}

// Which values are read by which units, and which are outputs.
void PlannedUnits::FindUses() {
  readers_.assign(graph_.nodes().size(), {});
  unit_of_.assign(graph_.nodes().size(), -1);
  is_output_.assign(graph_.nodes().size(), false);
  for (size_t u = 0; u < units_.size(); ++u) {
    for (const Member& m : units_[u].members) {
      unit_of_[static_cast<size_t>(m.node.value)] = static_cast<int>(u);
      for (ValueRef v : graph_.node(m.node).operands) {
        if (v.defined()) readers_[static_cast<size_t>(Base(v).node.value)].push_back(static_cast<int>(u));
      }
    }
  }
  for (ValueRef v : graph_.outputs()) is_output_[static_cast<size_t>(Base(v).node.value)] = true;
}

// A product that only one fused unit reads, element by element, takes that unit as its epilogue.
void PlannedUnits::AttachEpilogues() {
  for (size_t u = 0; u < units_.size(); ++u) {
    if (!products_[u]) continue;
    const ProductNode& product = products_[u]->product;
    const NodeId id = products_[u]->node;
    const TensorMeta& out = metas_[static_cast<size_t>(id.value)][0];
    DimMap identity;
    for (size_t d = 0; d < out.sizes.size(); ++d) identity.push_back(static_cast<int>(d));
    const std::vector<int>& readers = readers_[static_cast<size_t>(id.value)];
    int reader = readers.empty() || is_output_[static_cast<size_t>(id.value)] ? -1 : readers[0];
    for (int r : readers) {
      if (r != reader) reader = -1;
    }
    if (reader >= 0 && EpilogueFits(id, product, units_[static_cast<size_t>(reader)])) {
      Unit& epilogue = units_[static_cast<size_t>(reader)];
      epilogue.members.insert(epilogue.members.begin(), {id, identity});
      unit_of_[static_cast<size_t>(id.value)] = reader;
      products_[static_cast<size_t>(reader)] = std::move(products_[u]);
      units_[u].members.clear();
      products_[u].reset();
    } else {
      Unit& unit = units_[u];
      unit.domain = out.sizes;
      unit.members[0].dims = identity;
    }
  }
}

bool PlannedUnits::EpilogueFits(NodeId id, const ProductNode& product, const Unit& unit) const {
  const TensorMeta& out = metas_[static_cast<size_t>(id.value)][0];
  if (!unit.fused || unit.domain != out.sizes ||
      products_[static_cast<size_t>(UnitOf(unit.members[0].node))]) {
    return false;
  }
  uint32_t columns = 0;
  for (size_t d = static_cast<size_t>(product.row_dim) + 1; d < out.sizes.size(); ++d) {
    if (out.sizes[d] != 1) columns |= 1u << d;
  }
  uint32_t folded = 0;
  for (size_t d = 0; d < out.sizes.size(); ++d) {
    if ((unit.folded >> d & 1) && out.sizes[d] != 1) folded |= 1u << d;
  }
  if (unit.folded != 0 && (folded != columns || options_.device)) return false;
  if (options_.device && !HasNoFloat64(unit)) return false;
  // Every use reads the product as it lies.
  for (const Member& m : unit.members) {
    for (ValueRef v : graph_.node(m.node).operands) {
      if (!v.defined() || Base(v).node != id) continue;
      if (v.node != id || Info(graph_.node(m.node).op).op_class == OpClass::kMaybeView) return false;
      const bool folds = unit.folded && !(m.dims.size() == out.sizes.size());
      if (!folds && m.dims.size() != out.sizes.size()) return false;
      if (!folds) {
        for (size_t d = 0; d < m.dims.size(); ++d) {
          if (out.sizes[d] != 1 && m.dims[d] != static_cast<int>(d)) return false;
        }
      }
    }
  }
  return true;
}

// What no shader computes with.
bool PlannedUnits::HasNoFloat64(const Unit& unit) const {
  for (const Member& m : unit.members) {
    if (Meta({m.node, 0}).dtype == DType::kFloat64) return false;
    for (ValueRef v : graph_.node(m.node).operands) {
      if (v.defined() && Meta(v).dtype == DType::kFloat64 && Meta(v).numel() != 1) return false;
    }
  }
  return true;
}

std::vector<ValueRef> PlannedUnits::OutputsOf(int u, NodeId except) const {
  std::vector<ValueRef> outputs;
  for (const Member& m : units_[static_cast<size_t>(u)].members) {
    bool needed = is_output_[static_cast<size_t>(m.node.value)];
    for (int reader : readers_[static_cast<size_t>(m.node.value)]) needed |= reader != u;
    if (needed && m.node != except) outputs.push_back({m.node, 0});
  }
  return outputs;
}

}  // namespace thirdbook
