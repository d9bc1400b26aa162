// What a person writes by hand in 128-bit wasm for the benchmark's cases, and what the machine gives at most: the fixed points of the table.
//
// In: pointers into an imported memory. Out: results there. Built twice by build.mjs: simd128, and with -DRELAXED for engines with
// relaxed SIMD. These kernels do only what their case needs: lengths that divide, no NaN, tanh within about 4 ulp, exp for x <= 0.
#include <stdint.h>
#include <wasm_simd128.h>

#define EXPORT(name) __attribute__((export_name(#name)))

typedef v128_t f4;

static inline f4 load(const float* p) { return wasm_v128_load(p); }
static inline void store(float* p, f4 v) { wasm_v128_store(p, v); }
static inline f4 all(float x) { return wasm_f32x4_splat(x); }
static inline f4 add(f4 a, f4 b) { return wasm_f32x4_add(a, b); }
static inline f4 sub(f4 a, f4 b) { return wasm_f32x4_sub(a, b); }
static inline f4 mul(f4 a, f4 b) { return wasm_f32x4_mul(a, b); }
#ifdef RELAXED
static inline f4 fma4(f4 a, f4 b, f4 c) { return wasm_f32x4_relaxed_madd(a, b, c); }
#else
static inline f4 fma4(f4 a, f4 b, f4 c) { return add(mul(a, b), c); }
#endif
static inline f4 least(f4 a, f4 b) { return wasm_f32x4_pmin(a, b); }
static inline f4 most(f4 a, f4 b) { return wasm_f32x4_pmax(a, b); }
static inline float across_sum(f4 v) {
  return (wasm_f32x4_extract_lane(v, 0) + wasm_f32x4_extract_lane(v, 2)) + (wasm_f32x4_extract_lane(v, 1) + wasm_f32x4_extract_lane(v, 3));
}
static inline float greater(float a, float b) { return a < b ? b : a; }
static inline float across_max(f4 v) {
  return greater(greater(wasm_f32x4_extract_lane(v, 0), wasm_f32x4_extract_lane(v, 1)),
                 greater(wasm_f32x4_extract_lane(v, 2), wasm_f32x4_extract_lane(v, 3)));
}

// ---- Limits ------------------------------------------------------------------------------------------------------------------

// Multiply-adds on 12 chains of registers: 96 flop a round.
EXPORT(peak) float peak(const float* p, int rounds) {
  const f4 m = load(p), a = load(p + 4);
  f4 r[12];
  for (int i = 0; i < 12; ++i) r[i] = all(1.0f + 0.1f * (float)i);
#pragma clang loop unroll(disable)
  for (int n = 0; n < rounds; ++n) {
#pragma clang loop unroll(full)
    for (int i = 0; i < 12; ++i) r[i] = fma4(r[i], m, a);
  }
  f4 total = r[0];
  for (int i = 1; i < 12; ++i) total = add(total, r[i]);
  return across_sum(total);
}
EXPORT(triad) void triad(float* out, const float* x, const float* y, float s, int n) {
  const f4 k = all(s);
  for (int i = 0; i + 16 <= n; i += 16) {
    for (int u = 0; u < 16; u += 4) store(out + i + u, fma4(load(y + i + u), k, load(x + i + u)));
  }
}
EXPORT(copy) void copy(void* out, const void* in, unsigned bytes) { __builtin_memcpy(out, in, bytes); }
EXPORT(sum) float sum(const float* x, int n) {
  f4 s[8];
  for (int u = 0; u < 8; ++u) s[u] = all(0);
  for (int i = 0; i + 32 <= n; i += 32) {
    for (int u = 0; u < 8; ++u) s[u] = add(s[u], load(x + i + 4 * u));
  }
  for (int u = 1; u < 8; ++u) s[0] = add(s[0], s[u]);
  return across_sum(s[0]);
}

// ---- Pointwise chain ---------------------------------------------------------------------------------------------------------

// x P(x^2) / Q(x^2) on |x| < 7.9, the rational form that Eigen uses (its published coefficients).
static inline f4 quick_tanh(f4 x) {
  x = most(least(x, all(7.90531110763549805f)), all(-7.90531110763549805f));
  const f4 z = mul(x, x);
  f4 p = all(-2.76076847742355e-16f);
  p = fma4(p, z, all(2.00018790482477e-13f));
  p = fma4(p, z, all(-8.60467152213735e-11f));
  p = fma4(p, z, all(5.12229709037114e-08f));
  p = fma4(p, z, all(1.48572235717979e-05f));
  p = fma4(p, z, all(6.37261928875436e-04f));
  p = fma4(p, z, all(4.89352455891786e-03f));
  f4 q = all(1.19825839466702e-06f);
  q = fma4(q, z, all(1.18534705686654e-04f));
  q = fma4(q, z, all(2.26843463243900e-03f));
  q = fma4(q, z, all(4.89352518554385e-03f));
  return wasm_f32x4_div(mul(p, x), q);
}
// tanh(x a + b) x + relu(x - c)
static inline f4 chain_of(f4 x, f4 a, f4 b, f4 c) { return fma4(quick_tanh(fma4(x, a, b)), x, most(sub(x, c), all(0))); }
EXPORT(chain) void chain(float* out, const float* x, float a, float b, float c, int n) {
  const f4 va = all(a), vb = all(b), vc = all(c);
  for (int i = 0; i + 8 <= n; i += 8) {
    const f4 x0 = load(x + i), x1 = load(x + i + 4);
    store(out + i, chain_of(x0, va, vb, vc));
    store(out + i + 4, chain_of(x1, va, vb, vc));
  }
}

// ---- Rows --------------------------------------------------------------------------------------------------------------------

// e^x for -87 < x <= 0: 2^n through the exponent bits, a polynomial of degree 5.
static inline f4 exp_below_zero(f4 x) {
  x = most(x, all(-87.0f));
  const f4 magic = all(12583039.0f);
  const f4 t = fma4(x, all(1.44269504f), magic);
  const f4 n = sub(t, magic), scale = wasm_i32x4_shl(t, 23);
  f4 r = fma4(n, all(-0.693145752f), x);
  r = fma4(n, all(-1.42860677e-6f), r);
  f4 p = fma4(r, all(8.36892147e-3f), all(4.16684076e-2f));
  p = fma4(p, r, all(0.166665196f));
  p = fma4(p, r, all(0.49999994f));
  p = fma4(p, r, all(1.0f));
  return fma4(mul(p, r), scale, scale);
}
EXPORT(softmax) void softmax(float* out, const float* x, int rows, int n) {
  for (int row = 0; row < rows; ++row, x += n, out += n) {
    f4 top[4];
    for (int u = 0; u < 4; ++u) top[u] = load(x + 4 * u);
    for (int i = 16; i < n; i += 16) {
      for (int u = 0; u < 4; ++u) top[u] = most(top[u], load(x + i + 4 * u));
    }
    const f4 m = all(across_max(most(most(top[0], top[1]), most(top[2], top[3]))));
    f4 s0 = all(0), s1 = all(0);
    for (int i = 0; i < n; i += 8) {
      const f4 e0 = exp_below_zero(sub(load(x + i), m)), e1 = exp_below_zero(sub(load(x + i + 4), m));
      store(out + i, e0), store(out + i + 4, e1);
      s0 = add(s0, e0), s1 = add(s1, e1);
    }
    const f4 k = all(1.0f / across_sum(add(s0, s1)));
    for (int i = 0; i < n; i += 16) {
      for (int u = 0; u < 16; u += 4) store(out + i + u, mul(k, load(out + i + u)));
    }
  }
}
EXPORT(layer_norm) void layer_norm(float* out, const float* x, const float* weight, const float* bias, int rows, int n) {
  const float inverse = 1.0f / (float)n;
  for (int row = 0; row < rows; ++row, x += n, out += n) {
    f4 s[4];
    for (int u = 0; u < 4; ++u) s[u] = all(0);
    for (int i = 0; i < n; i += 16) {
      for (int u = 0; u < 4; ++u) s[u] = add(s[u], load(x + i + 4 * u));
    }
    const f4 mean = all(across_sum(add(add(s[0], s[1]), add(s[2], s[3]))) * inverse);
    for (int u = 0; u < 4; ++u) s[u] = all(0);
    for (int i = 0; i < n; i += 16) {
      for (int u = 0; u < 4; ++u) {
        const f4 d = sub(load(x + i + 4 * u), mean);
        s[u] = fma4(d, d, s[u]);
      }
    }
    const f4 scale = all(1.0f / __builtin_sqrtf(across_sum(add(add(s[0], s[1]), add(s[2], s[3]))) * inverse + 1e-5f));
    for (int i = 0; i < n; i += 8) {
      for (int u = 0; u < 8; u += 4) {
        store(out + i + u, fma4(mul(sub(load(x + i + u), mean), scale), load(weight + i + u), load(bias + i + u)));
      }
    }
  }
}

// ---- Products ----------------------------------------------------------------------------------------------------------------

// B[depth, n] as panels of 8 columns.
static void pack(float* panels, const float* b, int n, int depth) {
  for (int j = 0; j < n; j += 8) {
    for (int p = 0; p < depth; ++p, panels += 8) store(panels, load(b + p * n + j)), store(panels + 4, load(b + p * n + j + 4));
  }
}
#define TILE(ROWS)                                                                                          \
  static void tile##ROWS(const float* a, int a_row, const float* b, float* c, int c_row, int depth, int accumulate) { \
    f4 s[ROWS][2];                                                                                          \
    for (int i = 0; i < ROWS; ++i) {                                                                        \
      s[i][0] = accumulate ? load(c + i * c_row) : all(0);                                                  \
      s[i][1] = accumulate ? load(c + i * c_row + 4) : all(0);                                              \
    }                                                                                                       \
    for (int p = 0; p < depth; ++p, b += 8) {                                                               \
      const f4 b0 = load(b), b1 = load(b + 4);                                                              \
      _Pragma("clang loop unroll(full)") for (int i = 0; i < ROWS; ++i) {                                   \
        const f4 x = wasm_v128_load32_splat(a + i * a_row + p);                                             \
        s[i][0] = fma4(x, b0, s[i][0]), s[i][1] = fma4(x, b1, s[i][1]);                                     \
      }                                                                                                     \
    }                                                                                                       \
    for (int i = 0; i < ROWS; ++i) store(c + i * c_row, s[i][0]), store(c + i * c_row + 4, s[i][1]);         \
  }
TILE(4)
TILE(6)
// rows: 4 or 6 a tile. m and n divide by 4 and 8.
EXPORT(gemm) void gemm(float* c, const float* a, const float* b, int m, int n, int k, float* panels, int block, int rows) {
  for (int k0 = 0; k0 < k; k0 += block) {
    const int depth = k - k0 < block ? k - k0 : block;
    pack(panels, b + k0 * n, n, depth);
    for (int i = 0; i < m;) {
      const int six = rows == 6 && i + 6 <= m;
      for (int j = 0; j < n; j += 8) {
        if (six) tile6(a + i * k + k0, k, panels + j * depth, c + i * n + j, n, depth, k0 > 0);
        else tile4(a + i * k + k0, k, panels + j * depth, c + i * n + j, n, depth, k0 > 0);
      }
      i += six ? 6 : 4;
    }
  }
}
EXPORT(pack_weights) void pack_weights(float* panels, const float* b, int k, int n) { pack(panels, b, n, k); }
// act(A B + bias) with B packed beforehand.
EXPORT(linear) void linear(float* c, const float* a, const float* panels, const float* bias, int m, int n, int k, int relu) {
  for (int j = 0; j < n; j += 8) {
    for (int i = 0; i < m; i += 4) {
      tile4(a + i * k, k, panels + j * k, c + i * n + j, n, k, 0);
      for (int r = 0; r < 4; ++r) {
        float* o = c + (i + r) * n + j;
        for (int u = 0; u < 8; u += 4) {
          f4 v = add(load(o + u), load(bias + j + u));
          store(o + u, relu ? most(v, all(0)) : v);
        }
      }
    }
  }
}
EXPORT(nothing) void nothing(void) {}
