// Pooling and resampling over the last two dimensions, plane by plane.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/attrs.h"
#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/families.h"

namespace thirdbook {
namespace {

struct Axis {
  int64_t in, out, kernel = 0, stride = 0, pad = 0, dilation = 1;
};

struct Plane {
  Axis h, w;
  int64_t count;  // planes
};

template <typename T>
void MaxPool(const Plane& plane, const T* in, T* out) {
  const Axis &h = plane.h, &w = plane.w;
  for (int64_t p = 0; p < plane.count; ++p, in += h.in * w.in) {
    for (int64_t y = 0; y < h.out; ++y) {
      for (int64_t x = 0; x < w.out; ++x) {
        T best = std::numeric_limits<T>::lowest();  // of a window that touches nothing (floating: -inf)
        if constexpr (std::is_floating_point_v<T>) best = -std::numeric_limits<T>::infinity();
        bool any = false;
        for (int64_t ky = 0; ky < h.kernel; ++ky) {
          int64_t row = y * h.stride - h.pad + ky * h.dilation;
          if (row < 0 || row >= h.in) continue;
          for (int64_t kx = 0; kx < w.kernel; ++kx) {
            int64_t column = x * w.stride - w.pad + kx * w.dilation;
            if (column < 0 || column >= w.in) continue;
            T value = in[row * w.in + column];
            if (!any || value > best || IsNaN(value)) best = value;
            any = true;
          }
        }
        *out++ = best;
      }
    }
  }
}

template <typename T>
void AvgPool(const Plane& plane, bool count_pad, int64_t divisor_override, const T* in, T* out) {
  using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  const Axis &h = plane.h, &w = plane.w;
  for (int64_t p = 0; p < plane.count; ++p, in += h.in * w.in) {
    for (int64_t y = 0; y < h.out; ++y) {
      int64_t top = y * h.stride - h.pad, bottom = std::min(top + h.kernel, h.in + h.pad);
      for (int64_t x = 0; x < w.out; ++x) {
        int64_t left = x * w.stride - w.pad, right = std::min(left + w.kernel, w.in + w.pad);
        int64_t padded = (bottom - top) * (right - left);
        int64_t t = std::max<int64_t>(top, 0), l = std::max<int64_t>(left, 0), b = std::min(bottom, h.in),
                r = std::min(right, w.in);
        Accumulator total = 0;
        for (int64_t row = t; row < b; ++row) {
          for (int64_t column = l; column < r; ++column)
            total += static_cast<Accumulator>(in[row * w.in + column]);
        }
        int64_t divisor = divisor_override ? divisor_override
                          : count_pad      ? padded
                                           : std::max<int64_t>(0, b - t) * std::max<int64_t>(0, r - l);
        *out++ = t >= b || l >= r ? T(0) : static_cast<T>(total / static_cast<Accumulator>(divisor));
      }
    }
  }
}

template <typename T>
void AdaptivePool(const Plane& plane, const T* in, T* out) {
  const Axis &h = plane.h, &w = plane.w;
  auto start = [](int64_t i, const Axis& a) { return i * a.in / a.out; };
  auto end = [](int64_t i, const Axis& a) { return ((i + 1) * a.in + a.out - 1) / a.out; };
  for (int64_t p = 0; p < plane.count; ++p, in += h.in * w.in) {
    for (int64_t y = 0; y < h.out; ++y) {
      for (int64_t x = 0; x < w.out; ++x) {
        int64_t t = start(y, h), b = end(y, h), l = start(x, w), r = end(x, w);
        double total = 0;
        for (int64_t row = t; row < b; ++row) {
          for (int64_t column = l; column < r; ++column)
            total += static_cast<double>(in[row * w.in + column]);
        }
        *out++ = static_cast<T>(total / static_cast<double>((b - t) * (r - l)));
      }
    }
  }
}

// PyTorch computes source positions in float32 for float32 and uint8 inputs; so do we, or the choice of
// pixels differs.
template <typename C>
C Scale(const Axis& axis, const Attr& given, bool align_corners) {
  if (align_corners) return axis.out > 1 ? static_cast<C>(axis.in - 1) / static_cast<C>(axis.out - 1) : C(0);
  if (!std::holds_alternative<None>(given) && NumberOf(given) > 0)
    return static_cast<C>(1.0 / NumberOf(given));
  return static_cast<C>(axis.in) / static_cast<C>(axis.out);
}

template <typename T>
void Nearest(const Plane& plane, float scale_h, float scale_w, const T* in, T* out) {
  const Axis &h = plane.h, &w = plane.w;
  auto source = [](int64_t i, float scale, const Axis& a) {
    return std::min(static_cast<int64_t>(std::floor(static_cast<float>(i) * scale)), a.in - 1);
  };
  for (int64_t p = 0; p < plane.count; ++p, in += h.in * w.in) {
    for (int64_t y = 0; y < h.out; ++y) {
      const T* line = in + source(y, scale_h, h) * w.in;
      for (int64_t x = 0; x < w.out; ++x) *out++ = line[source(x, scale_w, w)];
    }
  }
}

template <typename C>
struct Between {
  int64_t low, high;
  C weight;  // of `high`
};
template <typename C>
Between<C> SourceOf(int64_t i, C scale, const Axis& axis, bool align_corners) {
  C position = align_corners ? scale * static_cast<C>(i)
                             : std::max(C(0), scale * (static_cast<C>(i) + C(0.5)) - C(0.5));
  int64_t low = std::min(static_cast<int64_t>(position), axis.in - 1);
  return {low, std::min(low + 1, axis.in - 1),
          std::min(std::max(position - static_cast<C>(low), C(0)), C(1))};
}

template <typename T>
void Bilinear(const Plane& plane, const Attr& scales_h, const Attr& scales_w, bool align_corners, const T* in,
              T* out) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const Axis &h = plane.h, &w = plane.w;
  C scale_h = Scale<C>(h, scales_h, align_corners), scale_w = Scale<C>(w, scales_w, align_corners);
  for (int64_t p = 0; p < plane.count; ++p, in += h.in * w.in) {
    for (int64_t y = 0; y < h.out; ++y) {
      Between<C> v = SourceOf(y, scale_h, h, align_corners);
      for (int64_t x = 0; x < w.out; ++x) {
        Between<C> u = SourceOf(x, scale_w, w, align_corners);
        auto at = [&](int64_t row, int64_t column) { return static_cast<C>(in[row * w.in + column]); };
        C top = (C(1) - u.weight) * at(v.low, u.low) + u.weight * at(v.low, u.high);
        C bottom = (C(1) - u.weight) * at(v.high, u.low) + u.weight * at(v.high, u.high);
        C value = (C(1) - v.weight) * top + v.weight * bottom;
        if constexpr (std::is_integral_v<T>)
          *out++ = static_cast<T>(std::rint(value));
        else
          *out++ = value;
      }
    }
  }
}

template <typename F>
void DispatchNumbers(DType dtype, F f) {
  switch (dtype) {
    case DType::kUInt8: return f.template operator()<uint8_t>();
    case DType::kInt32: return f.template operator()<int32_t>();
    case DType::kInt64: return f.template operator()<int64_t>();
    case DType::kFloat32: return f.template operator()<float>();
    default: return f.template operator()<double>();
  }
}

}  // namespace

Result<Tensors> ExecuteSpatial(const KernelCall& call) {
  DType dtype = call.outputs[0].dtype;
  TB_ASSIGN_OR_RETURN(Tensor self, AsContiguous(call.in(0), dtype));
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(dtype, call.outputs[0].sizes));
  if (out.meta().numel() == 0) return Tensors{out};
  size_t rank = out.sizes().size();
  Plane plane{
      {self.sizes()[rank - 2], out.sizes()[rank - 2]}, {self.sizes()[rank - 1], out.sizes()[rank - 1]}, 0};
  plane.count = out.meta().numel() / (plane.h.out * plane.w.out);
  if (call.op == Op::k_max_pool2d || call.op == Op::k_avg_pool2d) {
    for (size_t i = 0; i < 2; ++i) {
      auto at = [&](size_t attr) {
        const Sizes& list = ListAttr(call.attrs, attr);
        return list[list.size() == 1 ? 0 : i];
      };
      Axis& axis = i == 0 ? plane.h : plane.w;
      axis.kernel = at(0);
      axis.stride = ListAttr(call.attrs, 1).empty() ? axis.kernel : at(1);
      axis.pad = at(2);
      if (call.op == Op::k_max_pool2d) axis.dilation = at(3);
    }
  }
  switch (call.op) {
    case Op::k_max_pool2d:
      DispatchNumbers(dtype, [&]<typename T>() { MaxPool(plane, self.data<T>(), out.data<T>()); });
      break;
    case Op::k_avg_pool2d:
      DispatchNumbers(dtype, [&]<typename T>() {
        AvgPool(plane, BoolAttr(call.attrs, 4), IntAttrOr(call.attrs, 5, 0), self.data<T>(), out.data<T>());
      });
      break;
    case Op::k_adaptive_avg_pool2d:
      DispatchFloating(dtype, [&]<typename T>() { AdaptivePool(plane, self.data<T>(), out.data<T>()); });
      break;
    case Op::k_upsample_nearest2d: {
      float h = Scale<float>(plane.h, call.attrs[1], false), w = Scale<float>(plane.w, call.attrs[2], false);
      DispatchBytes(dtype, [&]<typename T>() { Nearest(plane, h, w, self.data<T>(), out.data<T>()); });
      break;
    }
    default:
      if (dtype == DType::kUInt8) {
        Bilinear(plane, call.attrs[2], call.attrs[3], BoolAttr(call.attrs, 1), self.data<uint8_t>(),
                 out.data<uint8_t>());
      } else {
        DispatchFloating(dtype, [&]<typename T>() {
          Bilinear(plane, call.attrs[2], call.attrs[3], BoolAttr(call.attrs, 1), self.data<T>(),
                   out.data<T>());
        });
      }
  }
  return Tensors{out};
}

}  // namespace thirdbook
