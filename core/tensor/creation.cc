// Tensors made from numbers.
#include <algorithm>

#include "graph/attrs.h"
#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/families.h"

namespace thirdbook {
namespace {

void Fill(const Tensor& out, const Attr& number) {
  Tensor value = IsFloatAttr(number)                    ? Tensor::WeakFloat(NumberOf(number))
                 : std::holds_alternative<bool>(number) ? Tensor::WeakBool(std::get<bool>(number))
                                                        : Tensor::WeakInt(IntAttr({number}, 0));
  CopyElements(out, value);
}

template <typename T>
void Arange(const Attrs& attrs, T* out, int64_t n) {
  if constexpr (std::is_integral_v<T>) {
    // Floating arguments are truncated first, as PyTorch does.
    auto number = [&](size_t i) {
      return IsFloatAttr(attrs[i]) ? static_cast<int64_t>(NumberOf(attrs[i])) : IntAttr(attrs, i);
    };
    int64_t start = number(0), step = number(2);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(WrapAdd(start, WrapMul(step, i)));
  } else {
    double start = FloatAttr(attrs, 0), step = FloatAttr(attrs, 2);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(start + step * static_cast<double>(i));
  }
}

// From both ends towards the middle, so that the last element is exactly `end`. Integers truncate the ends
// first.
template <typename T>
void Linspace(const Attrs& attrs, T* out, int64_t n) {
  using C = std::conditional_t<std::is_same_v<T, float>, float, double>;
  C first = static_cast<C>(ConvertElement<T>(FloatAttr(attrs, 0))),
    last = static_cast<C>(ConvertElement<T>(FloatAttr(attrs, 1)));
  C step = n > 1 ? (last - first) / static_cast<C>(n - 1) : C(0);
  for (int64_t i = 0; i < n; ++i) {
    C value =
        i < n / 2 || n == 1 ? first + step * static_cast<C>(i) : last - step * static_cast<C>(n - i - 1);
    StoreElement<T>(out + i, ConvertElement<T>(value));
  }
}

}  // namespace

Result<Tensors> ExecuteCreation(const KernelCall& call) {
  const TensorMeta& meta = call.outputs[0];
  TB_ASSIGN_OR_RETURN(Tensor out, call.op == Op::k_zeros || call.op == Op::k_eye
                                      ? Zeros(meta.dtype, meta.sizes)
                                      : Tensor::Empty(meta.dtype, meta.sizes));
  int64_t n = meta.numel();
  switch (call.op) {
    case Op::k_ones: Fill(out, int64_t{1}); break;
    case Op::k_full: Fill(out, call.attrs[1]); break;
    case Op::k_empty: CopyElements(out, Tensor::WeakInt(0)); break;  // never shows old memory
    case Op::k_eye: {
      TensorMeta diagonal = out.meta();
      diagonal.sizes = {std::min(meta.sizes[0], meta.sizes[1])};
      diagonal.strides = {meta.sizes[1] + 1};
      Fill(out.WithMeta(std::move(diagonal)), int64_t{1});
      break;
    }
    case Op::k_arange:
      DispatchAll(meta.dtype, [&]<typename T>() {
        if constexpr (std::is_same_v<T, bool>) {
          auto* p = out.data<uint8_t>();
          Arange<uint8_t>(call.attrs, p, n);
          for (int64_t i = 0; i < n; ++i) p[i] = p[i] != 0;
        } else {
          Arange<T>(call.attrs, out.data<T>(), n);
        }
      });
      break;
    case Op::k_linspace:
      DispatchAll(meta.dtype, [&]<typename T>() { Linspace<T>(call.attrs, out.data<T>(), n); });
      break;
    default: break;
  }
  return Tensors{out};
}

}  // namespace thirdbook
