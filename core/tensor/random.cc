// Random ops, in PyTorch's order of draws.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/attrs.h"
#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/families.h"
#include "tensor/generator.h"

namespace thirdbook {
namespace {

constexpr int64_t kChunk = 16;  // normals are made in chunks: eight radii, eight angles

template <typename T>
T Uniform(Generator& generator) {
  if constexpr (std::is_same_v<T, float>)
    return generator.UniformFloat();
  else
    return generator.UniformDouble();
}

// Cephes' logf for x in (0, 1], with the fused multiply-adds of PyTorch's AVX2 build.
float ChunkLog(float x) {
  int exponent;
  float m = std::frexp(x, &exponent);  // [0.5, 1)
  float e = static_cast<float>(exponent);
  if (m < 0.707106781186547524f) {
    e -= 1.0f;
    m = (m - 1.0f) + m;
  } else {
    m -= 1.0f;
  }
  constexpr float kCoefficients[] = {7.0376836292E-2f,  -1.1514610310E-1f, 1.1676998740E-1f,
                                     -1.2420140846E-1f, 1.4249322787E-1f,  -1.6668057665E-1f,
                                     2.0000714765E-1f,  -2.4999993993E-1f, 3.3333331174E-1f};
  float z = m * m, y = kCoefficients[0];
  for (int i = 1; i < 9; ++i) y = std::fma(y, m, kCoefficients[i]);
  y = y * m;
  y = std::fma(y, z, e * -2.12194440e-4f);
  y = std::fma(z, -0.5f, y);
  return std::fma(e, 0.693359375f, m + y);
}

// Cephes' sinf and cosf for x in [0, 2π).
void ChunkSinCos(float x, float* sine, float* cosine) {
  int octant = (static_cast<int>(x * 1.27323954473516f) + 1) & ~1;
  float y = static_cast<float>(octant);
  x = std::fma(y, -0.78515625f, x);
  x = std::fma(y, -2.4187564849853515625e-4f, x);
  x = std::fma(y, -3.77489497744594108e-8f, x);
  float z = x * x;
  float c = std::fma(2.443315711809948E-005f, z, -1.388731625493765E-003f);
  c = std::fma(c, z, 4.166664568298827E-002f);
  c = c * z;
  c = std::fma(c, z, -(z * 0.5f));
  c = c + 1.0f;
  float s = std::fma(-1.9515295891E-4f, z, 8.3321608736E-3f);
  s = std::fma(s, z, -1.6666654611E-1f);
  s = s * z;
  s = std::fma(s, x, x);
  bool swap = (octant & 2) != 0;
  float sin_part = swap ? c : s, cos_part = swap ? s : c;
  *sine = (octant & 4) ? -sin_part : sin_part;
  *cosine = ((octant - 2) & 4) ? cos_part : -cos_part;
}

template <typename T>
void NormalChunk(T* data, double mean, double std) {
  for (int64_t j = 0; j < kChunk / 2; ++j) {
    T u1 = T(1) - data[j], u2 = data[j + kChunk / 2];
    if constexpr (std::is_same_v<T, float>) {
      float radius = std::sqrt(-2.0f * ChunkLog(u1)), sine, cosine;
      ChunkSinCos(6.28318530717958647692f * u2, &sine, &cosine);
      data[j] = std::fma(radius * cosine, static_cast<float>(std), static_cast<float>(mean));
      data[j + kChunk / 2] = std::fma(radius * sine, static_cast<float>(std), static_cast<float>(mean));
    } else {
      T radius = std::sqrt(T(-2) * std::log(u1)), theta = T(2) * T(3.14159265358979323846) * u2;
      data[j] = radius * std::cos(theta) * std + mean;
      data[j + kChunk / 2] = radius * std::sin(theta) * std + mean;
    }
  }
}

template <typename T>
void FillNormal(Generator& generator, T* data, int64_t n, double mean, double std) {
  if (n < kChunk) {
    for (int64_t i = 0; i < n; ++i) data[i] = static_cast<T>(generator.Normal() * std + mean);
    return;
  }
  for (int64_t i = 0; i < n; ++i) data[i] = Uniform<T>(generator);
  for (int64_t i = 0; i < n - (kChunk - 1); i += kChunk) NormalChunk(data + i, mean, std);
  if (n % kChunk != 0) {  // the last 16 are drawn anew
    T* tail = data + n - kChunk;
    for (int64_t i = 0; i < kChunk; ++i) tail[i] = Uniform<T>(generator);
    NormalChunk(tail, mean, std);
  }
}

void FillRandint(Generator& generator, const Tensor& out, int64_t low, int64_t high) {
  uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  bool wide = range >= (uint64_t{1} << 28);
  DispatchAll(out.dtype(), [&]<typename T>() {
    T* p = out.data<T>();
    for (int64_t i = 0, n = out.meta().numel(); i < n; ++i) {
      uint64_t draw = wide ? generator.Random64() : generator.Random();
      int64_t value = static_cast<int64_t>(draw % range + static_cast<uint64_t>(low));
      StoreElement<T>(p + i, ConvertElement<T>(value));
    }
  });
}

Result<Tensors> RandPerm(Generator& generator, const TensorMeta& meta) {
  int64_t n = meta.sizes[0];
  TB_ASSIGN_OR_RETURN(Tensor order, Tensor::Empty(DType::kInt64, {n}));
  int64_t* p = order.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) p[i] = i;
  bool wide = n >= static_cast<int64_t>(UINT32_MAX / 20);
  for (int64_t i = 0; i < n - 1; ++i) {
    uint64_t draw = wide ? generator.Random64() : generator.Random();
    std::swap(p[i], p[i + static_cast<int64_t>(draw % static_cast<uint64_t>(n - i))]);
  }
  TB_ASSIGN_OR_RETURN(order, AsContiguous(order, meta.dtype));
  return Tensors{order};
}

Result<Tensors> Bernoulli(Generator& generator, const KernelCall& call) {
  const TensorMeta& meta = call.outputs[0];
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(meta.dtype, meta.sizes));
  int64_t n = meta.numel();
  if (HasAttr(call.attrs, 0)) {
    double p = FloatAttr(call.attrs, 0);
    DispatchAll(meta.dtype, [&]<typename T>() {
      for (int64_t i = 0; i < n; ++i)
        StoreElement<T>(out.data<T>() + i, static_cast<T>(generator.UniformDouble() < p));
    });
    return Tensors{out};
  }
  TB_ASSIGN_OR_RETURN(Tensor probabilities, AsContiguous(call.in(0), meta.dtype));
  bool legal = true;
  DispatchFloating(meta.dtype, [&]<typename T>() {
    const T* p = probabilities.data<T>();
    for (int64_t i = 0; i < n; ++i) legal &= p[i] >= T(0) && p[i] <= T(1);
    if (!legal) return;
    for (int64_t i = 0; i < n; ++i) out.data<T>()[i] = Uniform<T>(generator) < p[i] ? T(1) : T(0);
  });
  if (!legal) return RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
  return Tensors{out};
}

// One draw: the largest of p / exponential. Several without replacement: the largest few. With replacement:
// by the cumulative sum.
template <typename T>
Status Multinomial(Generator& generator, const T* p, int64_t rows, int64_t n, int64_t samples,
                   bool replacement, T* scratch, int64_t* out) {
  for (int64_t i = 0; i < rows * n; ++i) {
    if (!(p[i] >= T(0)) || std::isinf(p[i]))
      return RuntimeError("probability tensor contains either `inf`, `nan` or element < 0");
  }
  for (int64_t r = 0; r < rows; ++r) {
    T total = 0;
    for (int64_t i = 0; i < n; ++i) total += p[r * n + i];
    if (!(total > T(0))) return RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)");
  }
  for (int64_t r = 0; r < rows; ++r, p += n, out += samples) {
    if (!replacement || samples == 1) {
      for (int64_t i = 0; i < n; ++i)
        scratch[i] = p[i] / static_cast<T>(-std::log1p(-generator.UniformDouble()));
      for (int64_t s = 0; s < samples; ++s) {
        int64_t best = std::max_element(scratch, scratch + n) - scratch;
        out[s] = best;
        scratch[best] = T(-1);
      }
      continue;
    }
    T total = 0;
    for (int64_t i = 0; i < n; ++i) scratch[i] = total += p[i];
    for (int64_t i = 0; i < n; ++i) scratch[i] /= total;
    scratch[n - 1] = T(1);
    for (int64_t s = 0; s < samples; ++s) {
      double draw = generator.UniformDouble();
      out[s] = std::lower_bound(scratch, scratch + n, draw,
                                [](T x, double d) { return static_cast<double>(x) < d; }) -
               scratch;
    }
  }
  return Status::Ok();
}

Result<Tensors> ExecuteMultinomial(Generator& generator, const KernelCall& call) {
  const TensorMeta& meta = call.outputs[0];
  TB_ASSIGN_OR_RETURN(Tensor p, AsContiguous(call.in(0), call.in(0).dtype()));
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(meta.dtype, meta.sizes));
  int64_t n = p.sizes().back(), rows = p.meta().rank() == 2 ? p.sizes()[0] : 1;
  TB_ASSIGN_OR_RETURN(Tensor scratch, Tensor::Empty(p.dtype(), {n}));
  Status status;
  DispatchFloating(p.dtype(), [&]<typename T>() {
    status = Multinomial(generator, p.data<T>(), rows, n, IntAttr(call.attrs, 0), BoolAttr(call.attrs, 1),
                         scratch.data<T>(), out.data<int64_t>());
  });
  TB_RETURN_IF_ERROR(status);
  return Tensors{out};
}

}  // namespace

Result<Tensors> ExecuteRandom(const KernelCall& call) {
  Generator& generator = DefaultGenerator();
  const TensorMeta& meta = call.outputs[0];
  switch (call.op) {
    case Op::k_randperm: return RandPerm(generator, meta);
    case Op::k_bernoulli: return Bernoulli(generator, call);
    case Op::k_multinomial: return ExecuteMultinomial(generator, call);
    default: break;
  }
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(meta.dtype, meta.sizes));
  int64_t n = meta.numel();
  switch (call.op) {
    case Op::k_randint: FillRandint(generator, out, IntAttr(call.attrs, 0), IntAttr(call.attrs, 1)); break;
    case Op::k_rand:
    case Op::k_uniform: {
      double low = call.op == Op::k_rand ? 0 : FloatAttr(call.attrs, 1),
             high = call.op == Op::k_rand ? 1 : FloatAttr(call.attrs, 2);
      DispatchFloating(meta.dtype, [&]<typename T>() {
        T from = static_cast<T>(low), width = static_cast<T>(high) - from;
        for (int64_t i = 0; i < n; ++i) out.data<T>()[i] = std::fma(Uniform<T>(generator), width, from);
      });
      break;
    }
    default: {
      double mean = call.op == Op::k_randn ? 0 : FloatAttr(call.attrs, 1),
             std = call.op == Op::k_randn ? 1 : FloatAttr(call.attrs, 2);
      DispatchFloating(meta.dtype, [&]<typename T>() { FillNormal(generator, out.data<T>(), n, mean, std); });
    }
  }
  return Tensors{out};
}

}  // namespace thirdbook
