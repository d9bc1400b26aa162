// simplify-algebra: rewrites that give the same bits.
//
//   x * 1, x / 1, x - 0, x ** 1       → x
//   x + 0                             → x        for integers; floating only x + -0.0, since -0.0 + 0 is 0
//   -(-x), not not x, ~~x             → x
//   where(c, x, x)                    → x
//   abs(abs(x)), relu(relu(x))        → abs(x), relu(x)
//   abs(-x)                           → abs(x)
// Each only where sizes, dtype and weakness of the result are those of x.
#include <cmath>

#include "graph/attrs.h"
#include "graph/passes.h"
#include "tensor/convert.h"

namespace thirdbook {
namespace {

// The number that a constant of one element holds.
std::optional<double> NumberIn(const Graph& graph, ValueRef v) {
  if (!v.defined()) return std::nullopt;
  const Node& node = graph.node(v.node);
  if (node.op != Op::k_constant || node.constant.meta().numel() != 1) return std::nullopt;
  return ScalarAsDouble(node.constant);
}

bool IsMinusZero(double x) { return x == 0 && std::signbit(x); }

class Simplifier {
 public:
  explicit Simplifier(Graph* graph) : graph_(*graph) {}

  // What may stand for the node's output; undefined when nothing is known.
  ValueRef Simplify(const Node& node) const {
    if (node.metas.size() != 1 || node.operands.empty() || !node.operands[0].defined()) return {};
    ValueRef x = node.operands[0];
    ValueRef y = node.operands.size() > 1 ? node.operands[1] : ValueRef{};
    switch (node.op) {
      case Op::k_mul:
        if (NumberIn(graph_, y) == 1.0) return Keep(node, x);
        return NumberIn(graph_, x) == 1.0 ? Keep(node, y) : ValueRef{};
      case Op::k_div:
        return NumberIn(graph_, y) == 1.0 && !HasAttr(node.attrs, 0) ? Keep(node, x) : ValueRef{};
      case Op::k_pow: return NumberIn(graph_, y) == 1.0 ? Keep(node, x) : ValueRef{};
      case Op::k_sub: {
        std::optional<double> number = NumberIn(graph_, y);
        if (!number || *number != 0 || NumberOf(node.attrs[0]) != 1) return {};
        return IsFloating(node.metas[0].dtype) && IsMinusZero(*number) ? ValueRef{} : Keep(node, x);
      }
      case Op::k_add: {
        if (NumberOf(node.attrs[0]) != 1) return {};
        for (auto [number, other] : {std::pair(NumberIn(graph_, y), x), std::pair(NumberIn(graph_, x), y)}) {
          if (!number || *number != 0) continue;
          if (!IsFloating(node.metas[0].dtype) || IsMinusZero(*number)) return Keep(node, other);
        }
        return {};
      }
      case Op::k_neg:
      case Op::k_logical_not:
      case Op::k_bitwise_not: {
        const Node& inner = graph_.node(x.node);
        return inner.op == node.op ? Keep(node, inner.operands[0]) : ValueRef{};
      }
      case Op::k_abs:
      case Op::k_relu: return graph_.node(x.node).op == node.op ? Keep(node, x) : ValueRef{};
      case Op::k_where:
        return node.operands[1] == node.operands[2] ? Keep(node, node.operands[1]) : ValueRef{};
      default: return {};
    }
  }

 private:
  ValueRef Keep(const Node& node, ValueRef value) const {
    const TensorMeta &is = node.metas[0], &would = graph_.meta(value);
    // A pointwise result is contiguous and fresh; the layout of what replaces it must be the same.
    bool same = is.dtype == would.dtype && is.sizes == would.sizes && is.weak == would.weak &&
                is.strides == would.strides && is.offset == would.offset;
    return same ? value : ValueRef{};
  }

  const Graph& graph_;
};

}  // namespace

int SimplifyAlgebra(Graph* graph) {
  Replacement replaced(*graph);
  int rewritten = 0;
  Simplifier simplifier(graph);
  std::vector<Node>& nodes = graph->mutable_nodes();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op == Op::k_abs && graph->node(nodes[i].operands[0].node).op == Op::k_neg) {
      // |-x| reads x itself; -x may be dead then. Not for uint8, where -5 is 251.
      ValueRef inner = graph->node(nodes[i].operands[0].node).operands[0];
      if (graph->meta(inner).dtype != DType::kUInt8 && graph->meta(inner).dtype == nodes[i].metas[0].dtype &&
          graph->meta(inner).weak == nodes[i].metas[0].weak) {
        nodes[i].operands[0] = inner;
        ++rewritten;
      }
    }
    ValueRef found = simplifier.Simplify(nodes[i]);
    if (found.defined()) replaced.Set({NodeId{static_cast<int32_t>(i)}, 0}, found);
  }
  return rewritten + replaced.Apply(graph);
}

}  // namespace thirdbook
