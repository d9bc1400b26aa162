// Ops along a dimension that keep its size.
//
// The operand is made contiguous and seen as [outer, n, inner].
#include <algorithm>
#include <cmath>

#include "graph/attrs.h"
#include "graph/shape.h"
#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/families.h"
#include "tensor/reduction.h"

namespace thirdbook {
namespace {

struct Lanes {
  int64_t outer = 1, n = 1, inner = 1;
};

Lanes LanesOf(const Sizes& sizes, int64_t dim) {
  Lanes lanes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t d = static_cast<int64_t>(i);
    (d < dim ? lanes.outer : d == dim ? lanes.n : lanes.inner) *= sizes[i];
  }
  return lanes;
}

int64_t DimOf(const KernelCall& call) {
  return WrapDim(IntAttr(call.attrs, 0), call.in(0).meta().rank()).value();
}

template <typename T>
T LargestOf(const T* p, int64_t n, int64_t stride) {
  T most = p[0];
  for (int64_t i = 1; i < n; ++i) most = p[i * stride] > most || IsNaN(p[i * stride]) ? p[i * stride] : most;
  return most;
}

template <typename T>
void Softmax(bool log, const Lanes& lanes, const T* in, T* out) {
  int64_t s = lanes.inner, n = lanes.n;
  for (int64_t o = 0; o < lanes.outer; ++o) {
    for (int64_t i = 0; i < lanes.inner; ++i) {
      const T* x = in + o * n * s + i;
      T* y = out + o * n * s + i;
      T most = LargestOf(x, n, s);
      if (log) {
        double total = 0;
        for (int64_t j = 0; j < n; ++j) total += std::exp(static_cast<double>(x[j * s] - most));
        T shift = static_cast<T>(std::log(total));
        for (int64_t j = 0; j < n; ++j) y[j * s] = x[j * s] - most - shift;
        continue;
      }
      for (int64_t j = 0; j < n; ++j) y[j * s] = std::exp(x[j * s] - most);
      T total = static_cast<T>(SumRun(y, s, n));
      for (int64_t j = 0; j < n; ++j) y[j * s] /= total;
    }
  }
}

template <typename T>
void LayerNorm(int64_t rows, int64_t n, const T* x, const T* weight, const T* bias, double eps, T* y) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    double mean = SumRun(x, 1, n) / static_cast<double>(n), squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      double d = static_cast<double>(x[i]) - mean;
      squares += d * d;
    }
    T scale = static_cast<T>(1 / std::sqrt(squares / static_cast<double>(n) + eps)),
      shift = static_cast<T>(mean);
    for (int64_t i = 0; i < n; ++i) {
      T normal = (x[i] - shift) * scale;
      y[i] = normal * (weight ? weight[i] : T(1)) + (bias ? bias[i] : T(0));
    }
  }
}

template <typename T>
void Cumulate(bool product, const Lanes& lanes, const T* in, T* out) {
  using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, T>;
  for (int64_t o = 0; o < lanes.outer; ++o) {
    for (int64_t i = 0; i < lanes.inner; ++i) {
      int64_t at = o * lanes.n * lanes.inner + i;
      Accumulator total = product;
      for (int64_t j = 0; j < lanes.n; ++j, at += lanes.inner) {
        Accumulator x = static_cast<Accumulator>(LoadElement<T>(in + at));
        total = product ? WrapMul(total, x) : WrapAdd(total, x);
        StoreElement<T>(out + at, static_cast<T>(total));
      }
    }
  }
}

}  // namespace

Result<Tensors> ExecuteAlongDim(const KernelCall& call) {
  DType dtype = call.outputs[0].dtype;
  TB_ASSIGN_OR_RETURN(Tensor self, AsContiguous(call.in(0), dtype));
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(dtype, call.outputs[0].sizes));
  if (self.meta().numel() == 0) return Tensors{out};
  switch (call.op) {
    case Op::k_softmax:
    case Op::k_log_softmax: {
      Lanes lanes = LanesOf(self.sizes(), DimOf(call));
      DispatchFloating(dtype, [&]<typename T>() {
        Softmax(call.op == Op::k_log_softmax, lanes, self.data<T>(), out.data<T>());
      });
      break;
    }
    case Op::k_layer_norm: {
      int64_t n = 1;
      for (int64_t s : ListAttr(call.attrs, 0)) n *= s;
      Tensor parameters[2];
      for (size_t i : {size_t{0}, size_t{1}}) {
        if (!call.has(i + 1)) continue;
        TB_ASSIGN_OR_RETURN(parameters[i], AsContiguous(call.in(i + 1), dtype));
      }
      DispatchFloating(dtype, [&]<typename T>() {
        const T* p[2] = {nullptr, nullptr};
        for (int i = 0; i < 2; ++i) {
          if (parameters[i].defined()) p[i] = parameters[i].data<T>();
        }
        LayerNorm(self.meta().numel() / n, n, self.data<T>(), p[0], p[1], FloatAttr(call.attrs, 1),
                  out.data<T>());
      });
      break;
    }
    default: {
      Lanes lanes = LanesOf(self.sizes(), DimOf(call));
      DispatchAll(dtype, [&]<typename T>() {
        Cumulate(call.op == Op::k_cumprod, lanes, self.data<T>(), out.data<T>());
      });
    }
  }
  return Tensors{out};
}

}  // namespace thirdbook
