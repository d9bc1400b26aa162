// The table of graph operations, read from ops.def: each row gives an op its name, schema, class and rules;
// eager calls, tracing, inference, kernels, documentation come from it.
//
// Schema text (PyTorch's notation): "sum(Tensor self, int[]? dim=None, bool keepdim=False, *, ScalarType?
// dtype=None)". Parameter types: Tensor, Tensor?, Tensor[], Tensor?[], Scalar (a number that becomes an
// attribute), int, int?, int[], int[]?, int[N] (one int stands for N equal ones), float, float?, bool, bool?,
// ScalarType, ScalarType?, str, str?; a Tensor|Number is a tensor or a Python number (a weak 0-d constant).
// Operands are the parameters of Tensor kinds, in the order of the schema, a list flattened in
// its place (an op has at most one list); attributes are all others, in that order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "graph/dtype.h"
#include "graph/meta.h"

namespace thirdbook {

enum class OpClass : uint8_t {
  kSource,     // input, constant, creation: no tensor operand
  kPointwise,  // broadcasts; each output element depends on the operands' elements at the same place
  kReduction,  // folds dimensions
  kView,       // same storage, other sizes/strides/offset: pure metadata
  kMaybeView,  // a view of operand 0 when its strides allow, else a copy: AliasesOperand tells which
  // A kernel of its own each:
  kAlong,  // along a dimension, same size out or less: softmax, cumsum, sort
  kLinearAlgebra,
  kRearrange,      // places elements elsewhere: cat, flip, pad
  kIndexing,       // elements by tensors of indices, which may be out of range: fails for values
  kSpatial,        // convolution, pooling, resampling
  kRandom,         // draws from the generator: never merged, never dropped, order kept
  kDataDependent,  // output sizes depend on the operands' data: Infer refuses, a trace must break
};

enum class Op : uint16_t {
#define TB_OP(name, op_class, schema) k_##name,
#include "graph/ops.def"
#undef TB_OP
  kCount
};

struct None {
  friend bool operator==(None, None) { return true; }
};
// An attribute's value. Integers are int64_t, Python floats double.
using Attr = std::variant<None, bool, int64_t, double, DType, Sizes, std::string>;
using Attrs = std::vector<Attr>;

struct Parameter {
  enum class Type : uint8_t { kTensor, kTensorList, kScalar, kInt, kIntList, kFloat, kBool, kDType, kString };
  std::string_view name;
  Type type;
  bool optional = false;  // None is accepted (a missing tensor operand is NodeId::None / undefined Tensor)
  bool keyword_only = false;
  bool has_default = false;
  Attr default_value;              // an int default of an int[N] is expanded to N
  bool optional_elements = false;  // Tensor?[]
  bool takes_number = false;       // Tensor|Number
  int list_size = 0;               // N of int[N]: a single int is accepted and repeated N times; 0: none is
  bool is_operand() const { return type == Type::kTensor || type == Type::kTensorList; }
};

struct OpInfo {
  Op op;
  std::string_view name;
  OpClass op_class;
  std::string_view schema;
  std::vector<Parameter> parameters;  // parsed once
};

const OpInfo& Info(Op op);
// The op of that name; nullptr when there is none.
const OpInfo* FindOp(std::string_view name);

// Fills in the defaults of attributes that are missing at the end. Infer, Execute and Graph::AddNode do it
// themselves.
Attrs CompleteAttrs(Op op, Attrs attrs);

// Output metadata for given operands and attributes; the error is the one PyTorch would raise (kind and
// gist). Most ops have one output; topk, sort, max_dim, min_dim have two (values, indices), unique three
// (values, inverse, counts). Undefined optional operands are nullptr. A pointwise node whose operands are all
// weak is weak itself (float64 when floating).
Result<std::vector<TensorMeta>> Infer(Op op, const std::vector<const TensorMeta*>& operands,
                                      const Attrs& attrs);

// The device that results of these operands belong to: the first that is not the CPU. Missing ones are null.
Device DeviceOf(const std::vector<const TensorMeta*>& operands);

// Whether the call has the operands and attributes that the schema asks for (Infer checks that itself).
Status CheckArguments(Op op, const std::vector<const TensorMeta*>& operands, const Attrs& attrs);

// Whether Infer cannot know the sizes: class kDataDependent, `index` by a mask, `one_hot` without
// num_classes.
bool IsDataDependent(Op op, const std::vector<const TensorMeta*>& operands, const Attrs& attrs);

// Whether the (only) output shares operand 0's storage: class kView always, kMaybeView by the operand's
// strides.
bool AliasesOperand(Op op, const TensorMeta& operand, const Attrs& attrs);

// The dtype in which a pointwise op computes: operands are converted to it first, the result then to the
// output's dtype. For comparisons it is the promoted type of the operands (the output is bool); `where` and
// `masked_fill` keep their bool operand. Precondition: Infer accepts the same arguments.
DType ComputeDType(Op op, const std::vector<const TensorMeta*>& operands, const Attrs& attrs);

// PyTorch's result type of tensors and numbers: operands with dimensions decide, then 0-d ones, then weak
// ones, where a lower tier counts only when its category is higher.
DType ResultType(const std::vector<const TensorMeta*>& operands);

// Sizes of `a` and `b` broadcast against each other.
Result<Sizes> BroadcastSizes(const Sizes& a, const Sizes& b);

// Whether `result` may be written into `target` (`x += y`, `out=`): dtype category and sizes.
Status CheckInPlace(const TensorMeta& target, const TensorMeta& result);

}  // namespace thirdbook
