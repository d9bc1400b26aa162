// Sums, products, moments, norms, any and all.
//
// Floating accumulation is in double (float32 runs: 16 float lanes a block of 256, blocks in double), so
// results are at least as exact as PyTorch's cascade sums.
#include "tensor/reduction.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/attrs.h"
#include "graph/shape.h"
#include "tensor/convert.h"
#include "tensor/element.h"

namespace thirdbook {
namespace {

using Tensors = std::vector<Tensor>;

void Append(Sizes* sizes, Sizes* strides, int64_t size, int64_t stride) {
  if (size == 1) return;
  if (!sizes->empty() && strides->back() == stride * size) {
    sizes->back() *= size;
    strides->back() = stride;
  } else {
    sizes->push_back(size);
    strides->push_back(stride);
  }
}

// One output element after the other: each(element index, pointer to its first element).
template <typename T, typename Each>
void ForOutputs(const Fold& fold, const Tensor& self, Each each) {
  OffsetWalk walk(fold.kept_sizes, fold.kept_strides);
  const T* base = self.data<T>();
  for (int64_t o = 0; o < fold.outputs; ++o, walk.Next()) each(o, base + walk.offset());
}

template <typename T>
double SumOf(const Fold& fold, const T* base) {
  double total = 0;
  ForFoldedRuns(fold, base,
                [&](const T* p, int64_t stride, int64_t count) { total += SumRun(p, stride, count); });
  return total;
}

// Whether the last dimension is kept and lies evenly: then whole rows are added to a row of accumulators.
bool FoldsRows(const Fold& fold) {
  return !fold.kept_sizes.empty() && fold.kept_strides.back() == 1 && fold.kept_sizes.back() >= 8 &&
         !fold.folded_strides.empty() && fold.folded_strides.back() != 1;
}

template <typename T>
void SumRows(const Fold& fold, const Tensor& self, T* out, double divisor) {
  int64_t width = fold.kept_sizes.back();
  Sizes outer_sizes(fold.kept_sizes.begin(), fold.kept_sizes.end() - 1);
  Sizes outer_strides(fold.kept_strides.begin(), fold.kept_strides.end() - 1);
  OffsetWalk outer(outer_sizes, outer_strides);
  constexpr int64_t kChunk = 512;  // accumulators at a time
  double total[kChunk];
  for (int64_t o = fold.outputs / width; o > 0; --o, outer.Next(), out += width) {
    for (int64_t first = 0; first < width; first += kChunk) {
      int64_t columns = std::min(kChunk, width - first);
      std::fill(total, total + columns, 0.0);
      ForFoldedRuns(fold, self.data<T>() + outer.offset() + first,
                    [&](const T* p, int64_t stride, int64_t count) {
                      for (int64_t r = 0; r < count; ++r, p += stride) {
                        for (int64_t i = 0; i < columns; ++i) total[i] += static_cast<double>(p[i]);
                      }
                    });
      for (int64_t i = 0; i < columns; ++i) out[first + i] = static_cast<T>(total[i] / divisor);
    }
  }
}

template <typename T>
void Sum(const Fold& fold, const Tensor& self, const Tensor& out, bool mean) {
  T* to = out.data<T>();
  // Dividing (not multiplying by the inverse) keeps exact means exact.
  double divisor = mean ? static_cast<double>(fold.length) : 1.0;
  if (FoldsRows(fold)) return SumRows(fold, self, to, divisor);
  ForOutputs<T>(fold, self,
                [&](int64_t o, const T* base) { to[o] = static_cast<T>(SumOf(fold, base) / divisor); });
}

template <>
void Sum<int64_t>(const Fold& fold, const Tensor& self, const Tensor& out, bool) {
  ForOutputs<int64_t>(fold, self, [&](int64_t o, const int64_t* base) {
    int64_t total = 0;
    ForFoldedRuns(fold, base, [&](const int64_t* p, int64_t stride, int64_t count) {
      total = WrapAdd(total, SumRun(p, stride, count));
    });
    out.data<int64_t>()[o] = total;
  });
}

template <typename T>
void Prod(const Fold& fold, const Tensor& self, const Tensor& out) {
  ForOutputs<T>(fold, self, [&](int64_t o, const T* base) {
    std::conditional_t<std::is_floating_point_v<T>, double, T> total = 1;
    ForFoldedRuns(fold, base, [&](const T* p, int64_t stride, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_floating_point_v<T>)
          total *= static_cast<double>(p[i * stride]);
        else
          total = WrapMul(total, p[i * stride]);
      }
    });
    out.data<T>()[o] = static_cast<T>(total);
  });
}

void AnyAll(bool any, const Fold& fold, const Tensor& self, const Tensor& out) {
  ForOutputs<uint8_t>(fold, self, [&](int64_t o, const uint8_t* base) {
    bool found = false;  // an element that settles the result
    ForFoldedRuns(fold, base, [&](const uint8_t* p, int64_t stride, int64_t count) {
      for (int64_t i = 0; i < count && !found; ++i) found = (p[i * stride] != 0) == any;
    });
    out.data<uint8_t>()[o] = found == any;
  });
}

template <typename T>
void Variance(bool root, double correction, const Fold& fold, const Tensor& self, const Tensor& out) {
  double n = static_cast<double>(fold.length);
  ForOutputs<T>(fold, self, [&](int64_t o, const T* base) {
    double mean = SumOf(fold, base) / n, squares = 0;
    ForFoldedRuns(fold, base, [&](const T* p, int64_t stride, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        double d = static_cast<double>(p[i * stride]) - mean;
        squares += d * d;
      }
    });
    double variance = squares / std::max(0.0, n - correction);
    out.data<T>()[o] = static_cast<T>(root ? std::sqrt(variance) : variance);
  });
}

template <typename T>
void Norm(double order, const Fold& fold, const Tensor& self, const Tensor& out) {
  ForOutputs<T>(fold, self, [&](int64_t o, const T* base) {
    double total = order == -HUGE_VAL ? HUGE_VAL : 0;
    ForFoldedRuns(fold, base, [&](const T* p, int64_t stride, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        double x = std::fabs(static_cast<double>(p[i * stride]));
        if (order == 2)
          total += x * x;
        else if (order == 1)
          total += x;
        else if (order == 0)
          total += x != 0;
        else if (order == HUGE_VAL)
          total = std::isnan(total) || total > x ? total : x;
        else if (order == -HUGE_VAL)
          total = std::isnan(total) || total < x ? total : x;
        else
          total += std::pow(x, order);
      }
    });
    bool plain = order == 1 || order == 0 || std::isinf(order);
    out.data<T>()[o] = static_cast<T>(order == 2 ? std::sqrt(total)
                                      : plain    ? total
                                                 : std::pow(total, 1 / order));
  });
}

template <typename T>
void LogSumExp(const Fold& fold, const Tensor& self, const Tensor& out) {
  ForOutputs<T>(fold, self, [&](int64_t o, const T* base) {
    double most = -HUGE_VAL, total = 0;
    bool nan = false;
    ForFoldedRuns(fold, base, [&](const T* p, int64_t stride, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        most = std::max(most, static_cast<double>(p[i * stride]));
        nan |= IsNaN(p[i * stride]);
      }
    });
    if (std::isinf(most)) most = 0;
    ForFoldedRuns(fold, base, [&](const T* p, int64_t stride, int64_t count) {
      for (int64_t i = 0; i < count; ++i) total += std::exp(static_cast<double>(p[i * stride]) - most);
    });
    out.data<T>()[o] = nan ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(std::log(total) + most);
  });
}

}  // namespace

Fold MakeFold(const TensorMeta& meta, const std::vector<bool>& folded) {
  Fold fold;
  for (size_t d = 0; d < meta.sizes.size(); ++d) {
    if (folded[d]) {
      fold.length *= meta.sizes[d];
      Append(&fold.folded_sizes, &fold.folded_strides, meta.sizes[d], meta.strides[d]);
    } else {
      fold.outputs *= meta.sizes[d];
      Append(&fold.kept_sizes, &fold.kept_strides, meta.sizes[d], meta.strides[d]);
    }
  }
  return fold;
}

std::vector<bool> FoldedDims(Op op, const TensorMeta& self, const Attrs& attrs) {
  std::vector<bool> all(self.sizes.size(), true);
  if (op == Op::k_max || op == Op::k_min) return all;
  const Attr& dims = attrs[op == Op::k_linalg_vector_norm ? 1 : 0];
  if (std::holds_alternative<None>(dims)) return all;
  Sizes list;
  if (const Sizes* given = std::get_if<Sizes>(&dims))
    list = *given;
  else
    list.push_back(std::get<int64_t>(dims));
  if (list.empty() && (op == Op::k_any || op == Op::k_all))
    return std::vector<bool>(self.sizes.size(), false);
  Result<std::vector<bool>> mask = WrapDims(list, self.rank());
  TB_CHECK(mask.ok());
  return *mask;
}

Result<Tensors> ExecuteReduction(Op op, const Tensors& operands, const Attrs& attrs,
                                 const std::vector<TensorMeta>& outputs) {
  DType dtype = outputs[0].dtype;
  std::vector<bool> folded = FoldedDims(op, operands[0].meta(), attrs);
  auto fold_of = [&folded](const Tensor& t) { return MakeFold(t.meta(), folded); };
  switch (op) {
    case Op::k_amax:
    case Op::k_amin:
    case Op::k_max:
    case Op::k_min:
    case Op::k_max_dim:
    case Op::k_min_dim:
    case Op::k_argmax:
    case Op::k_argmin: return ExecuteExtremum(op, operands[0], fold_of(operands[0]), outputs);
    default: break;
  }
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(dtype, outputs[0].sizes));
  switch (op) {
    case Op::k_any:
    case Op::k_all: {
      TB_ASSIGN_OR_RETURN(Tensor self, AsDType(operands[0], DType::kBool));
      AnyAll(op == Op::k_any, fold_of(self), self, out);
      return Tensors{out};
    }
    case Op::k_sum:
    case Op::k_prod: {
      // Small integers sum in int64 and wrap when they are stored.
      DType compute = op == Op::k_prod || IsFloating(dtype) ? dtype : DType::kInt64;
      if (op == Op::k_sum && dtype == DType::kBool) compute = DType::kBool;
      if (compute == DType::kBool) {  // or; and
        TB_ASSIGN_OR_RETURN(Tensor self, AsDType(operands[0], compute));
        AnyAll(op == Op::k_sum, fold_of(self), self, out);
        return Tensors{out};
      }
      TB_ASSIGN_OR_RETURN(Tensor self, AsDType(operands[0], compute));
      if (op == Op::k_prod) {
        DispatchAll(compute, [&]<typename T>() { Prod<T>(fold_of(self), self, out); });
        return Tensors{out};
      }
      Tensor wide = out;
      if (compute != dtype) {
        TB_ASSIGN_OR_RETURN(wide, Tensor::Empty(compute, out.sizes()));
      }
      if (compute == DType::kInt64)
        Sum<int64_t>(fold_of(self), self, wide, false);
      else
        DispatchFloating(compute, [&]<typename T>() { Sum<T>(fold_of(self), self, wide, false); });
      if (compute != dtype) CopyElements(out, wide);
      return Tensors{out};
    }
    default: break;
  }
  TB_ASSIGN_OR_RETURN(Tensor self, AsDType(operands[0], dtype));
  Fold fold = fold_of(self);
  DispatchFloating(dtype, [&]<typename T>() {
    switch (op) {
      case Op::k_mean: Sum<T>(fold, self, out, true); break;
      case Op::k_var:
      case Op::k_std:
        Variance<T>(op == Op::k_std, HasAttr(attrs, 1) ? FloatAttr(attrs, 1) : 1.0, fold, self, out);
        break;
      case Op::k_linalg_vector_norm: Norm<T>(FloatAttr(attrs, 0), fold, self, out); break;
      default: LogSumExp<T>(fold, self, out); break;
    }
  });
  return Tensors{out};
}

}  // namespace thirdbook
