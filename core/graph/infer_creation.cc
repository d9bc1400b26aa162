// Creation and random ops: no operand decides, the attributes do.
#include <cmath>

#include "graph/infer.h"

namespace thirdbook {
namespace {

long long LL(int64_t x) { return static_cast<long long>(x); }

Result<Metas> Sized(const Attrs& attrs, size_t sizes, size_t dtype, DType otherwise) {
  return Fresh(DTypeAttr(attrs, dtype).value_or(otherwise), ListAttr(attrs, sizes));
}

Result<Metas> InferArange(const Attrs& attrs) {
  double start = FloatAttr(attrs, 0), end = FloatAttr(attrs, 1), step = FloatAttr(attrs, 2);
  bool integral = !IsFloatAttr(attrs[0]) && !IsFloatAttr(attrs[1]) && !IsFloatAttr(attrs[2]);
  if (step == 0) return RuntimeError("step must be nonzero");
  if (!std::isfinite(start) || !std::isfinite(end))
    return RuntimeError(Format("unsupported range: %g -> %g", start, end));
  if (!std::isfinite(step)) return RuntimeError("step must be finite");
  if ((step > 0 && end < start) || (step < 0 && end > start)) {
    return RuntimeError("upper bound and lower bound inconsistent with step sign");
  }
  DType dtype = DTypeAttr(attrs, 3).value_or(integral ? DType::kInt64 : DefaultDType());
  int64_t count;
  if (integral || dtype == DType::kInt64) {  // an int64 result truncates floating arguments first
    auto whole = [&attrs](size_t i) {
      return IsFloatAttr(attrs[i]) ? static_cast<int64_t>(FloatAttr(attrs, i)) : IntAttr(attrs, i);
    };
    for (double number : {start, end, step}) {
      if (!(std::fabs(number) <= 9.2e18)) return RuntimeError("invalid size, possible overflow?");
    }
    // In 128 bits: the distance of two int64 does not fit one.
    __int128 distance = static_cast<__int128>(whole(1)) - whole(0);
    __int128 width = whole(2);
    if (width == 0) return RuntimeError("step must be nonzero");
    __int128 n = (distance + width - (width > 0 ? 1 : -1)) / width;
    if (n > (__int128{1} << 56)) return RuntimeError("invalid size, possible overflow?");
    count = static_cast<int64_t>(n);
  } else {
    double n = std::ceil((end - start) / step);
    if (!(n < 72057594037927936.0)) return RuntimeError("invalid size, possible overflow?");
    count = static_cast<int64_t>(n);
  }
  return Fresh(dtype, {count});
}

Status CheckRandint(const Attrs& attrs, DType dtype) {
  int64_t low = IntAttr(attrs, 0), high = IntAttr(attrs, 1);
  if (low >= high) {
    return RuntimeError(Format("random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                               LL(low), LL(high)));
  }
  int64_t least = INT64_MIN, most = INT64_MAX;
  switch (dtype) {
    case DType::kBool: least = 0, most = 1; break;
    case DType::kUInt8: least = 0, most = 255; break;
    case DType::kInt32: least = INT32_MIN, most = INT32_MAX; break;
    case DType::kFloat32: least = -(1 << 24), most = 1 << 24; break;
    case DType::kFloat64: least = -(int64_t{1} << 53), most = int64_t{1} << 53; break;
    case DType::kInt64: break;
  }
  if (low < least || low > most)
    return RuntimeError(std::string("from is out of bounds for ") + CTypeName(dtype));
  if (high - 1 < least || high - 1 > most)
    return RuntimeError(std::string("to - 1 is out of bounds for ") + CTypeName(dtype));
  return Status::Ok();
}

Result<Metas> InferMultinomial(const Call& call) {
  const TensorMeta& self = call.in(0);
  int64_t samples = IntAttr(call.attrs, 0);
  if (self.rank() < 1 || self.rank() > 2) {
    return RuntimeError("prob_dist must be 1 or 2 dim");
  }
  if (!IsFloating(self.dtype)) {
    return RuntimeError(std::string("multinomial only supports floating-point dtypes for input, got: ") +
                        DTypeScalarName(self.dtype).data());
  }
  if (samples <= 0) return RuntimeError("cannot sample n_sample <= 0 samples");
  if (!BoolAttr(call.attrs, 1) && samples > self.sizes.back()) {
    return RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  }
  return self.rank() == 1 ? Fresh(DType::kInt64, {samples}) : Fresh(DType::kInt64, {self.sizes[0], samples});
}

}  // namespace

Result<Metas> InferCreation(const Call& call) {
  const Attrs& attrs = call.attrs;
  switch (call.op) {
    case Op::k_zeros:
    case Op::k_ones:
    case Op::k_empty: return Sized(attrs, 0, 1, DefaultDType());
    case Op::k_full: {
      DType natural = IsFloatAttr(attrs[1])                    ? DefaultDType()
                      : std::holds_alternative<bool>(attrs[1]) ? DType::kBool
                                                               : DType::kInt64;
      return Sized(attrs, 0, 2, natural);
    }
    case Op::k_arange: return InferArange(attrs);
    case Op::k_linspace: {
      int64_t steps = IntAttr(attrs, 2);
      if (steps < 0) return RuntimeError("number of steps must be non-negative");
      return Fresh(DTypeAttr(attrs, 3).value_or(DefaultDType()), {steps});
    }
    case Op::k_eye: {
      int64_t n = IntAttr(attrs, 0), m = IntAttrOr(attrs, 1, n);
      if (n < 0) return RuntimeError(Format("n must be greater or equal to 0, got %lld", LL(n)));
      if (m < 0) return RuntimeError(Format("m must be greater or equal to 0, got %lld", LL(m)));
      return Fresh(DTypeAttr(attrs, 2).value_or(DefaultDType()), {n, m});
    }
    case Op::k_rand:
    case Op::k_randn: {
      DType dtype = DTypeAttr(attrs, 1).value_or(DefaultDType());
      if (!IsFloating(dtype))
        return NotImplementedFor(call.op == Op::k_rand ? "check_uniform_bounds" : "normal_kernel_cpu", dtype);
      return Fresh(dtype, ListAttr(attrs, 0));
    }
    case Op::k_uniform:
    case Op::k_normal: {
      bool uniform = call.op == Op::k_uniform;
      DType dtype = DTypeAttr(attrs, 3).value_or(DefaultDType());
      if (!IsFloating(dtype))
        return NotImplementedFor(uniform ? "check_uniform_bounds" : "normal_kernel_cpu", dtype);
      double a = FloatAttr(attrs, 1), b = FloatAttr(attrs, 2);
      if (uniform && !(a <= b)) {
        return RuntimeError(
            Format("uniform_ expects to return a [from, to) range, but found from=%g > to=%g", a, b));
      }
      if (!uniform && !(b >= 0))
        return RuntimeError(Format("normal expects std >= 0.0, but found std %g", b));
      return Fresh(dtype, ListAttr(attrs, 0));
    }
    case Op::k_randint: {
      DType dtype = DTypeAttr(attrs, 3).value_or(DType::kInt64);
      TB_RETURN_IF_ERROR(CheckRandint(attrs, dtype));
      return Fresh(dtype, ListAttr(attrs, 2));
    }
    case Op::k_randperm: return Fresh(DTypeAttr(attrs, 1).value_or(DType::kInt64), {IntAttr(attrs, 0)});
    case Op::k_multinomial: return InferMultinomial(call);
    default:
      return RuntimeError(std::string(call.name()) + " has no metadata of its own");  // input, constant
  }
}

}  // namespace thirdbook
