#include "kernel/math_expand.h"

#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>

#include "base/status.h"
#include "kernel/host_functions.h"

namespace thirdbook {
namespace {

constexpr LaneType kF = LaneType::kF32;
constexpr LaneType kI = LaneType::kI32;
constexpr LaneType kB = LaneType::kBool;
constexpr float kRoundingMagic =
    12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, kept in the low bits

// Appends instructions to one stage of the new kernel.
class Expander {
 public:
  explicit Expander(const LoopKernel& kernel) : in_(kernel), out_(kernel) { out_.instrs.clear(); }

  LoopKernel Run() {
    std::vector<int> map(in_.instrs.size(), -1);
    for (size_t s = 0; s < in_.stages.size(); ++s) {
      body_ = &out_.stages[s].body;
      body_->clear();
      for (int id : in_.stages[s].body)
        map[static_cast<size_t>(id)] = Rewrite(in_.instrs[static_cast<size_t>(id)], map);
      for (Store& store : out_.stages[s].stores) store.value = map[static_cast<size_t>(store.value)];
      for (Store& store : out_.stages[s].scratch_stores) store.value = map[static_cast<size_t>(store.value)];
      for (int f : out_.stages[s].folds) {
        Fold& fold = out_.folds[static_cast<size_t>(f)];
        fold.value = map[static_cast<size_t>(fold.value)];
      }
    }
    return std::move(out_);
  }

 private:
  int Emit(Prim prim, LaneType type, int a = -1, int b = -1, int c = -1, uint64_t imm = 0, int d = -1) {
    Instr instr{prim, type, {a, b, c, d}, imm};
    const int id = out_.Append(instr);
    body_->push_back(id);
    return id;
  }
  int Constant(LaneType type, uint64_t bits) {
    auto [it, fresh] = constants_.try_emplace({type, bits}, 0);
    if (fresh) it->second = Emit(Prim::k_constant, type, -1, -1, -1, bits);
    return it->second;
  }
  int F(float value) { return Constant(kF, std::bit_cast<uint32_t>(value)); }
  int I(int32_t value) { return Constant(kI, static_cast<uint64_t>(static_cast<int64_t>(value))); }
  int Op(Prim prim, int a, int b = -1, int c = -1) { return Emit(prim, kF, a, b, c); }
  int IntOp(Prim prim, int a, int b = -1) { return Emit(prim, kI, a, b); }
  int Shift(Prim prim, int a, int by) { return Emit(prim, kI, a, -1, -1, static_cast<uint64_t>(by)); }
  int Test(Prim prim, int a, int b) { return Emit(prim, kB, a, b); }
  int Select(int mask, int yes, int no) { return Emit(Prim::k_select, kF, mask, yes, no); }
  int ToInt(int a) { return Emit(Prim::k_bits, kI, a); }
  int ToFloat(int a) { return Emit(Prim::k_bits, kF, a); }

  int Horner(int x, std::initializer_list<float> coefficients_from_highest) {
    int p = -1;
    for (float c : coefficients_from_highest) p = p < 0 ? F(c) : Op(Prim::k_madd, p, x, F(c));
    return p;
  }
  // A NaN passes both.
  int Clamp(int x, float low, float high) { return Op(Prim::k_pmin, Op(Prim::k_pmax, x, F(low)), F(high)); }
  // `value` with the sign of `x` (value >= 0, or of the same sign).
  int WithSign(int value, int x) {
    const int sign = IntOp(Prim::k_and_, ToInt(x), I(std::numeric_limits<int32_t>::min()));
    return ToFloat(IntOp(Prim::k_or_, ToInt(value), sign));
  }
  struct Reduced {
    int n, scale, r;  // n as a float; power of two; remainder
  };
  // x = n * step + r. `bias` goes into the exponent of `scale`, which is 2^(n + bias - 127).
  Reduced Reduce(int x, float inverse_step, float high, float low, int bias) {
    const int magic = F(kRoundingMagic + static_cast<float>(bias));
    const int t = Op(Prim::k_madd, x, F(inverse_step), magic);
    Reduced out;
    out.n = Op(Prim::k_sub, t, magic);
    out.scale = ToFloat(Shift(Prim::k_shl, ToInt(t), 23));
    out.r = Op(Prim::k_nmadd, out.n, F(high), x);
    if (low != 0) out.r = Op(Prim::k_nmadd, out.n, F(low), out.r);
    return out;
  }

  static constexpr float kLog2E = 1.44269504089f, kLn2High = 0.693145751953125f, kLn2Low = 1.42860682e-6f;
  // 2^n e^r for |r| <= ln2 / 2, where `t` is n + kRoundingMagic + 254. The power is applied as two factors,
  // which covers overflow and gradual underflow.
  int ScaledExp(int t, int r) {
    const int q = Horner(r, {0.00138141739f, 0.00836892147f, 0.0416684076f, 0.166665196f, 0.49999994f});
    const int p = Op(Prim::k_add, Op(Prim::k_madd, Op(Prim::k_mul, r, r), q, r), F(1.0f));
    const int half = Shift(Prim::k_shr, ToInt(t), 1);
    const int other = IntOp(Prim::k_sub, ToInt(t), half);
    const int y = Op(Prim::k_mul, p, ToFloat(Shift(Prim::k_shl, half, 23)));
    return Op(Prim::k_mul, y, ToFloat(Shift(Prim::k_shl, other, 23)));
  }
  int ExpOfClamped(int x) {
    const int magic = F(kRoundingMagic + 254.0f);
    const int t = Op(Prim::k_madd, x, F(kLog2E), magic);
    const int n = Op(Prim::k_sub, t, magic);
    const int r = Op(Prim::k_nmadd, n, F(kLn2Low), Op(Prim::k_nmadd, n, F(kLn2High), x));
    return ScaledExp(t, r);
  }
  int Exp(int x) { return ExpOfClamped(Clamp(x, -104.0f, 89.0f)); }
  // For x <= 0, rounded less often: e^x below 2^-126.5 is 0.
  int ExpOfNegative(int x) {
    const Reduced k = Reduce(Op(Prim::k_pmax, x, F(-88.0f)), kLog2E, kLn2High, kLn2Low, 127);
    const int p =
        Horner(k.r, {0.00138141739f, 0.00836892147f, 0.0416684076f, 0.166665196f, 0.49999994f, 1.0f, 1.0f});
    return Op(Prim::k_mul, p, k.scale);
  }
  int Exp2(int x) {
    const int clamped = Clamp(x, -151.0f, 129.0f);
    const int magic = F(kRoundingMagic + 254.0f);
    const int t = Op(Prim::k_add, clamped, magic);
    const int r = Op(Prim::k_mul, Op(Prim::k_sub, clamped, Op(Prim::k_sub, t, magic)), F(0.69314718056f));
    return ScaledExp(t, r);
  }
  // e^r - 1 for |r| <= ln2 / 2.
  int Expm1OfRemainder(int r) {
    const int p = Horner(r, {0.00138824852f, 0.0083667133f, 0.0416672044f, 0.16666542f, 0.49999997f});
    return Op(Prim::k_madd, Op(Prim::k_mul, r, r), p, r);
  }
  int Expm1(int x) {
    const Reduced k = Reduce(Clamp(x, -18.0f, 89.0f), kLog2E, kLn2High, kLn2Low, 126);  // scale is 2^(n-1)
    const int half = Op(Prim::k_madd, k.scale, Expm1OfRemainder(k.r), Op(Prim::k_sub, k.scale, F(0.5f)));
    return WithSign(Op(Prim::k_add, half, half), x);
  }
  // |x| = n ln2 + r, s = 4^n, t = tanh(r):  tanh|x| = N / (N + 1 - t) with N = (s - 1) / 2 + (s + 1) / 2 * t.
  // Near 0 this is t / 1, and an error of N hardly counts where N is large. n is rounded so that n = 0 up to
  // tanh(x) = 1/2: no cancellation where n is 1.
  int Tanh(int x) {
    const int a = Op(Prim::k_pmin, Op(Prim::k_abs, x), F(9.1f));
    // The sum is rounded to halves and cut to an integer: n = 1 from 1.376 |x| = 0.75 on. The factor is a
    // little below 1 / ln2, so r grows with n, where its error counts less and less; for the same reason one
    // part of ln2 is enough.
    const int magic = F(kRoundingMagic / 2 + 63.0f);
    const int u = ToFloat(IntOp(Prim::k_and_, ToInt(Op(Prim::k_madd, a, F(1.3655f), magic)), I(-2)));
    const int n = Op(Prim::k_sub, u, magic);
    const int scale = ToFloat(Shift(Prim::k_shl, ToInt(u), 23));  // s / 2
    const int r = Op(Prim::k_nmadd, n, F(0.69314718056f), a);
    const int z = Op(Prim::k_mul, r, r);
    const int p = Horner(z, {-0.00577640347f, 0.0207076184f, -0.0537612103f, 0.133316964f, -0.333332896f});
    const int t = Op(Prim::k_madd, Op(Prim::k_mul, z, r), p, r);
    const int half = F(0.5f);
    const int numerator = Op(Prim::k_madd, Op(Prim::k_add, scale, half), t, Op(Prim::k_sub, scale, half));
    const int rest = Op(Prim::k_sub, F(1.0f), t);
    return WithSign(Op(Prim::k_div, numerator, Op(Prim::k_add, numerator, rest)), x);
  }
  // With e = e^-|x|: 1 - e / (1 + e) for x >= 0, e - e * e / (1 + e) below.
  int Sigmoid(int x) {
    const int negative = Op(Prim::k_neg, Op(Prim::k_abs, x));
    const int e = ExpOfClamped(Op(Prim::k_pmax, negative, F(-104.0f)));
    const int one = F(1.0f);
    const int base = Select(Test(Prim::k_lt, x, F(0.0f)), e, one);
    return Op(Prim::k_nmadd, base, Op(Prim::k_div, e, Op(Prim::k_add, one, e)), base);
  }

  struct Split {
    int e, f, tail;  // exponent as a float; m - 1; log(m) - f
  };
  Split SplitLog(int x) {
    const int small = Test(Prim::k_lt, x, F(1.17549435e-38f));
    const int scaled = Select(small, Op(Prim::k_mul, x, F(8388608.0f)), x);
    const int bits = ToInt(scaled);
    const int e = Shift(Prim::k_shr, IntOp(Prim::k_sub, bits, I(0x3f3504f3)), 23);
    const int m = ToFloat(IntOp(Prim::k_sub, bits, Shift(Prim::k_shl, e, 23)));
    Split out;
    const int exponent = Emit(Prim::k_cast, kF, e);
    out.e = Select(small, Op(Prim::k_sub, exponent, F(23.0f)), exponent);
    out.f = Op(Prim::k_sub, m, F(1.0f));
    const int square = Op(Prim::k_mul, out.f, out.f);
    const int p = Horner(out.f, {0.067575708f, -0.116943352f, 0.118935123f, -0.124030836f, 0.142185539f,
                                 -0.166680902f, 0.200021669f, -0.250000089f, 0.333333105f});
    const int cube = Op(Prim::k_mul, Op(Prim::k_mul, square, out.f), p);
    out.tail = Op(Prim::k_nmadd, F(0.5f), square, cube);
    return out;
  }
  // log's results at 0, below 0, at infinity and NaN.
  int LogEdges(int x, int y) {
    const float inf = std::numeric_limits<float>::infinity();
    y = Select(Test(Prim::k_lt, x, F(inf)), y, x);
    const int edge =
        Select(Test(Prim::k_eq, x, F(0.0f)), F(-inf), F(std::numeric_limits<float>::quiet_NaN()));
    return Select(Test(Prim::k_le, x, F(0.0f)), edge, y);
  }
  int LogCore(int x) {
    const Split k = SplitLog(x);
    const int low = Op(Prim::k_madd, k.e, F(-2.12194440e-4f), k.tail);
    return Op(Prim::k_madd, k.e, F(0.693359375f), Op(Prim::k_add, k.f, low));
  }
  int Log(int x) { return LogEdges(x, LogCore(x)); }
  // log(m) * c + e * (high + low), the product taken apart so that the error stays below an ulp: c = c_high +
  // c_low.
  int LogBase(int x, float c_high, float c_low, float high, float low) {
    const Split k = SplitLog(x);
    // f + tail, with f cut to 12 bits so that the products with c_high are exact.
    const int sum = Op(Prim::k_add, k.f, k.tail);
    const int cut = ToFloat(IntOp(Prim::k_and_, ToInt(sum), I(static_cast<int32_t>(0xfffff000u))));
    const int rest = Op(Prim::k_add, Op(Prim::k_sub, k.f, cut), k.tail);
    int y = Op(Prim::k_mul, sum, F(c_low));
    y = Op(Prim::k_madd, rest, F(c_high), y);
    if (low != 0) y = Op(Prim::k_madd, k.e, F(low), y);
    y = Op(Prim::k_madd, cut, F(c_high), y);
    y = high == 1.0f ? Op(Prim::k_add, k.e, y) : Op(Prim::k_madd, k.e, F(high), y);
    return LogEdges(x, y);
  }
  // log(u) + (x - (u - 1)) / u, u = 1 + x.
  int Log1p(int x) {
    const int one = F(1.0f);
    const int u = Op(Prim::k_add, x, one);
    const int log_u = Log(u);
    const int correction = Op(Prim::k_div, Op(Prim::k_sub, x, Op(Prim::k_sub, u, one)), u);
    const int inside = Emit(Prim::k_and_, kB, Test(Prim::k_gt, u, F(0.0f)),
                            Test(Prim::k_lt, u, F(std::numeric_limits<float>::infinity())));
    return WithSign(Select(inside, Op(Prim::k_add, log_u, correction), log_u), x);
  }

  // Quarter turns: sin(x + turns * pi/2).
  int SinOrCos(int x, int turns, const char* host) {
    const int magic = F(kRoundingMagic);
    const int t = Op(Prim::k_madd, x, F(0.636619772f), magic);
    const int n = Op(Prim::k_sub, t, magic);
    // pi/2 in parts of at most 12 bits: products with |n| < 2^12 and the first two differences are exact; the
    // error of the third one is added to the last part.
    int r = Op(Prim::k_nmadd, n, F(0x1.92p+0f), x);
    r = Op(Prim::k_nmadd, n, F(0x1.fb4p-12f), r);
    const int third = Op(Prim::k_mul, n, F(0x1.444p-24f));
    const int sum = Op(Prim::k_sub, r, third);
    const int lost = Op(Prim::k_sub, Op(Prim::k_sub, r, sum), third);
    r = Op(Prim::k_add, sum, Op(Prim::k_nmadd, n, F(0x1.68c234c4c6629p-39f), lost));
    const int z = Op(Prim::k_mul, r, r);
    const int sin_p = Horner(z, {2.71802583e-06f, -0.000198393027f, 0.00833332911f, -0.166666672f});
    const int sine = WithSign(Op(Prim::k_madd, Op(Prim::k_mul, z, r), sin_p, r), r);
    const int cos_p = Horner(z, {2.44322091e-05f, -0.00138873083f, 0.0416666456f});
    const int half = Op(Prim::k_nmadd, F(0.5f), z, F(1.0f));
    const int cosine = Op(Prim::k_madd, Op(Prim::k_mul, z, z), cos_p, half);
    int quadrant = ToInt(t);
    if (turns) quadrant = IntOp(Prim::k_add, quadrant, I(turns));
    const int odd = Test(Prim::k_ne, IntOp(Prim::k_and_, quadrant, I(1)), I(0));
    const int sign = Shift(Prim::k_shl, IntOp(Prim::k_and_, quadrant, I(2)), 30);
    const int y = ToFloat(IntOp(Prim::k_xor_, ToInt(Select(odd, cosine, sine)), sign));
    const int far = Test(Prim::k_gt, Op(Prim::k_abs, x), F(6400.0f));
    return Emit(Prim::k_patch1, kF, far, y, x, static_cast<uint64_t>(HostFunctionIndex(host)));
  }

  int Erf(int x) {
    const int a = Op(Prim::k_abs, x);
    const int z = Op(Prim::k_mul, x, x);
    const int p = Horner(z, {7.85388329e-05f, -0.000801020069f, 0.00518832868f, -0.0268538129f, 0.112835854f,
                             -0.37612626f, 0.128379166f});
    const int near = Op(Prim::k_madd, x, p, x);
    const int clamped = Op(Prim::k_pmin, a, F(4.0f));
    const int q = Horner(clamped, {-0.000187604732f, 0.00296011358f, -0.02188964f, 0.103218198f, 0.63801223f,
                                   1.12717164f, 0.000320574705f});
    const Reduced k = Reduce(Op(Prim::k_neg, q), kLog2E, kLn2High, kLn2Low, 127);
    const int e = Horner(k.r, {0.00831238274f, 0.0418914258f, 0.166671202f, 0.499992222f, 1.0f, 1.0f});
    const int far = WithSign(Op(Prim::k_nmadd, e, k.scale, F(1.0f)), x);
    return Select(Test(Prim::k_lt, a, F(1.0f)), near, far);
  }

  int Host(const Instr& instr, const int* args) {
    const int index = HostFunctionIndex(instr.prim == Prim::k_exp_negative ? "exp" : PrimName(instr.prim));
    TB_CHECK(index >= 0);
    const Prim prim = PrimArity(instr.prim) == 1 ? Prim::k_call1 : Prim::k_call2;
    return Emit(prim, instr.type, args[0], args[1], -1, static_cast<uint64_t>(index));
  }

  int Rewrite(const Instr& instr, const std::vector<int>& map) {
    int args[4] = {-1, -1, -1, -1};
    for (int k = 0; k < PrimArity(instr.prim); ++k) args[k] = map[static_cast<size_t>(instr.args[k])];
    if (instr.prim == Prim::k_constant) return Constant(instr.type, instr.imm);
    if (ClassOf(instr.prim) != PrimClass::kMath) {
      return Emit(instr.prim, instr.type, args[0], args[1], args[2], instr.imm, args[3]);
    }
    if (instr.type != kF) return Host(instr, args);
    const int x = args[0];
    switch (instr.prim) {
      case Prim::k_exp: return Exp(x);
      case Prim::k_exp_negative: return ExpOfNegative(x);
      case Prim::k_exp2: return Exp2(x);
      case Prim::k_expm1: return Expm1(x);
      case Prim::k_tanh: return Tanh(x);
      case Prim::k_sigmoid: return Sigmoid(x);
      case Prim::k_log: return Log(x);
      case Prim::k_log2: return LogBase(x, 0x1.714p+0f, 0x1.47652b82fe177p-12f, 1.0f, 0.0f);
      case Prim::k_log10:
        return LogBase(x, 0x1.bcap-2f, 0x1.7b1526e50e32ap-14f, 0x1.344p-2f, 0x1.3509f79fef312p-18f);
      case Prim::k_log1p: return Log1p(x);
      case Prim::k_sin: return SinOrCos(x, 0, "sin");
      case Prim::k_cos: return SinOrCos(x, 1, "cos");
      case Prim::k_erf: return Erf(x);
      default: return Host(instr, args);
    }
  }

  const LoopKernel& in_;
  LoopKernel out_;
  std::vector<int>* body_ = nullptr;
  std::map<std::pair<LaneType, uint64_t>, int> constants_;
};

}  // namespace

LoopKernel ExpandMath(const LoopKernel& kernel) { return Expander(kernel).Run(); }

}  // namespace thirdbook
