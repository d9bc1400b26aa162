#include "kernel/fuse.h"

#include <algorithm>
#include <optional>
#include <set>

#include "graph/attrs.h"
#include "graph/print.h"
#include "graph/shape.h"
#include "kernel/lower.h"

namespace thirdbook {
namespace {

enum class Width : uint8_t { kNeutral, kNarrow, kWide };

int64_t Numel(const Sizes& sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

Width WidthOfDType(DType dtype) {
  if (dtype == DType::kBool) return Width::kNeutral;
  return ItemSize(dtype) == 8 ? Width::kWide : Width::kNarrow;
}

// 64-bit values take twice the vectors: they do not mix with 32-bit ones in a group. Scalars do not count.
Width WidthOf(const Graph& graph, const ValueMetas& metas, NodeId id) {
  Width width = Width::kNeutral;
  const auto add = [&width](DType dtype) {
    const Width w = WidthOfDType(dtype);
    if (w > width) width = w;
  };
  for (const TensorMeta& m : metas[static_cast<size_t>(id.value)]) add(m.dtype);
  for (ValueRef v : graph.node(id).operands) {
    if (!v.defined()) continue;
    const TensorMeta& m = metas[static_cast<size_t>(v.node.value)][static_cast<size_t>(v.output)];
    if (m.numel() != 1) add(m.dtype);
  }
  return width;
}

// The dims of a view's result in terms of those of its operand, where the view only moves, adds, drops or
// repeats dimensions.
std::optional<DimMap> ThroughView(const Node& node, const TensorMeta& in, const TensorMeta& out,
                                  const DimMap& dims) {
  const auto wrap = [&](int64_t d, size_t rank) {
    return static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(rank) : d);
  };
  switch (node.op) {
    case Op::k_alias: return dims;
    case Op::k_contiguous: return in.sizes == out.sizes ? std::optional<DimMap>(dims) : std::nullopt;
    case Op::k_permute: {
      DimMap moved;
      for (int64_t d : ListAttr(node.attrs, 0)) moved.push_back(dims[wrap(d, dims.size())]);
      return moved;
    }
    case Op::k_t: {
      DimMap moved = dims;
      if (moved.size() == 2) std::swap(moved[0], moved[1]);
      return moved;
    }
    case Op::k_transpose: {
      DimMap moved = dims;
      if (moved.empty()) return moved;
      std::swap(moved[wrap(IntAttr(node.attrs, 0), dims.size())],
                moved[wrap(IntAttr(node.attrs, 1), dims.size())]);
      return moved;
    }
    case Op::k_expand: {
      DimMap moved(out.sizes.size(), -1);
      const size_t skip = out.sizes.size() - in.sizes.size();
      for (size_t i = 0; i < in.sizes.size(); ++i) {
        if (in.sizes[i] == out.sizes[skip + i]) moved[skip + i] = dims[i];
      }
      return moved;
    }
    case Op::k_unsqueeze:
    case Op::k_squeeze:
    case Op::k_view:
    case Op::k_reshape:
    case Op::k_flatten: {
      // Only dimensions of size 1 may come or go.
      DimMap moved;
      size_t i = 0;
      for (int64_t size : out.sizes) {
        if (size == 1) {
          moved.push_back(-1);
          continue;
        }
        while (i < in.sizes.size() && in.sizes[i] == 1) ++i;
        if (i == in.sizes.size() || in.sizes[i] != size) return std::nullopt;
        moved.push_back(dims[i++]);
      }
      while (i < in.sizes.size()) {
        if (in.sizes[i++] != 1) return std::nullopt;
      }
      return moved;
    }
    default: return std::nullopt;
  }
}

bool IsViewHere(const Graph& graph, const ValueMetas& metas, NodeId id) {
  const Node& node = graph.node(id);
  if (node.operands.empty() || !node.operands[0].defined()) return false;
  const ValueRef v = node.operands[0];
  return AliasesOperand(node.op, metas[static_cast<size_t>(v.node.value)][static_cast<size_t>(v.output)],
                        node.attrs);
}

class Fuser {
 public:
  Fuser(const Graph& graph, const ValueMetas& metas, const FuseOptions& options)
      : g_(graph), m_(metas), options_(options), unit_of_(graph.nodes().size(), -1) {}

  std::vector<Unit> Run() {
    for (size_t i = 0; i < g_.nodes().size(); ++i) {
      const NodeId id{static_cast<int32_t>(i)};
      const Node& node = g_.nodes()[i];
      if (node.op == Op::k_input || node.op == Op::k_constant || IsViewHere(g_, m_, id)) continue;
      if (!CanLower(g_, m_, id)) {
        Unit unit;
        unit.members.push_back({id, {}});
        Add(std::move(unit));
      } else if (!options_.fuse || !Join(id)) {
        Add(Fresh(id));
      }
    }
    return Ordered();
  }

 private:
  const TensorMeta& Meta(ValueRef v) const {
    return m_[static_cast<size_t>(v.node.value)][static_cast<size_t>(v.output)];
  }
  const TensorMeta& Out(NodeId id) const { return m_[static_cast<size_t>(id.value)][0]; }

  void Add(Unit unit) {
    for (const Member& m : unit.members)
      unit_of_[static_cast<size_t>(m.node.value)] = static_cast<int>(units_.size());
    units_.push_back(std::move(unit));
  }

  Unit Fresh(NodeId id) const {
    const Node& node = g_.node(id);
    Unit unit;
    unit.fused = true;
    bool along = false, keepdim = false;
    const TensorMeta& in = node.operands.empty() ? Out(id) : Meta(node.operands[0]);
    const bool folds = IsFolding(node);
    unit.domain = folds ? in.sizes : Out(id).sizes;
    if (folds) unit.folded = FoldedDims(node, in, &along, &keepdim);
    DimMap identity;
    for (size_t d = 0; d < unit.domain.size(); ++d) identity.push_back(static_cast<int>(d));
    unit.members.push_back({id, folds ? FoldedMap(identity, unit.folded, along, keepdim) : identity});
    return unit;
  }
  static bool IsFolding(const Node& node) {
    return Info(node.op).op_class == OpClass::kReduction || node.op == Op::k_softmax ||
           node.op == Op::k_log_softmax || node.op == Op::k_layer_norm;
  }
  static DimMap FoldedMap(const DimMap& dims, uint32_t folded, bool along, bool keepdim) {
    if (along) return dims;
    DimMap out;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (!(folded >> i & 1))
        out.push_back(dims[i]);
      else if (keepdim)
        out.push_back(-1);
    }
    return out;
  }

  // The unit where an operand is made, through views; -1 for inputs and constants.
  int UnitOfValue(ValueRef v) const {
    while (IsViewHere(g_, m_, v.node)) v = g_.node(v.node).operands[0];
    return unit_of_[static_cast<size_t>(v.node.value)];
  }

  // Whether unit `from` needs, directly or not, something that unit `target` makes.
  bool Reaches(int from, int target, std::vector<char>& seen) const {
    if (from < 0 || seen[static_cast<size_t>(from)]) return false;
    if (from == target) return true;
    seen[static_cast<size_t>(from)] = 1;
    for (const Member& member : units_[static_cast<size_t>(from)].members) {
      for (ValueRef v : g_.node(member.node).operands) {
        if (v.defined() && Reaches(UnitOfValue(v), target, seen)) return true;
      }
    }
    return false;
  }

  bool Join(NodeId id) {
    const Node& node = g_.node(id);
    std::set<int, std::greater<>> candidates;
    for (ValueRef v : node.operands) {
      const int u = v.defined() ? UnitOfValue(v) : -1;
      if (u >= 0 && units_[static_cast<size_t>(u)].fused) candidates.insert(u);
    }
    bool joined = false;
    for (int u : candidates) {
      if (!joined) {
        if (!JoinUnit(id, u)) continue;
        joined = true;
      } else if (Merge(unit_of_[static_cast<size_t>(id.value)], u)) {
        continue;
      }
    }
    return joined;
  }

  bool WidthsAgree(const Unit& unit, Width width) const {
    if (width == Width::kNeutral) return true;
    for (const Member& m : unit.members) {
      const Width w = WidthOf(g_, m_, m.node);
      if (w != Width::kNeutral && w != width) return false;
    }
    return true;
  }
  bool OthersIndependent(NodeId id, int u) const {
    for (ValueRef v : g_.node(id).operands) {
      if (!v.defined()) continue;
      const int other = UnitOfValue(v);
      if (other == u) continue;
      std::vector<char> seen(units_.size(), 0);
      if (Reaches(other, u, seen)) return false;
    }
    return true;
  }

  bool JoinUnit(NodeId id, int u) {
    Unit& unit = units_[static_cast<size_t>(u)];
    if (static_cast<int>(unit.members.size()) >= options_.max_members) return false;
    if (!WidthsAgree(unit, WidthOf(g_, m_, id)) || !OthersIndependent(id, u)) return false;
    const std::optional<DimMap> dims =
        IsFolding(g_.node(id)) ? FoldingDims(id, unit) : PointwiseDims(id, unit);
    if (!dims) return false;
    unit.members.push_back({id, *dims});
    unit_of_[static_cast<size_t>(id.value)] = u;
    return true;
  }

  // A reduction joins when it folds what the group folds already (or the group folds nothing yet).
  std::optional<DimMap> FoldingDims(NodeId id, Unit& unit) {
    const Node& node = g_.node(id);
    const Member* member;
    DimMap dims;
    if (!FollowViews(g_, m_, unit, node.operands[0], &member, &dims)) return std::nullopt;
    const TensorMeta& in = Meta(node.operands[0]);
    bool along, keepdim;
    const uint32_t own = FoldedDims(node, in, &along, &keepdim);
    uint32_t folded = 0, covered = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0) {
        if (in.sizes[i] != 1) return std::nullopt;  // folds a repeated dimension
        continue;
      }
      covered |= 1u << dims[i];
      if (own >> i & 1) folded |= 1u << dims[i];
    }
    for (size_t d = 0; d < unit.domain.size(); ++d) {
      if (!(covered >> d & 1) && unit.domain[d] != 1) return std::nullopt;  // a row value: another domain
    }
    const uint32_t before = Without1(unit, unit.folded), now = Without1(unit, folded);
    if (before != 0 && before != now) return std::nullopt;
    if (before == 0 && now == 0 && unit.folded == 0 && Numel(unit.domain) != 1)
      return std::nullopt;  // folds only sizes of 1
    if (before == 0) {
      for (const Member& m :
           unit.members) {  // a group that folds nothing so far: everything in it is an element value
        if (IsFolding(g_.node(m.node))) return std::nullopt;
      }
      unit.folded = folded;
    }
    for (size_t i : {size_t{1}, size_t{2}}) {  // layer_norm: weight and bias come from outside
      if (node.op == Op::k_layer_norm && i < node.operands.size() && node.operands[i].defined() &&
          UnitOfValue(node.operands[i]) == unit_of_[static_cast<size_t>(member->node.value)]) {
        return std::nullopt;
      }
    }
    return FoldedMap(dims, own, along, keepdim);
  }
  static uint32_t Without1(const Unit& unit, uint32_t mask) {
    for (size_t d = 0; d < unit.domain.size(); ++d) {
      if (unit.domain[d] == 1) mask &= ~(1u << d);
    }
    return mask;
  }

  std::optional<DimMap> PointwiseDims(NodeId id, const Unit& unit) const {
    const Node& node = g_.node(id);
    const Sizes& sizes = Out(id).sizes;
    DimMap out(sizes.size(), -1);
    uint32_t used = 0;
    for (ValueRef v : node.operands) {
      if (!v.defined()) continue;
      const Member* member;
      DimMap dims;
      if (!FollowViews(g_, m_, unit, v, &member, &dims)) {
        // A member seen through a view that cannot be followed: it must be finished first.
        if (UnitOfValue(v) >= 0 && &units_[static_cast<size_t>(UnitOfValue(v))] == &unit) return std::nullopt;
        continue;
      }
      if (dims.size() > sizes.size()) return std::nullopt;
      const size_t skip = sizes.size() - dims.size();
      for (size_t i = 0; i < dims.size(); ++i) {
        const int d = dims[i];
        if (d < 0 || Meta(v).sizes[i] == 1) continue;
        if (sizes[skip + i] != unit.domain[static_cast<size_t>(d)]) return std::nullopt;
        if (out[skip + i] >= 0 && out[skip + i] != d) return std::nullopt;
        if (out[skip + i] < 0 && used >> d & 1) return std::nullopt;
        out[skip + i] = d;
        used |= 1u << d;
      }
    }
    // What is left must be folded dimensions that row values are spread over.
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (out[i] >= 0 || sizes[i] == 1) continue;
      for (size_t d = 0; d < unit.domain.size() && out[i] < 0; ++d) {
        if ((unit.folded >> d & 1) && !(used >> d & 1) && unit.domain[d] == sizes[i])
          out[i] = static_cast<int>(d), used |= 1u << d;
      }
      if (out[i] < 0) return std::nullopt;
    }
    // Element values cover the whole domain; row values all of it that is not folded.
    for (size_t d = 0; d < unit.domain.size(); ++d) {
      const bool folded = unit.folded >> d & 1;
      if (unit.domain[d] != 1 && !(used >> d & 1) && (!folded || (used & unit.folded))) return std::nullopt;
    }
    return out;
  }

  // Puts the members of `from` in front of those of `into`, when both run over the same domain in the same
  // order.
  bool Merge(int into, int from) {
    Unit& a = units_[static_cast<size_t>(into)];
    Unit& b = units_[static_cast<size_t>(from)];
    if (into == from || a.domain != b.domain ||
        static_cast<int>(a.members.size() + b.members.size()) > options_.max_members)
      return false;
    if (a.folded != b.folded && a.folded != 0 && b.folded != 0) return false;
    if (b.folded != 0 && a.folded == 0)
      return false;  // a's values would have to be element values of b's folds
    for (const Member& m : b.members) {
      if (!WidthsAgree(a, WidthOf(g_, m_, m.node))) return false;
    }
    // Operands of a that come from b must be seen through the same dimensions as a's own.
    for (const Member& m : a.members) {
      if (IsFolding(g_.node(m.node))) continue;
      for (ValueRef v : g_.node(m.node).operands) {
        if (!v.defined() || UnitOfValue(v) != from) continue;
        const Member* source;
        DimMap dims;
        if (!FollowViews(g_, m_, b, v, &source, &dims) || dims.size() > m.dims.size()) return false;
        const size_t skip = m.dims.size() - dims.size();
        for (size_t i = 0; i < dims.size(); ++i) {
          if (dims[i] >= 0 && Meta(v).sizes[i] != 1 && dims[i] != m.dims[skip + i]) return false;
        }
      }
    }
    // No path between them other than a's direct use of b.
    for (const Member& m : a.members) {
      for (ValueRef v : g_.node(m.node).operands) {
        const int other = v.defined() ? UnitOfValue(v) : -1;
        std::vector<char> seen(units_.size(), 0);
        if (other != from && other != into && Reaches(other, from, seen)) return false;
      }
    }
    for (const Member& m : b.members) {
      for (ValueRef v : g_.node(m.node).operands) {
        std::vector<char> seen(units_.size(), 0);
        if (v.defined() && UnitOfValue(v) != from && Reaches(UnitOfValue(v), into, seen)) return false;
      }
    }
    for (const Member& m : b.members) unit_of_[static_cast<size_t>(m.node.value)] = into;
    a.members.insert(a.members.end(), b.members.begin(), b.members.end());
    std::sort(a.members.begin(), a.members.end(),
              [](const Member& x, const Member& y) { return x.node.value < y.node.value; });
    b.members.clear();
    return true;
  }

  // Depth first from the units in the order of their last member. Random draws keep their order: each waits
  // for the one before.
  std::vector<Unit> Ordered() {
    std::vector<Unit> out;
    std::vector<char> done(units_.size(), 0);
    std::vector<int> order;
    for (size_t u = 0; u < units_.size(); ++u) {
      if (!units_[u].members.empty()) order.push_back(static_cast<int>(u));
    }
    const auto last = [this](int u) { return units_[static_cast<size_t>(u)].members.back().node.value; };
    std::sort(order.begin(), order.end(), [&](int a, int b) { return last(a) < last(b); });
    for (int u : order) Visit(u, done, out);
    return out;
  }
  void Visit(int u, std::vector<char>& done, std::vector<Unit>& out) {
    if (u < 0 || done[static_cast<size_t>(u)]) return;
    done[static_cast<size_t>(u)] = 1;
    for (const Member& m : units_[static_cast<size_t>(u)].members) {
      for (ValueRef v : g_.node(m.node).operands) {
        if (v.defined()) Visit(UnitOfValue(v), done, out);
      }
    }
    out.push_back(std::move(units_[static_cast<size_t>(u)]));
  }

  const Graph& g_;
  const ValueMetas& m_;
  const FuseOptions options_;
  std::vector<int> unit_of_;  // by node
  std::vector<Unit> units_;
};

}  // namespace

bool FollowViews(const Graph& graph, const ValueMetas& metas, const Unit& unit, ValueRef value,
                 const Member** member, DimMap* dims) {
  std::vector<NodeId> views;
  while (IsViewHere(graph, metas, value.node)) {
    views.push_back(value.node);
    value = graph.node(value.node).operands[0];
  }
  *member = nullptr;
  for (const Member& m : unit.members) {
    if (m.node == value.node) *member = &m;
  }
  if (!*member || value.output != 0) return false;
  *dims = (*member)->dims;
  for (size_t i = views.size(); i-- > 0;) {
    const Node& view = graph.node(views[i]);
    const ValueRef operand = view.operands[0];
    const std::optional<DimMap> through =
        ThroughView(view, metas[static_cast<size_t>(operand.node.value)][static_cast<size_t>(operand.output)],
                    metas[static_cast<size_t>(views[i].value)][0], *dims);
    if (!through) return false;
    *dims = *through;
  }
  return true;
}

uint32_t FoldedDims(const Node& node, const TensorMeta& operand, bool* along, bool* keepdim) {
  *along = *keepdim = false;
  const auto rank = static_cast<int64_t>(operand.sizes.size());
  const uint32_t all = rank == 0 ? 0 : (1u << rank) - 1;
  const auto one = [&](int64_t d) { return rank == 0 ? 0u : 1u << (d < 0 ? d + rank : d); };
  const auto list = [&](size_t attr, bool empty_is_all) {
    if (!HasAttr(node.attrs, attr)) return all;
    uint32_t mask = 0;
    for (int64_t d : ListAttr(node.attrs, attr)) mask |= one(d);
    return ListAttr(node.attrs, attr).empty() && empty_is_all ? all : mask;
  };
  switch (node.op) {
    case Op::k_sum:
    case Op::k_mean:
    case Op::k_amax:
    case Op::k_amin: *keepdim = BoolAttr(node.attrs, 1); return list(0, true);
    case Op::k_any:
    case Op::k_all: *keepdim = BoolAttr(node.attrs, 1); return list(0, false);
    case Op::k_prod:
      *keepdim = BoolAttr(node.attrs, 1);
      return HasAttr(node.attrs, 0) ? one(IntAttr(node.attrs, 0)) : all;
    case Op::k_max:
    case Op::k_min: return all;
    case Op::k_var:
    case Op::k_std: *keepdim = BoolAttr(node.attrs, 2); return list(0, true);
    case Op::k_linalg_vector_norm: *keepdim = BoolAttr(node.attrs, 2); return list(1, true);
    case Op::k_logsumexp: *keepdim = BoolAttr(node.attrs, 1); return list(0, true);
    case Op::k_softmax:
    case Op::k_log_softmax: *along = true; return one(IntAttr(node.attrs, 0));
    case Op::k_layer_norm: {
      *along = true;
      const auto n = static_cast<int64_t>(ListAttr(node.attrs, 0).size());
      return all & ~((1u << (rank - n)) - 1);
    }
    default: return 0;
  }
}

std::vector<Unit> Fuse(const Graph& graph, const ValueMetas& metas, const FuseOptions& options) {
  return Fuser(graph, metas, options).Run();
}

std::string PrintUnits(const Graph& graph, const std::vector<Unit>& units) {
  std::string text;
  for (size_t u = 0; u < units.size(); ++u) {
    const Unit& unit = units[u];
    text += "unit " + std::to_string(u) +
            (unit.fused ? " over " + SizesText(unit.domain) : std::string(" alone"));
    if (unit.folded) {
      text += " folding";
      for (size_t d = 0; d < unit.domain.size(); ++d) {
        if (unit.folded >> d & 1) text += " " + std::to_string(d);
      }
    }
    text += ":";
    for (const Member& m : unit.members) {
      text += " %" + std::to_string(m.node.value) + " " + std::string(Info(graph.node(m.node).op).name);
    }
    text += "\n";
  }
  return text;
}

}  // namespace thirdbook
