// Convolution: the input's windows as columns, then one matrix product a group.
//
//   columns[c · kh · kw, oh · ow]      out[oc, oh · ow] = weight[oc, c · kh · kw] · columns
#include <algorithm>

#include "graph/attrs.h"
#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/families.h"

namespace thirdbook {
namespace {

struct Axis {
  int64_t in, kernel, out, stride, pad, dilation;
};

// One group of one image; conv1d has a height of 1.
template <typename T>
void Unroll(const T* image, int64_t channels, const Axis& h, const Axis& w, T* columns) {
  for (int64_t c = 0; c < channels; ++c, image += h.in * w.in) {
    for (int64_t ky = 0; ky < h.kernel; ++ky) {
      for (int64_t kx = 0; kx < w.kernel; ++kx) {
        for (int64_t y = 0; y < h.out; ++y, columns += w.out) {
          int64_t row = y * h.stride - h.pad + ky * h.dilation;
          if (row < 0 || row >= h.in) {
            std::fill(columns, columns + w.out, T(0));
            continue;
          }
          const T* line = image + row * w.in;
          int64_t column = kx * w.dilation - w.pad;
          for (int64_t x = 0; x < w.out; ++x, column += w.stride) {
            columns[x] = column >= 0 && column < w.in ? line[column] : T(0);
          }
        }
      }
    }
  }
}

template <typename T>
void Convolve(const T* input, const T* weight, const T* bias, T* out, T* columns, int64_t images,
              int64_t channels, int64_t out_channels, int64_t groups, const Axis& h, const Axis& w) {
  int64_t group_in = channels / groups, group_out = out_channels / groups;
  int64_t depth = group_in * h.kernel * w.kernel, area = h.out * w.out;
  bool direct = h.kernel == 1 && w.kernel == 1 && h.stride == 1 && w.stride == 1 && h.pad == 0 && w.pad == 0;
  for (int64_t n = 0; n < images; ++n) {
    for (int64_t g = 0; g < groups; ++g) {
      const T* image = input + (n * channels + g * group_in) * h.in * w.in;
      T* to = out + (n * out_channels + g * group_out) * area;
      if (bias) {
        for (int64_t c = 0; c < group_out; ++c)
          std::fill(to + c * area, to + (c + 1) * area, bias[g * group_out + c]);
      }
      if (!direct) Unroll(image, group_in, h, w, columns);
      Gemm<T>(group_out, area, depth, weight + g * group_out * depth, depth, 1, direct ? image : columns,
              area, 1, to, area, bias != nullptr);
    }
  }
}

}  // namespace

Result<Tensors> ExecuteConvolution(const KernelCall& call) {
  DType dtype = call.outputs[0].dtype;
  size_t n = call.op == Op::k_conv1d ? 1 : 2;
  TB_ASSIGN_OR_RETURN(Tensor input, AsContiguous(call.in(0), dtype));
  TB_ASSIGN_OR_RETURN(Tensor weight, AsContiguous(call.in(1), dtype));
  Tensor bias;
  if (call.has(2)) {
    TB_ASSIGN_OR_RETURN(bias, AsContiguous(call.in(2), dtype));
  }
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(dtype, call.outputs[0].sizes));
  bool batched = input.sizes().size() == n + 2;
  size_t first = batched ? 2 : 1;  // spatial dimensions start here
  int64_t images = batched ? input.sizes()[0] : 1, channels = input.sizes()[first - 1];
  Axis axes[2] = {{1, 1, 1, 1, 0, 1}, {1, 1, 1, 1, 0, 1}};
  for (size_t i = 0; i < n; ++i) {
    auto at = [&](size_t attr) {
      const Sizes& list = ListAttr(call.attrs, attr);
      return list[list.size() == 1 ? 0 : i];
    };
    axes[2 - n + i] = {
        input.sizes()[first + i], weight.sizes()[2 + i], out.sizes()[first + i], at(0), at(1), at(2)};
  }
  int64_t groups = IntAttr(call.attrs, 3);
  TB_ASSIGN_OR_RETURN(Tensor columns, Tensor::Empty(dtype, {channels / groups, axes[0].kernel, axes[1].kernel,
                                                            axes[0].out, axes[1].out}));
  if (out.meta().numel() == 0) return Tensors{out};
  auto run = [&]<typename T>() {
    Convolve<T>(input.data<T>(), weight.data<T>(), bias.defined() ? bias.data<T>() : nullptr, out.data<T>(),
                columns.data<T>(), images, channels, weight.sizes()[0], groups, axes[0], axes[1]);
  };
  switch (dtype) {
    case DType::kUInt8: run.template operator()<uint8_t>(); break;
    case DType::kInt32: run.template operator()<int32_t>(); break;
    case DType::kInt64: run.template operator()<int64_t>(); break;
    case DType::kFloat32: run.template operator()<float>(); break;
    default: run.template operator()<double>(); break;
  }
  return Tensors{out};
}

}  // namespace thirdbook
