#include "tensor/convert.h"

#include <cstring>

#include "graph/shape.h"
#include "tensor/element.h"
#include "tensor/kernels.h"
#include "tensor/loop.h"
#include "tensor/strided.h"

namespace thirdbook {
namespace {

template <typename To, typename From>
inline void Loop(char* target, int64_t target_stride, const char* source, int64_t source_stride,
                 int64_t count) {
  constexpr int64_t kTo = sizeof(To), kFrom = sizeof(From);
  if (target_stride == kTo && source_stride == kFrom) {
    if constexpr (std::is_same_v<To, From> && !std::is_same_v<To, bool>) {
      std::memcpy(target, source, static_cast<size_t>(count) * sizeof(To));
    } else {
      for (int64_t i = 0; i < count; ++i) {
        StoreElement<To>(target + i * kTo, ConvertElement<To>(LoadElement<From>(source + i * kFrom)));
      }
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i, target += target_stride, source += source_stride) {
    StoreElement<To>(target, ConvertElement<To>(LoadElement<From>(source)));
  }
}

template <typename To, typename From>
TB_SMALL void SmallLoop(char* target, int64_t target_stride, const char* source, int64_t source_stride,
                        int64_t count) {
  Loop<To, From>(target, target_stride, source, source_stride, count);
}

}  // namespace

ConvertLoop FindConvertLoop(DType to, DType from) {
  return DispatchAll(to, [from]<typename To>() {
    return DispatchAll(from, []<typename From>() -> ConvertLoop {
      if constexpr (std::is_same_v<To, float> || std::is_same_v<From, float>)
        return &Loop<To, From>;
      else
        return &SmallLoop<To, From>;
    });
  });
}

void CopyElements(const Tensor& target, const Tensor& source) {
  ConvertLoop convert = FindConvertLoop(target.dtype(), source.dtype());
  StridedLoop loop(target.sizes());
  loop.Add(target);
  loop.Add(source);
  loop.Run([convert](char* const* at, const int64_t* strides, int64_t count) {
    convert(at[0], strides[0], at[1], strides[1], count);
  });
}

Result<Tensor> ToContiguous(const Tensor& source, DType dtype) {
  TB_RETURN_IF_ERROR(source.ToHost());
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(dtype, source.sizes()));
  CopyElements(out, source);
  return out;
}

Result<Tensor> AsContiguous(const Tensor& source, DType dtype) {
  if (source.dtype() == dtype && source.meta().IsContiguous()) return source;
  return ToContiguous(source, dtype);
}

Result<Tensor> AsDType(const Tensor& source, DType dtype) {
  if (source.dtype() == dtype) return source;
  // A broadcast dimension (stride 0) is converted once.
  TensorMeta meta = source.meta();
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    if (meta.strides[i] == 0 && meta.sizes[i] > 1) meta.sizes[i] = 1;
  }
  TB_ASSIGN_OR_RETURN(Tensor out, ToContiguous(source.WithMeta(meta), dtype));
  TensorMeta shown = out.meta();
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    if (shown.sizes[i] == source.sizes()[i]) continue;
    shown.sizes[i] = source.sizes()[i];
    shown.strides[i] = 0;
  }
  shown.weak = source.meta().weak;
  return out.WithMeta(std::move(shown));
}

Result<Tensor> CopyLayout(const Tensor& source) {
  TB_RETURN_IF_ERROR(source.ToHost());
  int64_t low, high, item = ItemSize(source.dtype());
  Extent(source.meta(), &low, &high);
  TB_ASSIGN_OR_RETURN(Tensor whole, Tensor::Empty(source.dtype(), {high - low}));
  std::memcpy(whole.data(), static_cast<const char*>(source.storage()->data()) + low * item,
              static_cast<size_t>((high - low) * item));
  TensorMeta meta = source.meta();
  meta.offset -= low;
  return whole.WithMeta(std::move(meta));
}

Result<Tensor> Zeros(DType dtype, Sizes sizes) {
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(dtype, std::move(sizes)));
  std::memset(out.data(), 0, out.storage()->bytes());
  return out;
}

double ScalarAsDouble(const Tensor& tensor) {
  double value = 0;
  FindConvertLoop(DType::kFloat64, tensor.dtype())(reinterpret_cast<char*>(&value), 8, tensor.data<char>(), 0,
                                                   1);
  return value;
}

int64_t ScalarAsInt64(const Tensor& tensor) {
  int64_t value = 0;
  FindConvertLoop(DType::kInt64, tensor.dtype())(reinterpret_cast<char*>(&value), 8, tensor.data<char>(), 0,
                                                 1);
  return value;
}

Status CopyInto(const Tensor& target, const Tensor& value) {
  TB_ASSIGN_OR_RETURN(Sizes sizes, BroadcastSizes(target.sizes(), value.sizes()));
  if (sizes != target.sizes()) {
    return RuntimeError("output with shape " + SizesText(target.sizes()) +
                        " doesn't match the broadcast shape " + SizesText(sizes));
  }
  TB_RETURN_IF_ERROR(target.ToHost());
  TB_RETURN_IF_ERROR(value.ToHost());
  if (target.storage() == value.storage() && target.meta().numel() > 0 && value.meta().numel() > 0) {
    if (target.meta() == value.meta()) return Status::Ok();
    int64_t low, high, value_low, value_high;
    Extent(target.meta(), &low, &high);
    Extent(value.meta(), &value_low, &value_high);
    int64_t item = ItemSize(target.dtype()), value_item = ItemSize(value.dtype());
    if (low * item < value_high * value_item && value_low * value_item < high * item) {
      TB_ASSIGN_OR_RETURN(Tensor copy, ToContiguous(value, value.dtype()));
      CopyElements(target, copy);
      return Status::Ok();
    }
  }
  CopyElements(target, value);
  return Status::Ok();
}

Result<Tensor> ViewAs(const Tensor& source, DType dtype) {
  TensorMeta meta = source.meta();
  const int from = ItemSize(meta.dtype), to = ItemSize(dtype);
  const auto refused = [&](const std::string& what) {
    return RuntimeError("self." + what + " to view " + std::string(DTypeScalarName(source.dtype())) + " as " +
                        std::string(DTypeScalarName(dtype)) + " (different element sizes)");
  };
  const auto but_got = [](Status status, int64_t value) {
    return RuntimeError(status.message() + ", but got " + std::to_string(value));
  };
  if (dtype == DType::kBool && meta.dtype != DType::kBool)
    return NotImplementedError(
        "bytes that are neither 0 nor 1 are no bools: compare with 0 instead of view(torch.bool)");
  TB_RETURN_IF_ERROR(source.ToHost());
  source.storage()->SetExported();
  meta.dtype = dtype;
  meta.weak = false;
  if (from == to) return source.WithMeta(std::move(meta));
  if (meta.sizes.empty()) return refused("dim() cannot be 0");
  int64_t &size = meta.sizes.back(), &stride = meta.strides.back();
  if (from > to) {
    if (stride != 1) return but_got(refused("stride(-1) must be 1"), stride);
    const int64_t ratio = from / to;
    for (int64_t& s : meta.strides) s *= ratio;
    stride = 1;
    size *= ratio;
    meta.offset *= ratio;
    return source.WithMeta(std::move(meta));
  }
  const int64_t ratio = to / from;
  const std::string by = " must be divisible by " + std::to_string(ratio);
  if (size % ratio != 0) return but_got(refused("size(-1)" + by), size);
  if (meta.offset % ratio != 0) return but_got(refused("storage_offset()" + by), meta.offset);
  if (stride != 1) return but_got(refused("stride(-1) must be 1"), stride);
  for (size_t d = 0; d + 1 < meta.strides.size(); ++d) {
    if (meta.strides[d] % ratio != 0)
      return but_got(refused("stride(" + std::to_string(d) + ")" + by), meta.strides[d]);
    meta.strides[d] /= ratio;
  }
  size /= ratio;
  meta.offset /= ratio;
  return source.WithMeta(std::move(meta));
}

}  // namespace thirdbook
