// The pure graph: nodes in topological order, no effects, no Python.
//
// In: the tracer appends nodes. Out: passes rewrite it, kernels are planned from it, it prints
// deterministically and is saved by tb.export. Invariant (checked by Verify): operands come before their
// users, metadata is what Infer says, outputs exist.
//
//   %0 = input x f32[4]
//   %1 = constant 2 (weak int64)
//   %2 = mul(%0, %1) f32[4]
//   return %2
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/meta.h"
#include "graph/op.h"
#include "tensor/tensor.h"

namespace thirdbook {

struct NodeId {
  int32_t value = -1;
  bool defined() const { return value >= 0; }
  friend bool operator==(NodeId, NodeId) = default;
};
// One output of a node.
struct ValueRef {
  NodeId node;
  int32_t output = 0;
  bool defined() const { return node.defined(); }
  friend bool operator==(ValueRef, ValueRef) = default;
};

struct SourceSpan {
  std::string file;
  int line = 0, column = 0, end_line = 0, end_column = 0;
};

// An int of an attribute that is the value of an input, a Python number: sizes that follow the inputs'.
struct SymbolicInt {
  int32_t attr;
  int32_t element;  // of a list; -1: the attribute itself
  int32_t input;    // number of the input
};

struct Node {
  Op op;
  std::vector<ValueRef> operands;  // an undefined ref where an optional operand is missing
  Attrs attrs;                     // symbolic ones with the values seen while tracing
  std::vector<SymbolicInt> symbolic;
  std::vector<TensorMeta> metas;  // one per output
  std::string name;               // inputs: the source's text, e.g. "L['x']"
  Tensor constant;                // op constant only
  SourceSpan span;                // where the user wrote it
};

class Graph {
 public:
  // A tensor input (`meta` as seen while tracing), or a Python number handed in at each call when meta.weak.
  ValueRef AddInput(std::string name, TensorMeta meta);
  ValueRef AddConstant(Tensor value, bool weak);
  // Infers and appends; the error is the user's (what eager would raise).
  Result<ValueRef> AddNode(Op op, std::vector<ValueRef> operands, Attrs attrs, SourceSpan span = {});
  void AddOutput(ValueRef value) { outputs_.push_back(value); }

  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<Node>& mutable_nodes() { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id.value)]; }
  const TensorMeta& meta(ValueRef v) const { return node(v.node).metas[static_cast<size_t>(v.output)]; }
  const std::vector<NodeId>& inputs() const { return inputs_; }
  const std::vector<ValueRef>& outputs() const { return outputs_; }
  void set_outputs(std::vector<ValueRef> outputs) { outputs_ = std::move(outputs); }
  // Other nodes in the place of all; finds the inputs anew. The caller has renumbered operands and outputs.
  void ReplaceNodes(std::vector<Node> nodes, std::vector<ValueRef> outputs);

 private:
  std::vector<Node> nodes_;
  std::vector<NodeId> inputs_;
  std::vector<ValueRef> outputs_;
};

Status Verify(const Graph& graph);
std::string Print(const Graph& graph);

// Runs node by node with the kernels of tensor/kernels.h: the reference for every other executor, and the
// fallback when a generated kernel is refused. Weak inputs are 0-d tensors. Each output has a storage of its
// own, shared neither with an input nor with another output.
Result<std::vector<Tensor>> RunReference(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace thirdbook
