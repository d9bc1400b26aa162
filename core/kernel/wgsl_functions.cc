#include "kernel/wgsl_functions.h"

#include <string_view>
#include <vector>

namespace thirdbook {
namespace {

struct Function {
  std::string_view name;
  std::string_view text;
};

// Later ones call earlier ones only. The polynomials are those of math_expand.cc; atan's and erfc's are
// fitted alike.
constexpr Function kFunctions[] = {
    // Not fma(): adapters that have none make it slow, and those that have it use it here anyway.
    {"tb_mad", "fn tb_mad(a: f32, b: f32, c: f32) -> f32 { return a * b + c; }\n"},
    {"tb_float", "fn tb_float(bits: u32) -> f32 { return bitcast<f32>(bits | p.c[0].x); }\n"},
    {"tb_nan", "fn tb_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }\n"},
    {"tb_signed", R"(fn tb_signed(value: f32, x: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(value) & 0x7fffffffu) | (bitcast<u32>(x) & 0x80000000u));
}
)"},
    {"tb_sqrt", "fn tb_sqrt(x: f32) -> f32 { return select(sqrt(x), tb_float(0x7fc00000u), x < 0.0); }\n"},
    {"tb_min", R"(fn tb_min(a: f32, b: f32) -> f32 {
  let least = select(a, b, b < a || tb_nan(b));
  let other = select(least, bitcast<f32>(bitcast<u32>(a) | bitcast<u32>(b)), a == b);
  return select(other, a, tb_nan(a));
}
)"},
    {"tb_max", R"(fn tb_max(a: f32, b: f32) -> f32 {
  let most = select(a, b, a < b || tb_nan(b));
  let other = select(most, bitcast<f32>(bitcast<u32>(a) & bitcast<u32>(b)), a == b);
  return select(other, a, tb_nan(a));
}
)"},
    {"tb_within", R"(fn tb_within(x: f32, low: f32, high: f32) -> f32 {
  let y = select(x, low, x < low);
  return select(y, high, y > high);
}
)"},
    {"tb_scaled", R"(fn tb_scaled(y: f32, n: f32) -> f32 {
  let half = i32(floor(n * 0.5));
  let other = i32(n) - half;
  return y * bitcast<f32>(u32(half + 127) << 23u) * bitcast<f32>(u32(other + 127) << 23u);
}
)"},
    {"tb_exp_near", R"(fn tb_exp_near(r: f32) -> f32 {
  var q = tb_mad(0.00138141739, r, 0.00836892147);
  q = tb_mad(q, r, 0.0416684076);
  q = tb_mad(q, r, 0.166665196);
  q = tb_mad(q, r, 0.49999994);
  return tb_mad(r * r, q, r) + 1.0;
}
)"},
    {"tb_exp", R"(fn tb_exp(x: f32) -> f32 {
  if (tb_nan(x)) { return x; }
  let c = tb_within(x, -104.0, 89.0);
  let n = round(c * 1.44269504);
  let r = tb_mad(n, -1.42860682e-6, tb_mad(n, -0.693145751953125, c));
  return tb_scaled(tb_exp_near(r), n);
}
)"},
    // For x <= 0: e^x below 2^-126.5 is 0.
    {"tb_exp_negative", R"(fn tb_exp_negative(x: f32) -> f32 {
  let c = select(x, -88.0, x < -88.0);
  let n = round(c * 1.44269504);
  let r = tb_mad(n, -1.42860682e-6, tb_mad(n, -0.693145751953125, c));
  return tb_exp_near(r) * bitcast<f32>(u32(i32(n) + 127) << 23u);
}
)"},
    {"tb_exp2", R"(fn tb_exp2(x: f32) -> f32 {
  if (tb_nan(x)) { return x; }
  let c = tb_within(x, -151.0, 129.0);
  let n = round(c);
  return tb_scaled(tb_exp_near((c - n) * 0.69314718), n);
}
)"},
    {"tb_expm1", R"(fn tb_expm1(x: f32) -> f32 {
  if (tb_nan(x)) { return x; }
  let c = tb_within(x, -18.0, 89.0);
  let n = round(c * 1.44269504);
  let r = tb_mad(n, -1.42860682e-6, tb_mad(n, -0.693145751953125, c));
  var q = tb_mad(0.00138824852, r, 0.0083667133);
  q = tb_mad(q, r, 0.0416672044);
  q = tb_mad(q, r, 0.16666542);
  q = tb_mad(q, r, 0.49999997);
  let scale = bitcast<f32>(u32(i32(n) + 126) << 23u);
  let half = tb_mad(scale, tb_mad(r * r, q, r), scale - 0.5);
  return tb_signed(half + half, x);
}
)"},
    // x = 2^e (1 + f):  (e, f, log(1 + f) - f)
    {"tb_log_split", R"(fn tb_log_split(x: f32) -> vec3<f32> {
  let small = x < 1.17549435e-38;
  let bits = bitcast<i32>(select(x, x * 8388608.0, small));
  let e = (bits - 0x3f3504f3) >> 23u;
  let f = bitcast<f32>(bits - (e << 23u)) - 1.0;
  var q = tb_mad(0.067575708, f, -0.116943352);
  q = tb_mad(q, f, 0.118935123);
  q = tb_mad(q, f, -0.124030836);
  q = tb_mad(q, f, 0.142185539);
  q = tb_mad(q, f, -0.166680902);
  q = tb_mad(q, f, 0.200021669);
  q = tb_mad(q, f, -0.250000089);
  q = tb_mad(q, f, 0.333333105);
  let square = f * f;
  return vec3<f32>(f32(e) - select(0.0, 23.0, small), f, tb_mad(-0.5, square, square * f * q));
}
)"},
    {"tb_log_edges", R"(fn tb_log_edges(x: f32, y: f32) -> f32 {
  if (x == 0.0) { return tb_float(0xff800000u); }
  if (x < 0.0) { return tb_float(0x7fc00000u); }
  return select(x, y, x < tb_float(0x7f800000u));
}
)"},
    {"tb_log", R"(fn tb_log(x: f32) -> f32 {
  let k = tb_log_split(x);
  return tb_log_edges(x, tb_mad(k.x, 0.693359375, k.y + tb_mad(k.x, -2.1219444e-4, k.z)));
}
)"},
    {"tb_log2", R"(fn tb_log2(x: f32) -> f32 {
  let k = tb_log_split(x);
  return tb_log_edges(x, tb_mad(k.y, 1.44269502, tb_mad(k.z, 1.44269502, k.y * 1.925963e-8)) + k.x);
}
)"},
    {"tb_log10", R"(fn tb_log10(x: f32) -> f32 {
  let k = tb_log_split(x);
  let tail = tb_mad(k.x, 4.6050390e-6, k.z * 0.434294482);
  return tb_log_edges(x, tb_mad(k.x, 0.301025391, tb_mad(k.y, 0.434294482, tail)));
}
)"},
    {"tb_log1p", R"(fn tb_log1p(x: f32) -> f32 {
  let u = 1.0 + x;
  let y = tb_log(u);
  if (!(u > 0.0 && u < tb_float(0x7f800000u))) { return y; }
  return tb_signed(y + (x - (u - 1.0)) / u, x);
}
)"},
    // Quarter turns of x, and what is left of it.
    {"tb_turn", R"(fn tb_turn(x: f32) -> vec2<f32> {
  let n = round(x * 0.636619772);
  var r = tb_mad(n, -1.5703125, x);
  r = tb_mad(n, -4.83751296997e-4, r);
  let third = n * 7.54953362e-8;
  let sum = r - third;
  return vec2<f32>(n, sum + tb_mad(n, -2.5633441e-12, (r - sum) - third));
}
)"},
    {"tb_sin_turned", R"(fn tb_sin_turned(x: f32, turns: i32) -> f32 {
  if (!(abs(x) < tb_float(0x7f800000u))) { return tb_float(0x7fc00000u); }
  if (abs(x) > 6400.0) { return sin(x + f32(turns) * 1.57079633); }
  let k = tb_turn(x);
  let r = k.y;
  let z = r * r;
  var s = tb_mad(2.71802583e-06, z, -0.000198393027);
  s = tb_mad(s, z, 0.00833332911);
  s = tb_mad(s, z, -0.166666672);
  var c = tb_mad(2.44322091e-05, z, -0.00138873083);
  c = tb_mad(c, z, 0.0416666456);
  let quadrant = i32(k.x) + turns;
  let y = select(tb_signed(tb_mad(z * r, s, r), r), tb_mad(z * z, c, tb_mad(-0.5, z, 1.0)), (quadrant & 1) == 1);
  return select(y, -y, (quadrant & 2) == 2);
}
)"},
    {"tb_sin", "fn tb_sin(x: f32) -> f32 { return select(tb_sin_turned(x, 0), x, x == 0.0); }\n"},
    {"tb_cos", "fn tb_cos(x: f32) -> f32 { return tb_sin_turned(x, 1); }\n"},
    {"tb_tan", "fn tb_tan(x: f32) -> f32 { return tb_sin(x) / tb_cos(x); }\n"},
    // A quotient of polynomials in the square: relative 4e-7, and half the work of an exponential.
    {"tb_tanh", R"(fn tb_tanh(x: f32) -> f32 {
  let c = clamp(x, -9.0, 9.0);
  let y = c * c;
  var p = tb_mad(1.33548346e-8, y, 2.06092245e-5);
  p = tb_mad(p, y, 0.00349559751);
  p = tb_mad(p, y, 0.133810341);
  p = tb_mad(p, y, 1.0);
  var q = tb_mad(7.77663444e-7, y, 0.000328564958);
  q = tb_mad(q, y, 0.0258770194);
  q = tb_mad(q, y, 0.467143506);
  q = tb_mad(q, y, 1.0);
  return select(clamp(c * p / q, -1.0, 1.0), x, tb_nan(x));
}
)"},
    {"tb_sigmoid", R"(fn tb_sigmoid(x: f32) -> f32 {
  let e = tb_exp(-abs(x));
  return select(1.0, e, x < 0.0) / (1.0 + e);
}
)"},
    {"tb_sinh", R"(fn tb_sinh(x: f32) -> f32 {
  let a = abs(x);
  if (a > 1.0) {
    let t = tb_exp(a * 0.5);
    return tb_signed(tb_mad(0.5 * t, t, -0.5 / t / t), x);
  }
  let e = tb_expm1(a);
  return tb_signed(0.5 * (e + e / (e + 1.0)), x);
}
)"},
    {"tb_cosh", R"(fn tb_cosh(x: f32) -> f32 {
  let t = tb_exp(abs(x) * 0.5);
  return tb_mad(0.5 * t, t, 0.5 / t / t);
}
)"},
    {"tb_asinh", R"(fn tb_asinh(x: f32) -> f32 {
  let a = abs(x);
  if (a > 1e9) { return tb_signed(tb_log(a) + 0.69314718, x); }
  return tb_signed(tb_log1p(a + a * a / (1.0 + sqrt(tb_mad(a, a, 1.0)))), x);
}
)"},
    {"tb_acosh", R"(fn tb_acosh(x: f32) -> f32 {
  if (x < 1.0) { return tb_float(0x7fc00000u); }
  if (x > 1e9) { return tb_log(x) + 0.69314718; }
  let t = x - 1.0;
  return tb_log1p(t + sqrt(tb_mad(t, t, 2.0 * t)));
}
)"},
    {"tb_atanh", R"(fn tb_atanh(x: f32) -> f32 {
  let a = abs(x);
  if (a > 1.0) { return tb_float(0x7fc00000u); }
  if (a == 1.0) { return tb_signed(tb_float(0x7f800000u), x); }
  return tb_signed(0.5 * tb_log1p(2.0 * a / (1.0 - a)), x);
}
)"},
    {"tb_atan", R"(fn tb_atan(x: f32) -> f32 {
  let a = abs(x);
  var r = a;
  var base = 0.0;
  if (a > 2.41421356) {
    r = -1.0 / a;
    base = 1.57079633;
  } else if (a > 0.414213562) {
    r = (a - 1.0) / (a + 1.0);
    base = 0.785398163;
  }
  let z = r * r;
  var q = tb_mad(-0.0608299349, z, 0.105958291);
  q = tb_mad(q, z, -0.142438267);
  q = tb_mad(q, z, 0.199984883);
  q = tb_mad(q, z, -0.333333155);
  return tb_signed(base + tb_mad(r * z, q, r), x);
}
)"},
    {"tb_atan2", R"(fn tb_atan2(y: f32, x: f32) -> f32 {
  if (tb_nan(x)) { return x; }
  if (tb_nan(y)) { return y; }
  let high = max(abs(x), abs(y));
  let low = min(abs(x), abs(y));
  var t = select(low / high, 1.0, low == high);
  if (high == 0.0) { t = 0.0; }
  t = tb_atan(t);
  t = select(t, 1.57079633 - t, abs(y) > abs(x));
  t = select(t, 3.14159265 - t, bitcast<i32>(x) < 0);
  return tb_signed(t, y);
}
)"},
    {"tb_asin", R"(fn tb_asin(x: f32) -> f32 {
  if (!(abs(x) <= 1.0)) { return tb_float(0x7fc00000u); }
  return tb_atan2(x, sqrt((1.0 - x) * (1.0 + x)));
}
)"},
    {"tb_acos", R"(fn tb_acos(x: f32) -> f32 {
  if (!(abs(x) <= 1.0)) { return tb_float(0x7fc00000u); }
  return tb_atan2(sqrt((1.0 - x) * (1.0 + x)), x);
}
)"},
    {"tb_erf", R"(fn tb_erf(x: f32) -> f32 {
  if (tb_nan(x)) { return x; }
  let a = abs(x);
  if (a < 1.0) {
    let z = x * x;
    var q = tb_mad(7.85388329e-05, z, -0.000801020069);
    q = tb_mad(q, z, 0.00518832868);
    q = tb_mad(q, z, -0.0268538129);
    q = tb_mad(q, z, 0.112835854);
    q = tb_mad(q, z, -0.37612626);
    q = tb_mad(q, z, 0.128379166);
    return tb_mad(x, q, x);
  }
  let c = min(a, 4.0);
  var q = tb_mad(-0.000187604732, c, 0.00296011358);
  q = tb_mad(q, c, -0.02188964);
  q = tb_mad(q, c, 0.103218198);
  q = tb_mad(q, c, 0.63801223);
  q = tb_mad(q, c, 1.12717164);
  q = tb_mad(q, c, 0.000320574705);
  return tb_signed(1.0 - tb_exp(-q), x);
}
)"},
    {"tb_erfc", R"(fn tb_erfc(x: f32) -> f32 {
  if (!(x >= 0.5)) { return 1.0 - tb_erf(x); }
  let c = min(x, 10.5);
  let t = 1.0 / tb_mad(0.5, c, 1.0);
  var q = tb_mad(-0.0612578402, t, 0.296011876);
  q = tb_mad(q, t, -0.511075117);
  q = tb_mad(q, t, 0.304488332);
  q = tb_mad(q, t, -0.0436951367);
  q = tb_mad(q, t, 0.209296969);
  q = tb_mad(q, t, 0.241604375);
  q = tb_mad(q, t, 0.282557471);
  q = tb_mad(q, t, 0.282077338);
  return tb_exp(-c * c) * t * q;
}
)"},
    {"tb_pow", R"(fn tb_pow(x: f32, y: f32) -> f32 {
  if (y == 0.0 || x == 1.0) { return 1.0; }
  if (tb_nan(x)) { return x; }
  if (tb_nan(y)) { return y; }
  let a = abs(x);
  let inf = tb_float(0x7f800000u);
  let whole = floor(y) == y;
  let odd = whole && abs(y) < 16777216.0 && (i32(y) & 1) == 1;
  var z = 0.0;
  if (a == 0.0 || a == inf || abs(y) == inf) {
    let grows = select((a > 1.0) == (y > 0.0), true, a == 0.0 && y < 0.0);
    z = select(0.0, inf, grows);
    if (a == 1.0) { z = 1.0; }
  } else {
    if (x < 0.0 && !whole) { return tb_float(0x7fc00000u); }
    let k = tb_log_split(a);
    let part = y * tb_mad(k.y + k.z, 1.44269502, (k.y + k.z) * 1.925963e-8);
    let n = round(tb_within(tb_mad(y, k.x, part), -300.0, 300.0));
    let r = tb_within(tb_mad(y, k.x, -n) + part, -150.0, 150.0);
    let m = round(r);
    z = tb_scaled(tb_scaled(tb_exp_near((r - m) * 0.69314718), m), tb_within(n, -250.0, 250.0));
  }
  return select(z, -z, odd && bitcast<i32>(x) < 0);
}
)"},
    // Exact for every quotient: the divisor doubled up to the dividend, subtracted on the way down.
    {"tb_fmod", R"(fn tb_fmod(x: f32, y: f32) -> f32 {
  let inf = tb_float(0x7f800000u);
  let b = abs(y);
  var r = abs(x);
  if (!(r < inf) || tb_nan(y) || b == 0.0) { return tb_float(0x7fc00000u); }
  if (b == inf || r < b) { return x; }
  let k = (bitcast<i32>(r) >> 23u) - (bitcast<i32>(b) >> 23u);
  for (var i = k; i >= 0; i--) {
    let half = i / 2;
    let step = b * bitcast<f32>(u32(half + 127) << 23u) * bitcast<f32>(u32(i - half + 127) << 23u);
    if (r >= step) { r -= step; }
  }
  return tb_signed(r, x);
}
)"},
    {"tb_remainder", R"(fn tb_remainder(x: f32, y: f32) -> f32 {
  let r = tb_fmod(x, y);
  return select(r, r + y, r != 0.0 && (y < 0.0) != (r < 0.0));
}
)"},
    {"tb_floordiv", R"(fn tb_floordiv(x: f32, y: f32) -> f32 {
  if (y == 0.0) { return x / y; }
  let r = tb_fmod(x, y);
  var q = (x - r) / y;
  if (r != 0.0 && (y < 0.0) != (r < 0.0)) { q -= 1.0; }
  if (q == 0.0) { return tb_signed(0.0, x / y); }
  let whole = floor(q);
  return select(whole, whole + 1.0, q - whole > 0.5);
}
)"},
    {"tb_f32_i32", "fn tb_f32_i32(x: f32) -> i32 { return select(i32(x), 0, tb_nan(x)); }\n"},
    {"tb_f64_f32", R"(fn tb_f64_f32(v: vec2<u32>) -> f32 {
  let sign = v.y & 0x80000000u;
  let e = i32((v.y >> 20u) & 0x7ffu) - 1023;
  if (e > 127) {
    let nan = e == 1024 && ((v.y & 0xfffffu) | v.x) != 0u;
    return tb_float(sign | select(0x7f800000u, 0x7fc00000u, nan));
  }
  if (e < -126) { return tb_float(sign); }
  var bits = (u32(e + 127) << 23u) | ((v.y & 0xfffffu) << 3u) | (v.x >> 29u);
  let rest = v.x & 0x1fffffffu;
  bits += u32(rest > 0x10000000u || (rest == 0x10000000u && (bits & 1u) == 1u));
  return tb_float(sign | bits);
}
)"},
    {"tb_add64", R"(fn tb_add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + u32(low < a.x));
}
)"},
    {"tb_neg64", "fn tb_neg64(a: vec2<u32>) -> vec2<u32> { return tb_add64(~a, vec2<u32>(1u, 0u)); }\n"},
    {"tb_abs64", "fn tb_abs64(a: vec2<u32>) -> vec2<u32> { return select(a, tb_neg64(a), i32(a.y) < 0); }\n"},
    {"tb_mul64", R"(fn tb_mul64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let al = a.x & 0xffffu;
  let ah = a.x >> 16u;
  let bl = b.x & 0xffffu;
  let bh = b.x >> 16u;
  let middle = ah * bl + ((al * bl) >> 16u);
  let low = (middle & 0xffffu) + al * bh;
  let high = ah * bh + (middle >> 16u) + (low >> 16u);
  return vec2<u32>(a.x * b.x, high + a.x * b.y + a.y * b.x);
}
)"},
    {"tb_lt64", R"(fn tb_lt64(a: vec2<u32>, b: vec2<u32>) -> bool {
  return i32(a.y) < i32(b.y) || (a.y == b.y && a.x < b.x);
}
)"},
    {"tb_min64",
     "fn tb_min64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, tb_lt64(b, a)); }\n"},
    {"tb_max64",
     "fn tb_max64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, tb_lt64(a, b)); }\n"},
    {"tb_i32_i64", "fn tb_i32_i64(x: i32) -> vec2<u32> { return vec2<u32>(u32(x), u32(x >> 31u)); }\n"},
    {"tb_i64_f32", R"(fn tb_i64_f32(v: vec2<u32>) -> f32 {
  if (u32(i32(v.x) >> 31u) == v.y) { return f32(i32(v.x)); }
  let a = tb_abs64(v);
  return select(1.0, -1.0, i32(v.y) < 0) * tb_mad(f32(a.y), 4294967296.0, f32(a.x));
}
)"},
    {"tb_f32_i64", R"(fn tb_f32_i64(x: f32) -> vec2<u32> {
  if (tb_nan(x)) { return vec2<u32>(0u, 0u); }
  if (x >= 9223372036854775808.0) { return vec2<u32>(0xffffffffu, 0x7fffffffu); }
  if (x < -9223372036854775808.0) { return vec2<u32>(0u, 0x80000000u); }
  let a = trunc(abs(x));
  let high = floor(a * 2.3283064365386963e-10);
  let v = vec2<u32>(u32(tb_mad(high, -4294967296.0, a)), u32(high));
  return select(v, tb_neg64(v), x < 0.0);
}
)"},
};

bool Calls(const std::string& text, std::string_view name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    if (text.compare(at + name.size(), 1, "(") == 0) return true;
  }
  return false;
}

}  // namespace

std::string WgslFunctions(const std::string& code) {
  std::string functions;
  for (size_t i = std::size(kFunctions); i-- > 0;) {
    const Function& f = kFunctions[i];
    if (Calls(code, f.name) || Calls(functions, f.name)) functions.insert(0, f.text);
  }
  return functions;
}

}  // namespace thirdbook
