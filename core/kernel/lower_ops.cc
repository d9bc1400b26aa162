#include "kernel/lower_ops.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "graph/attrs.h"
#include "tensor/convert.h"

namespace thirdbook {
namespace {

// Functions of floats that are one row of prims.def.
Prim FunctionPrim(Op op) {
  switch (op) {
#define TB_SAME(name) \
  case Op::k_##name: return Prim::k_##name
    TB_SAME(sqrt);
    TB_SAME(exp);
    TB_SAME(exp2);
    TB_SAME(expm1);
    TB_SAME(log);
    TB_SAME(log1p);
    TB_SAME(log2);
    TB_SAME(log10);
    TB_SAME(sin);
    TB_SAME(cos);
    TB_SAME(tan);
    TB_SAME(asin);
    TB_SAME(acos);
    TB_SAME(atan);
    TB_SAME(sinh);
    TB_SAME(cosh);
    TB_SAME(tanh);
    TB_SAME(asinh);
    TB_SAME(acosh);
    TB_SAME(atanh);
    TB_SAME(erf);
    TB_SAME(erfc);
    TB_SAME(sigmoid);
    TB_SAME(atan2);
#undef TB_SAME
    default: return Prim::kCount;
  }
}

Prim ComparePrim(Op op) {
  switch (op) {
    case Op::k_eq: return Prim::k_eq;
    case Op::k_ne: return Prim::k_ne;
    case Op::k_lt: return Prim::k_lt;
    case Op::k_le: return Prim::k_le;
    case Op::k_gt: return Prim::k_gt;
    case Op::k_ge: return Prim::k_ge;
    default: return Prim::kCount;
  }
}

// An int attribute that is a small number, or a float that is one of pow's special exponents.
bool ConstantNumber(const ExprPool& pool, TypedExpr value, double* number) {
  const Expr& e = pool.at(value.id);
  if (e.prim != Prim::k_constant) return false;
  switch (e.type) {
    case LaneType::kF32: {
      const auto low = static_cast<uint32_t>(e.imm);
      float f;
      std::memcpy(&f, &low, 4);
      *number = static_cast<double>(f);
      return true;
    }
    case LaneType::kF64: std::memcpy(number, &e.imm, 8); return true;
    case LaneType::kI32: *number = static_cast<int32_t>(e.imm); return true;
    default: *number = static_cast<double>(static_cast<int64_t>(e.imm)); return true;
  }
}

class OpLowering {
 public:
  OpLowering(ExprPool& pool, const Node& node, const std::vector<const TensorMeta*>& operands,
             const std::vector<TypedExpr>& values, const TensorMeta& output)
      : p_(pool), node_(node), metas_(operands), values_(values), out_(output) {}

  TypedExpr Run() {
    const OpClass op_class = Info(node_.op).op_class;
    if (op_class == OpClass::kReduction || op_class == OpClass::kAlong) return Folding();
    if (op_class == OpClass::kMaybeView) return values_[0];
    return Pointwise();
  }

 private:
  bool has(size_t i) const { return i < values_.size() && values_[i].id >= 0; }
  int As(size_t i, DType dtype) { return CastExpr(p_, values_[i], dtype).id; }
  // Keeps uint8 within a byte.
  int Wrapped(int id, DType dtype) {
    return dtype == DType::kUInt8 ? p_.Op(Prim::k_and_, LaneType::kI32, id, p_.Constant(LaneType::kI32, 255))
                                  : id;
  }
  // NaN wins from either side; where `b` is a number that is not NaN one instruction does.
  int Extremum(bool max, LaneType type, int a, int b) {
    if (type == LaneType::kBool) return p_.Op(max ? Prim::k_or_ : Prim::k_and_, type, a, b);
    double number;
    if (ConstantNumber(p_, {b, DType::kFloat32}, &number) && number == number) {
      return p_.Op(max ? Prim::k_pmax : Prim::k_pmin, type, a, b);
    }
    if (ConstantNumber(p_, {a, DType::kFloat32}, &number) && number == number) {
      return p_.Op(max ? Prim::k_pmax : Prim::k_pmin, type, b, a);
    }
    return p_.Op(max ? Prim::k_max : Prim::k_min, type, a, b);
  }

  TypedExpr Pointwise() {
    const Op op = node_.op;
    switch (op) {
      case Op::k_to:
      case Op::k_clone: return CastExpr(p_, values_[0], out_.dtype);
      case Op::k_copy:
      case Op::k_fill: return CastExpr(p_, values_[1], out_.dtype);
      default: break;
    }
    const DType compute = ComputeDType(op, metas_, node_.attrs);
    const LaneType t = LaneTypeOf(compute);
    const auto result = [&](int id) { return TypedExpr{id, compute}; };
    const auto boolean = [&](int id) { return TypedExpr{id, DType::kBool}; };
    const auto op1 = [&](Prim prim) { return result(p_.Op(prim, t, As(0, compute))); };
    const auto op2 = [&](Prim prim) {
      return result(Wrapped(p_.Op(prim, t, As(0, compute), As(1, compute)), compute));
    };
    if (FunctionPrim(op) != Prim::kCount)
      return op == Op::k_atan2 ? op2(Prim::k_atan2) : op1(FunctionPrim(op));
    if (ComparePrim(op) != Prim::kCount) {
      const DType c = compute == DType::kBool ? DType::kInt32 : compute;
      return boolean(p_.Op(ComparePrim(op), LaneType::kBool, As(0, c), As(1, c)));
    }
    switch (op) {
      case Op::k_add:
      case Op::k_sub: {
        const int a = As(0, compute);
        int b = As(1, compute);
        if (compute == DType::kBool) return result(p_.Op(Prim::k_or_, t, a, b));
        const double alpha = NumberOf(node_.attrs[0]);
        if (alpha == 1)
          return result(Wrapped(p_.Op(op == Op::k_add ? Prim::k_add : Prim::k_sub, t, a, b), compute));
        // As the library kernel: a + (±alpha) * b.
        b = p_.Op(Prim::k_mul, t, p_.Constant(t, op == Op::k_add ? alpha : 0 - alpha), b);
        return result(Wrapped(p_.Op(Prim::k_add, t, a, b), compute));
      }
      case Op::k_mul: return compute == DType::kBool ? op2(Prim::k_and_) : op2(Prim::k_mul);
      case Op::k_div: {
        const std::string* mode = StringAttr(node_.attrs, 0);
        if (!mode) return op2(Prim::k_div);
        if (*mode == "floor") return op2(Prim::k_floordiv);
        return result(p_.Op(Prim::k_trunc, t, p_.Op(Prim::k_div, t, As(0, compute), As(1, compute))));
      }
      case Op::k_floor_divide: return op2(Prim::k_floordiv);
      case Op::k_remainder: return op2(Prim::k_remainder);
      case Op::k_fmod: return op2(Prim::k_fmod);
      case Op::k_pow: return result(Power(compute, t));
      case Op::k_maximum: return result(Extremum(true, t, As(0, compute), As(1, compute)));
      case Op::k_minimum: return result(Extremum(false, t, As(0, compute), As(1, compute)));
      case Op::k_clamp: {
        int x = As(0, compute);
        if (has(1)) x = Extremum(true, t, x, As(1, compute));
        if (has(2)) x = Extremum(false, t, x, As(2, compute));
        return result(x);
      }
      case Op::k_lerp: {
        const int start = As(0, compute), end = As(1, compute), weight = As(2, compute);
        const int range = p_.Op(Prim::k_sub, t, end, start);
        const int up = p_.Op(Prim::k_add, t, start, p_.Op(Prim::k_mul, t, weight, range));
        const int rest = p_.Op(Prim::k_sub, t, p_.Constant(t, 1), weight);
        const int down = p_.Op(Prim::k_sub, t, end, p_.Op(Prim::k_mul, t, range, rest));
        const int low =
            p_.Op(Prim::k_lt, LaneType::kBool, p_.Op(Prim::k_abs, t, weight), p_.Constant(t, 0.5));
        return result(p_.Op(Prim::k_select, t, low, up, down));
      }
      case Op::k_where: {
        const int mask = As(0, DType::kBool);
        return result(p_.Op(Prim::k_select, t, mask, As(1, compute), As(2, compute)));
      }
      case Op::k_masked_fill: {
        const int mask = As(1, DType::kBool);
        return result(p_.Op(Prim::k_select, t, mask, As(2, compute), As(0, compute)));
      }
      case Op::k_neg: return result(Wrapped(p_.Op(Prim::k_neg, t, As(0, compute)), compute));
      case Op::k_abs: return compute == DType::kUInt8 ? values_[0] : op1(Prim::k_abs);
      case Op::k_square: {
        const int x = As(0, compute);
        return result(Wrapped(p_.Op(Prim::k_mul, t, x, x), compute));
      }
      case Op::k_relu: return result(p_.Op(Prim::k_pmax, t, As(0, compute), p_.Constant(t, 0)));
      case Op::k_sign: {
        if (compute == DType::kBool) return values_[0];
        const int x = As(0, compute), zero = p_.Constant(t, 0);
        const int negative =
            p_.Op(Prim::k_select, t, p_.Op(Prim::k_lt, LaneType::kBool, x, zero), p_.Constant(t, -1), zero);
        return result(p_.Op(Prim::k_select, t, p_.Op(Prim::k_gt, LaneType::kBool, x, zero), p_.Constant(t, 1),
                            negative));
      }
      case Op::k_floor: return IsFloat(t) ? op1(Prim::k_floor) : values_[0];
      case Op::k_ceil: return IsFloat(t) ? op1(Prim::k_ceil) : values_[0];
      case Op::k_trunc: return IsFloat(t) ? op1(Prim::k_trunc) : values_[0];
      case Op::k_round: return IsFloat(t) ? op1(Prim::k_nearest) : values_[0];
      case Op::k_reciprocal: return result(p_.Op(Prim::k_div, t, p_.Constant(t, 1), As(0, compute)));
      case Op::k_rsqrt:
        return result(p_.Op(Prim::k_div, t, p_.Constant(t, 1), p_.Op(Prim::k_sqrt, t, As(0, compute))));
      case Op::k_bitwise_and: return op2(Prim::k_and_);
      case Op::k_bitwise_or: return op2(Prim::k_or_);
      case Op::k_bitwise_xor: return op2(Prim::k_xor_);
      case Op::k_bitwise_not: return result(Wrapped(p_.Op(Prim::k_not_, t, As(0, compute)), compute));
      case Op::k_logical_and:
        return boolean(p_.Op(Prim::k_and_, LaneType::kBool, As(0, DType::kBool), As(1, DType::kBool)));
      case Op::k_logical_or:
        return boolean(p_.Op(Prim::k_or_, LaneType::kBool, As(0, DType::kBool), As(1, DType::kBool)));
      case Op::k_logical_xor:
        return boolean(p_.Op(Prim::k_xor_, LaneType::kBool, As(0, DType::kBool), As(1, DType::kBool)));
      case Op::k_logical_not: return boolean(p_.Op(Prim::k_not_, LaneType::kBool, As(0, DType::kBool)));
      case Op::k_isnan:
      case Op::k_isinf:
      case Op::k_isfinite: {
        if (!IsFloat(t)) return boolean(p_.Constant(LaneType::kBool, op == Op::k_isfinite));
        const int x = As(0, compute);
        if (op == Op::k_isnan) return boolean(p_.Op(Prim::k_ne, LaneType::kBool, x, x));
        const Prim prim = op == Op::k_isinf ? Prim::k_eq : Prim::k_lt;
        const int inf = p_.Constant(t, std::numeric_limits<double>::infinity());
        return boolean(p_.Op(prim, LaneType::kBool, p_.Op(Prim::k_abs, t, x), inf));
      }
      default: TB_CHECK(false);
    }
  }

  // The products and roots that the library kernel takes for exponents that are numbers; else its pow.
  int Power(DType compute, LaneType t) {
    const int x = As(0, compute);
    double exponent;
    if (metas_[1]->weak && ConstantNumber(p_, values_[1], &exponent)) {
      const auto mul = [&](int a, int b) { return Wrapped(p_.Op(Prim::k_mul, t, a, b), compute); };
      const auto inverse = [&](int a) { return p_.Op(Prim::k_div, t, p_.Constant(t, 1), a); };
      if (exponent == 2) return mul(x, x);
      if (exponent == 3) return mul(mul(x, x), x);
      if (IsFloat(t)) {
        if (exponent == 0.5) return p_.Op(Prim::k_sqrt, t, x);
        if (exponent == -0.5) return inverse(p_.Op(Prim::k_sqrt, t, x));
        if (exponent == -1) return inverse(x);
        if (exponent == -2) return inverse(mul(x, x));
      }
    }
    return p_.Op(Prim::k_pow, t, x, As(1, compute));
  }

  // ---- Folds

  int Sum(LaneType t, int value) { return p_.Fold(FoldKind::kSum, t, value); }
  int Mean(LaneType t, int value) { return p_.Op(Prim::k_div, t, Sum(t, value), p_.Count(t)); }

  TypedExpr Folding() {
    const DType dtype = out_.dtype;
    const LaneType t = LaneTypeOf(dtype);
    const auto result = [&](int id) { return TypedExpr{id, dtype}; };
    switch (node_.op) {
      case Op::k_sum: return result(Sum(t, As(0, dtype)));
      case Op::k_mean: return result(Mean(t, As(0, dtype)));
      case Op::k_prod: return result(p_.Fold(FoldKind::kProd, t, As(0, dtype)));
      case Op::k_amax:
      case Op::k_max: return result(p_.Fold(FoldKind::kMax, t, As(0, dtype)));
      case Op::k_amin:
      case Op::k_min: return result(p_.Fold(FoldKind::kMin, t, As(0, dtype)));
      case Op::k_any:
      case Op::k_all: {
        const int x = As(0, DType::kBool);
        // An empty list of dimensions folds none.
        if (HasAttr(node_.attrs, 0) && ListAttr(node_.attrs, 0).empty()) return result(x);
        return result(p_.Fold(node_.op == Op::k_any ? FoldKind::kAny : FoldKind::kAll, t, x));
      }
      case Op::k_var:
      case Op::k_std: {
        const int x = As(0, dtype);
        const int d = p_.Op(Prim::k_sub, t, x, Mean(t, x));
        const int squares = Sum(t, p_.Op(Prim::k_mul, t, d, d));
        const double correction = HasAttr(node_.attrs, 1) ? NumberOf(node_.attrs[1]) : 1.0;
        int degrees = p_.Count(t);
        if (correction != 0) {
          degrees = p_.Op(Prim::k_sub, t, degrees, p_.Constant(t, correction));
          degrees = p_.Op(Prim::k_pmax, t, degrees, p_.Constant(t, 0));
        }
        const int variance = p_.Op(Prim::k_div, t, squares, degrees);
        return result(node_.op == Op::k_std ? p_.Op(Prim::k_sqrt, t, variance) : variance);
      }
      case Op::k_linalg_vector_norm: {
        const int x = As(0, dtype);
        const double order = FloatAttr(node_.attrs, 0);
        if (order == 2) return result(p_.Op(Prim::k_sqrt, t, Sum(t, p_.Op(Prim::k_mul, t, x, x))));
        const int magnitude = p_.Op(Prim::k_abs, t, x);
        return result(order == 1 ? Sum(t, magnitude) : p_.Fold(FoldKind::kMax, t, magnitude));
      }
      case Op::k_logsumexp: {
        const int x = As(0, dtype);
        const int top = p_.Fold(FoldKind::kMaxNumber, t, x);
        const int inf = p_.Constant(t, std::numeric_limits<double>::infinity());
        const int infinite = p_.Op(Prim::k_eq, LaneType::kBool, p_.Op(Prim::k_abs, t, top), inf);
        const int shift = p_.Op(Prim::k_select, t, infinite, p_.Constant(t, 0), top);
        const int total = Sum(t, p_.Op(Prim::k_exp, t, p_.Op(Prim::k_sub, t, x, shift)));
        return result(p_.Op(Prim::k_add, t, p_.Op(Prim::k_log, t, total), shift));
      }
      // A NaN makes the sum NaN, so the maximum need not see it.
      case Op::k_softmax:
      case Op::k_log_softmax: {
        const int x = As(0, dtype);
        const int shifted = p_.Op(Prim::k_sub, t, x, p_.Fold(FoldKind::kMaxNumber, t, x));
        const int e = p_.Op(Prim::k_exp_negative, t, shifted);
        const int total = Sum(t, e);
        if (node_.op == Op::k_log_softmax)
          return result(p_.Op(Prim::k_sub, t, shifted, p_.Op(Prim::k_log, t, total)));
        return result(p_.Op(Prim::k_mul, t, e, p_.Op(Prim::k_div, t, p_.Constant(t, 1), total)));
      }
      case Op::k_layer_norm: {
        const int x = As(0, dtype);
        const int d = p_.Op(Prim::k_sub, t, x, Mean(t, x));
        const int variance = Mean(t, p_.Op(Prim::k_mul, t, d, d));
        const int eps = p_.Constant(t, FloatAttr(node_.attrs, 1));
        const int scale = p_.Op(Prim::k_div, t, p_.Constant(t, 1),
                                p_.Op(Prim::k_sqrt, t, p_.Op(Prim::k_add, t, variance, eps)));
        int y = p_.Op(Prim::k_mul, t, d, scale);
        if (has(1)) y = p_.Op(Prim::k_mul, t, y, As(1, dtype));
        if (has(2)) y = p_.Op(Prim::k_add, t, y, As(2, dtype));
        return result(y);
      }
      default: TB_CHECK(false);
    }
  }

  ExprPool& p_;
  const Node& node_;
  const std::vector<const TensorMeta*>& metas_;
  const std::vector<TypedExpr>& values_;
  const TensorMeta& out_;
};

}  // namespace

bool LowersOp(const Node& node, const std::vector<const TensorMeta*>& operands, const TensorMeta& output) {
  const OpInfo& info = Info(node.op);
  switch (info.op_class) {
    case OpClass::kPointwise: {
      const DType compute = ComputeDType(node.op, operands, node.attrs);
      const bool floating = IsFloating(compute);
      if (output.weak) return false;  // numbers among themselves: the library's
      switch (node.op) {
        case Op::k_bitwise_left_shift:
        case Op::k_bitwise_right_shift: return false;
        case Op::k_round: return !floating || IntAttr(node.attrs, 0) == 0;
        // Integer division can fail at run time.
        case Op::k_floor_divide:
        case Op::k_remainder:
        case Op::k_fmod: return floating;
        case Op::k_div: return floating;
        case Op::k_pow: return floating;
        case Op::k_add:
        case Op::k_sub: {
          const double alpha = NumberOf(node.attrs[0]);
          return compute != DType::kBool || alpha != 0;
        }
        default: return true;
      }
    }
    case OpClass::kMaybeView: return node.op == Op::k_contiguous;
    case OpClass::kReduction:
      if (operands[0]->rank() == 0 || operands[0]->numel() == 0) return false;
      switch (node.op) {
        case Op::k_sum:
        case Op::k_mean:
        case Op::k_prod:
        case Op::k_amax:
        case Op::k_amin:
        case Op::k_max:
        case Op::k_min:
        case Op::k_logsumexp: return true;
        case Op::k_any:
        case Op::k_all: return output.dtype == DType::kBool;
        case Op::k_var:
        case Op::k_std: return true;
        case Op::k_linalg_vector_norm: {
          const double order = FloatAttr(node.attrs, 0);
          return order == 2 || order == 1 || order == std::numeric_limits<double>::infinity();
        }
        default: return false;
      }
    case OpClass::kAlong:
      if (node.op != Op::k_softmax && node.op != Op::k_log_softmax && node.op != Op::k_layer_norm)
        return false;
      return operands[0]->rank() > 0 && operands[0]->numel() > 0;
    default: return false;
  }
}

TypedExpr LowerOp(ExprPool& pool, const Node& node, const std::vector<const TensorMeta*>& operands,
                  const std::vector<TypedExpr>& values, const TensorMeta& output) {
  const TypedExpr value = OpLowering(pool, node, operands, values, output).Run();
  return CastExpr(pool, value, output.dtype);
}

}  // namespace thirdbook
