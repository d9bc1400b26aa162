// Convolution, pooling and resampling over the trailing dimensions; one more in front is the channel, a
// further one the batch.
#include "graph/infer.h"

namespace thirdbook {
namespace {

long long LL(int64_t x) { return static_cast<long long>(x); }

constexpr int64_t kLargest = int64_t{1} << 28;  // of a kernel size, stride, padding: their products fit

int64_t At(const Sizes& list, size_t i) { return list.size() == 1 ? list[0] : list[i]; }

Sizes Expanded(const Sizes& list, size_t n) { return list.size() == 1 ? Sizes(n, list[0]) : list; }

Status CheckListSizes(const Call& call, std::initializer_list<size_t> attrs, size_t n) {
  for (size_t i : attrs) {
    const Sizes& list = ListAttr(call.attrs, i);
    if (list.size() != 1 && list.size() != n) {
      return RuntimeError(Format("%s: expected a list of %zu ints, got %s", std::string(call.name()).c_str(),
                                 n, SizesText(list).c_str()));
    }
    for (int64_t x : list) {
      if (x > kLargest || x < -kLargest)
        return RuntimeError(std::string(call.name()) + ": integer out of range");
    }
  }
  return Status::Ok();
}

std::string Product(const Sizes& sizes) {
  std::string text;
  for (int64_t s : sizes) text += (text.empty() ? "" : " x ") + std::to_string(s);
  return text;
}

Result<Metas> Convolution(const Call& call, size_t n) {
  const TensorMeta &input = call.in(0), &weight = call.in(1);
  int64_t groups = IntAttr(call.attrs, 3);
  TB_RETURN_IF_ERROR(CheckListSizes(call, {0, 1, 2}, n));
  if (input.sizes.size() != n + 1 && input.sizes.size() != n + 2) {
    return RuntimeError(
        Format("Expected %zuD (unbatched) or %zuD (batched) input to conv%zud, but got input of size: %s",
               n + 1, n + 2, n, SizesText(input.sizes).c_str()));
  }
  if (weight.sizes.size() != n + 2) {
    return RuntimeError(
        Format("weight should have at least three dimensions; expected a %zu-dimensional weight, but got %s",
               n + 2, SizesText(weight.sizes).c_str()));
  }
  bool batched = input.sizes.size() == n + 2;
  Sizes full = input.sizes;
  if (!batched) full.insert(full.begin(), 1);
  const Sizes &stride = ListAttr(call.attrs, 0), &padding = ListAttr(call.attrs, 1),
              &dilation = ListAttr(call.attrs, 2);
  for (size_t i = 0; i < n; ++i) {
    if (At(padding, i) < 0) return RuntimeError("negative padding is not supported");
    if (At(stride, i) <= 0) return RuntimeError("non-positive stride is not supported");
    if (At(dilation, i) <= 0)
      return RuntimeError("dilation should be greater than zero, but got " +
                          SizesText(Expanded(dilation, n)));
  }
  if (groups <= 0) return RuntimeError("non-positive groups is not supported");
  std::string weight_text = SizesText(weight.sizes), input_text = SizesText(full);
  if (weight.sizes[0] < groups) {
    return RuntimeError(
        Format("Given groups=%lld, expected weight to be at least %lld at dimension 0, but got weight of "
               "size %s instead",
               LL(groups), LL(groups), weight_text.c_str()));
  }
  if (weight.sizes[0] % groups != 0) {
    return RuntimeError(
        Format("Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but got weight of "
               "size [%s] "
               "instead",
               LL(groups), LL(groups), weight_text.c_str()));
  }
  if (full[1] != weight.sizes[1] * groups) {
    return RuntimeError(Format(
        "Given groups=%lld, weight of size %s, expected input%s to have %lld channels, but got %lld channels "
        "instead",
        LL(groups), weight_text.c_str(), input_text.c_str(), LL(weight.sizes[1] * groups), LL(full[1])));
  }
  if (call.has(2) && (call.in(2).rank() != 1 || call.in(2).sizes[0] != weight.sizes[0])) {
    return RuntimeError(
        Format("Given weight of size %s, expected bias to be 1-dimensional with %lld elements, but got bias "
               "of size %s "
               "instead",
               weight_text.c_str(), LL(weight.sizes[0]), SizesText(call.in(2).sizes).c_str()));
  }
  Sizes padded, kernel, sizes;
  if (batched) sizes.push_back(full[0]);
  sizes.push_back(weight.sizes[0]);
  bool too_small = false;
  for (size_t i = 0; i < n; ++i) {
    if (weight.sizes[i + 2] > kLargest) return RuntimeError("the kernel is too large");
    int64_t extent = full[i + 2] + 2 * At(padding, i);
    int64_t reach = At(dilation, i) * (weight.sizes[i + 2] - 1) + 1;
    padded.push_back(extent);
    kernel.push_back(reach);
    too_small |= extent < reach;
    sizes.push_back(too_small ? 0 : (extent - reach) / At(stride, i) + 1);
  }
  if (too_small) {
    return RuntimeError("Calculated padded input size per channel: (" + Product(padded) +
                        "). Kernel size: (" + Product(kernel) +
                        "). Kernel size can't be greater than actual input size");
  }
  for (size_t i : {size_t{1}, size_t{2}}) {
    if (call.has(i) && call.in(i).dtype != input.dtype) {
      return RuntimeError(Format("expected scalar type %s but found %s", DTypeScalarName(input.dtype).data(),
                                 DTypeScalarName(call.in(i).dtype).data()));
    }
  }
  if (input.dtype == DType::kBool) return NotImplementedFor("slow_conv2d_cpu", input.dtype);
  return Fresh(input.dtype, std::move(sizes));
}

// Windows along one dimension; in ceil mode the last one may hang over, but starts inside the input or its
// left padding.
int64_t PooledSize(int64_t extent, int64_t kernel, int64_t pad, int64_t stride, int64_t dilation,
                   bool ceil_mode) {
  int64_t reach = extent + 2 * pad - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  int64_t size = (reach >= 0 ? reach / stride : -((-reach + stride - 1) / stride)) + 1;
  if (ceil_mode && (size - 1) * stride >= extent + pad) --size;
  return size;
}

Result<Metas> Pool(const Call& call) {
  const TensorMeta& self = call.in(0);
  bool is_max = call.op == Op::k_max_pool2d;
  TB_RETURN_IF_ERROR(CheckListSizes(call, {0, 2}, 2));
  const Sizes &kernel = ListAttr(call.attrs, 0), &padding = ListAttr(call.attrs, 2);
  Sizes stride = ListAttr(call.attrs, 1), dilation{1};
  if (stride.empty())
    stride = kernel;
  else
    TB_RETURN_IF_ERROR(CheckListSizes(call, {1}, 2));
  if (is_max) {
    TB_RETURN_IF_ERROR(CheckListSizes(call, {3}, 2));
    dilation = ListAttr(call.attrs, 3);
  }
  bool ceil_mode = BoolAttr(call.attrs, is_max ? 4 : 3);
  if (!is_max && HasAttr(call.attrs, 5) && IntAttr(call.attrs, 5) == 0)
    return RuntimeError("divisor must be not zero");
  size_t rank = self.sizes.size();
  if ((rank != 3 && rank != 4) || self.sizes[rank - 1] == 0 || self.sizes[rank - 2] == 0 ||
      self.sizes[rank - 3] == 0) {
    return RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input");
  }
  if (self.dtype == DType::kBool)
    return NotImplementedFor(is_max ? "max_pool2d" : "avg_pool2d_out_frame", self.dtype);
  Sizes sizes = self.sizes;
  for (size_t i = 0; i < 2; ++i) {
    int64_t k = At(kernel, i), s = At(stride, i), p = At(padding, i), d = At(dilation, i);
    if (k <= 0) return RuntimeError("kernel size should be greater than zero, but got " + std::to_string(k));
    if (s <= 0) return RuntimeError("stride should not be zero");
    if (d <= 0) return RuntimeError("dilation should be greater than zero, but got " + std::to_string(d));
    if (p < 0) return RuntimeError("pad must be non-negative, but got pad: " + std::to_string(p));
    if (p > ((k - 1) * d + 1) / 2) {
      return RuntimeError(
          Format("pad should be at most half of effective kernel size, but got pad=%lld, kernel_size=%lld "
                 "and dilation=%lld",
                 LL(p), LL(k), LL(d)));
    }
    sizes[rank - 2 + i] = PooledSize(self.sizes[rank - 2 + i], k, p, s, d, ceil_mode);
  }
  if (sizes[rank - 1] < 1 || sizes[rank - 2] < 1) {
    return RuntimeError(
        Format("Given input size: (%lldx%lldx%lld). Calculated output size: (%lldx%lldx%lld). Output size is "
               "too small",
               LL(self.sizes[rank - 3]), LL(self.sizes[rank - 2]), LL(self.sizes[rank - 1]),
               LL(sizes[rank - 3]), LL(sizes[rank - 2]), LL(sizes[rank - 1])));
  }
  return Fresh(self.dtype, std::move(sizes));
}

Result<Metas> Resample(const Call& call) {
  const TensorMeta& self = call.in(0);
  const Sizes& size = ListAttr(call.attrs, 0);
  TB_RETURN_IF_ERROR(CheckListSizes(call, {0}, 2));
  size_t rank = self.sizes.size();
  if (call.op == Op::k_adaptive_avg_pool2d) {
    if (rank != 3 && rank != 4)
      return RuntimeError("adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got " +
                          SizesText(self.sizes));
    if (At(size, 0) < 0 || At(size, 1) < 0)
      return RuntimeError("elements of output_size must be greater than or equal to 0");
    for (size_t d = 1; d < rank; ++d) {
      if (self.sizes[d] == 0) {
        return RuntimeError(
            "adaptive_avg_pool2d(): Expected input to have non-zero size for non-batch dimensions, but input "
            "has sizes " +
            SizesText(self.sizes) + " with dimension " + std::to_string(d) + " being empty");
      }
    }
    if (!IsFloating(self.dtype)) return NotImplementedFor("adaptive_avg_pool2d", self.dtype);
  } else {
    if (rank != 4)
      return RuntimeError("It is expected input_size equals to 4, but got size " + std::to_string(rank));
    int64_t h = self.sizes[2], w = self.sizes[3];
    if (h <= 0 || w <= 0 || At(size, 0) <= 0 || At(size, 1) <= 0) {
      return RuntimeError(
          Format("Input and output sizes should be greater than 0, but got input (H: %lld, W: %lld) output "
                 "(H: %lld, W: "
                 "%lld)",
                 LL(h), LL(w), LL(At(size, 0)), LL(At(size, 1))));
    }
    bool ok = IsFloating(self.dtype) || self.dtype == DType::kUInt8;
    if (!ok) return NotImplementedFor(std::string(call.name()) + "_channels_last", self.dtype);
  }
  Sizes sizes = self.sizes;
  sizes[rank - 2] = At(size, 0);
  sizes[rank - 1] = At(size, 1);
  return Fresh(self.dtype, std::move(sizes));
}

}  // namespace

Result<Metas> InferSpatial(const Call& call) {
  switch (call.op) {
    case Op::k_conv1d: return Convolution(call, 1);
    case Op::k_conv2d: return Convolution(call, 2);
    case Op::k_max_pool2d:
    case Op::k_avg_pool2d: return Pool(call);
    default: return Resample(call);
  }
}

}  // namespace thirdbook
