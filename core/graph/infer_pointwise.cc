// Pointwise ops: promotion and broadcasting.
//
// Families, by the dtype they compute in and give:
//
//   arithmetic   result type of the operands          add, mul, maximum, where...
//   floating     result type, integers → default      exp, true div, sigmoid...
//   comparison   computes in the result type, gives bool
//   bits         result type, floating refused
//   like self    the first operand's dtype            copy, fill, masked_fill, clone, neg, floor...
#include "graph/infer.h"

namespace thirdbook {
namespace {

enum class Family : uint8_t { kArithmetic, kFloating, kComparison, kBits, kLikeSelf };

Family FamilyOf(Op op, const Attrs& attrs) {
  switch (op) {
    case Op::k_div: return HasAttr(attrs, 0) ? Family::kArithmetic : Family::kFloating;
    case Op::k_add:
    case Op::k_sub:
    case Op::k_mul:
    case Op::k_floor_divide:
    case Op::k_remainder:
    case Op::k_fmod:
    case Op::k_pow:
    case Op::k_maximum:
    case Op::k_minimum:
    case Op::k_lerp:
    case Op::k_clamp:
    case Op::k_where:
    case Op::k_square: return Family::kArithmetic;
    case Op::k_masked_fill:
    case Op::k_copy:
    case Op::k_fill:
    case Op::k_to:
    case Op::k_clone:
    case Op::k_neg:
    case Op::k_abs:
    case Op::k_sign:
    case Op::k_relu:
    case Op::k_floor:
    case Op::k_ceil:
    case Op::k_round:
    case Op::k_trunc: return Family::kLikeSelf;
    case Op::k_bitwise_and:
    case Op::k_bitwise_or:
    case Op::k_bitwise_xor:
    case Op::k_bitwise_not:
    case Op::k_bitwise_left_shift:
    case Op::k_bitwise_right_shift: return Family::kBits;
    case Op::k_logical_and:
    case Op::k_logical_or:
    case Op::k_logical_xor:
    case Op::k_logical_not:
    case Op::k_eq:
    case Op::k_ne:
    case Op::k_lt:
    case Op::k_le:
    case Op::k_gt:
    case Op::k_ge:
    case Op::k_isnan:
    case Op::k_isinf:
    case Op::k_isfinite: return Family::kComparison;
    default: return Family::kFloating;
  }
}

bool AllWeak(const std::vector<const TensorMeta*>& operands) {
  for (const TensorMeta* m : operands) {
    if (m && !m->weak) return false;
  }
  return true;
}

// The operands that take part in promotion.
std::vector<const TensorMeta*> Promoting(Op op, const std::vector<const TensorMeta*>& operands) {
  switch (op) {
    case Op::k_where: return {operands[1], operands[2]};
    case Op::k_lerp: return {operands[0], operands[1]};
    case Op::k_masked_fill:
    case Op::k_copy:
    case Op::k_fill: return {operands[0]};
    default: return operands;
  }
}

Status CheckAlpha(const Call& call, DType result) {
  const Attr& alpha = call.attrs[0];
  if (std::holds_alternative<bool>(alpha) && result != DType::kBool) {
    return RuntimeError("Boolean alpha only supported for Boolean results.");
  }
  if (IsFloatAttr(alpha) && !IsFloating(result)) {
    return RuntimeError("For integral input tensors, argument alpha must not be a floating point number.");
  }
  return Status::Ok();
}

// What PyTorch refuses, by dtype.
Status CheckDTypes(const Call& call, DType compute) {
  DType self = call.in(0).dtype;
  auto refuse_bool = [&](std::string_view kernel) {
    return compute == DType::kBool ? NotImplementedFor(kernel, compute) : Status::Ok();
  };
  switch (call.op) {
    case Op::k_add: return CheckAlpha(call, compute);
    case Op::k_sub: {
      bool a = self == DType::kBool, b = call.in(1).dtype == DType::kBool;
      if (a && b) {
        return RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` "
            "operator instead.");
      }
      if (a || b) {
        return RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert "
            "a "
            "mask, use the `~` or `logical_not()` operator instead.");
      }
      return CheckAlpha(call, compute);
    }
    case Op::k_neg:
      if (self == DType::kBool) {
        return RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
            "mask, use "
            "the `~` or `logical_not()` operator instead.");
      }
      return Status::Ok();
    case Op::k_div: {
      const std::string* mode = StringAttr(call.attrs, 0);
      if (!mode) return Status::Ok();
      if (*mode == "floor") return refuse_bool("div_floor_cpu");
      if (*mode == "trunc") return refuse_bool("div_trunc_cpu");
      return RuntimeError("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '" +
                          *mode + "'");
    }
    case Op::k_floor_divide: return refuse_bool("div_floor_cpu");
    case Op::k_remainder: return refuse_bool("remainder_cpu");
    case Op::k_fmod: return refuse_bool("fmod_cpu");
    case Op::k_pow:
      return call.in(1).weak ? Status::Ok() : refuse_bool("pow");  // True ** True is left to the kernel
    case Op::k_abs: return refuse_bool("abs_cpu");
    case Op::k_floor: return refuse_bool("floor_vml_cpu");
    case Op::k_ceil: return refuse_bool("ceil_vml_cpu");
    case Op::k_trunc: return refuse_bool("trunc_vml_cpu");
    case Op::k_round:
      if (IntAttr(call.attrs, 0) != 0 && !IsFloating(self)) return NotImplementedFor("round_cpu", self);
      return refuse_bool("round_vml_cpu");
    case Op::k_relu:
      return self == DType::kBool ? RuntimeError("Boolean inputs not supported for relu") : Status::Ok();
    case Op::k_clamp: return refuse_bool("clamp_cpu");
    case Op::k_lerp: {
      DType end = call.in(1).dtype, weight = call.in(2).dtype;
      if (!call.in(1).weak && end != self) {
        return RuntimeError(
            Format("expected dtype %s for `end` but got dtype %s", CTypeName(self), CTypeName(end)));
      }
      if (call.in(2).rank() > 0 && weight != self) {
        return RuntimeError(
            Format("expected dtype %s for `weight` but got dtype %s", CTypeName(self), CTypeName(weight)));
      }
      return IsFloating(self) ? Status::Ok() : NotImplementedFor("lerp_kernel_scalar", self);
    }
    case Op::k_where:
      if (self != DType::kBool && self != DType::kUInt8) {
        return RuntimeError(
            std::string("where expected condition to be a boolean tensor, but got a tensor with dtype ") +
            DTypeScalarName(self).data());
      }
      return Status::Ok();
    case Op::k_masked_fill:
      if (call.in(1).dtype != DType::kBool) {
        return RuntimeError(
            std::string("masked_fill_ only supports boolean masks, but got mask with dtype ") +
            CTypeName(call.in(1).dtype));
      }
      if (call.in(2).rank() > 0) {
        return RuntimeError(
            Format("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %lld "
                   "dimension(s).",
                   static_cast<long long>(call.in(2).rank())));
      }
      return Status::Ok();
    case Op::k_fill:
      if (call.in(1).rank() > 0) {
        return RuntimeError(
            Format("fill_ only supports 0-dimension value tensor but got tensor with %lld dimensions.",
                   static_cast<long long>(call.in(1).rank())));
      }
      return Status::Ok();
    case Op::k_bitwise_and:
    case Op::k_bitwise_or:
    case Op::k_bitwise_xor:
    case Op::k_bitwise_not:
      return IsFloating(compute) ? NotImplementedFor(std::string(call.name()) + "_cpu", compute)
                                 : Status::Ok();
    case Op::k_bitwise_left_shift:
    case Op::k_bitwise_right_shift:
      if (compute != DType::kBool && !IsFloating(compute)) return Status::Ok();
      return NotImplementedFor(call.op == Op::k_bitwise_left_shift ? "lshift_cpu" : "rshift_cpu", compute);
    default: return Status::Ok();
  }
}

Result<Sizes> OutputSizes(const Call& call) {
  const Sizes& self = call.in(0).sizes;
  if (call.op == Op::k_copy || call.op == Op::k_fill) {
    TB_ASSIGN_OR_RETURN(Sizes sizes, BroadcastSizes(self, call.in(1).sizes));
    if (sizes != self) {
      return RuntimeError("output with shape " + SizesText(self) + " doesn't match the broadcast shape " +
                          SizesText(sizes));
    }
    return sizes;
  }
  Sizes sizes = self;
  for (size_t i = 1; i < call.operands.size(); ++i) {
    if (!call.has(i) || (call.in(i).rank() == 0)) continue;
    TB_ASSIGN_OR_RETURN(sizes, BroadcastSizes(sizes, call.in(i).sizes));
  }
  return sizes;
}

}  // namespace

DType ResultType(const std::vector<const TensorMeta*>& operands) {
  // Tiers: with dimensions, 0-d, weak; a lower one counts only when its category is higher.
  std::optional<DType> tiers[3];
  for (const TensorMeta* m : operands) {
    if (!m) continue;
    std::optional<DType>& tier = tiers[m->weak ? 2 : m->rank() == 0 ? 1 : 0];
    DType dtype = m->weak && IsFloating(m->dtype) ? DefaultDType() : m->dtype;
    tier = tier ? Promote(*tier, dtype) : dtype;
  }
  std::optional<DType> result;
  for (int i = 2; i >= 0; --i) {
    if (!tiers[i]) continue;
    if (!result || IsFloating(*tiers[i]))
      result = tiers[i];
    else if (IsFloating(*result) || *tiers[i] == DType::kBool)
      result = Promote(*tiers[i], *result);
    else
      result = tiers[i];
  }
  return result.value_or(DefaultDType());
}

DType ComputeDType(Op op, const std::vector<const TensorMeta*>& operands, const Attrs& attrs) {
  if (op == Op::k_to) return *DTypeAttr(attrs, 0);
  if (op == Op::k_square && operands[0]->dtype == DType::kBool) return DType::kInt64;
  std::vector<const TensorMeta*> promoting = Promoting(op, operands);
  DType dtype;
  if (AllWeak(promoting) && (AllWeak(operands) || op == Op::k_where)) {
    // Numbers among themselves keep Python's precision; where a tensor chooses between them they become the
    // default dtype.
    bool exact = AllWeak(operands);
    dtype = DType::kBool;
    for (const TensorMeta* m : promoting) {
      if (m) dtype = Promote(dtype, m->dtype);
    }
    if (IsFloating(dtype)) dtype = exact ? DType::kFloat64 : DefaultDType();
    if (FamilyOf(op, attrs) == Family::kFloating && !IsFloating(dtype)) dtype = DType::kFloat64;
    return dtype;
  }
  dtype = ResultType(promoting);
  if (FamilyOf(op, attrs) == Family::kFloating && !IsFloating(dtype)) dtype = DefaultDType();
  return dtype;
}

Result<Metas> InferPointwise(const Call& call) {
  if (call.op == Op::k_clamp && !call.has(1) && !call.has(2)) {
    return RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None");
  }
  DType compute = ComputeDType(call.op, call.operands, call.attrs);
  // PyTorch looks for a kernel of the dtype when the sizes are known.
  Status dtypes = CheckDTypes(call, compute);
  if (!dtypes.ok() && dtypes.kind() != ErrorKind::kNotImplemented) return dtypes;
  TB_ASSIGN_OR_RETURN(Sizes sizes, OutputSizes(call));
  TB_RETURN_IF_ERROR(std::move(dtypes));
  bool to_bool = FamilyOf(call.op, call.attrs) == Family::kComparison;
  TB_ASSIGN_OR_RETURN(Metas out, Fresh(to_bool ? DType::kBool : compute, std::move(sizes)));
  out[0].weak = AllWeak(call.operands) && call.op != Op::k_to;
  return out;
}

}  // namespace thirdbook
