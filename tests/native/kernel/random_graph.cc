#include "random_graph.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "graph/shape.h"
#include "tensor/convert.h"
#include "tensor/kernels.h"

namespace thirdbook {
namespace {

template <typename T>
T RandomValue(Random& random) {
  if constexpr (std::is_floating_point_v<T>) {
    const int pick = random.Below(400);
    if (pick == 0) return std::numeric_limits<T>::quiet_NaN();
    if (pick == 1) return std::numeric_limits<T>::infinity();
    if (pick == 2) return -std::numeric_limits<T>::infinity();
    if (pick == 3) return T(-0.0);
    return static_cast<T>(random.Uniform(-3, 3));
  } else {
    return static_cast<T>(random.Below(9));
  }
}

const Op kUnary[] = {Op::k_neg,     Op::k_abs,         Op::k_relu,   Op::k_exp,      Op::k_tanh,
                     Op::k_sigmoid, Op::k_sqrt,        Op::k_square, Op::k_sin,      Op::k_cos,
                     Op::k_log1p,   Op::k_erf,         Op::k_floor,  Op::k_sign,     Op::k_reciprocal,
                     Op::k_isnan,   Op::k_logical_not, Op::k_atan,   Op::k_expm1,    Op::k_round,
                     Op::k_trunc,   Op::k_rsqrt,       Op::k_clone,  Op::k_isfinite, Op::k_log2};
const Op kBinary[] = {Op::k_add,          Op::k_sub,         Op::k_mul,         Op::k_div, Op::k_maximum,
                      Op::k_minimum,      Op::k_lt,          Op::k_ge,          Op::k_eq,  Op::k_ne,
                      Op::k_logical_and,  Op::k_logical_or,  Op::k_atan2,       Op::k_pow, Op::k_remainder,
                      Op::k_floor_divide, Op::k_bitwise_and, Op::k_bitwise_xor, Op::k_copy};
const Op kFolds[] = {Op::k_sum, Op::k_mean, Op::k_amax, Op::k_amin,     Op::k_any,
                     Op::k_all, Op::k_var,  Op::k_std,  Op::k_logsumexp};

class Builder {
 public:
  explicit Builder(uint64_t seed) : random_(seed) {}

  GraphCase Run(int nodes) {
    const int inputs = 1 + random_.Below(4);
    shape_ = RandomShape();
    for (int i = 0; i < inputs; ++i) AddInput(i);
    for (int attempt = 0; attempt < nodes * 3 && static_cast<int>(values_.size()) < inputs + nodes; ++attempt)
      Grow();
    const int outputs = 1 + random_.Below(3);
    for (int i = 0; i < outputs; ++i) {
      const size_t back = static_cast<size_t>(random_.Below(3));
      out_.graph.AddOutput(values_[values_.size() > back ? values_.size() - 1 - back : 0]);
    }
    return std::move(out_);
  }

 private:
  Sizes RandomShape() {
    Sizes sizes;
    const int rank = random_.Below(4);
    const int64_t choices[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33};
    for (int d = 0; d < rank; ++d) sizes.push_back(choices[random_.Below(11)]);
    if (random_.Below(10) == 0) sizes = {static_cast<int64_t>(random_.Below(3000))};
    if (random_.Below(30) == 0 && !sizes.empty()) sizes.back() = 0;
    return sizes;
  }
  DType RandomDType() {
    const DType choices[] = {DType::kFloat32, DType::kFloat32, DType::kFloat32,
                             DType::kFloat32, DType::kFloat64, DType::kInt64,
                             DType::kInt32,   DType::kUInt8,   DType::kBool};
    return choices[random_.Below(9)];
  }
  void AddInput(int i) {
    const int kind = random_.Below(10);
    if (kind == 0) {  // a Python number
      const Tensor number =
          random_.Below(2) ? Tensor::WeakFloat(random_.Uniform(-2, 2)) : Tensor::WeakInt(random_.Below(5));
      values_.push_back(out_.graph.AddInput("n" + std::to_string(i), number.meta()));
      out_.inputs.push_back(number);
      return;
    }
    Sizes sizes = shape_;
    for (int64_t& s : sizes) {
      if (random_.Below(4) == 0) s = 1;
    }
    if (random_.Below(5) == 0 && !sizes.empty()) sizes.erase(sizes.begin());
    const Tensor t = RandomTensor(random_, RandomDType(), sizes);
    values_.push_back(out_.graph.AddInput("x" + std::to_string(i), t.meta()));
    out_.inputs.push_back(t);
  }
  ValueRef Pick() {
    if (random_.Below(2))
      return values_[values_.size() - 1 -
                     static_cast<size_t>(random_.Below(std::min<int>(3, static_cast<int>(values_.size()))))];
    return values_[static_cast<size_t>(random_.Below(static_cast<int>(values_.size())))];
  }
  // Conversions of values out of range differ between machines.
  bool Differs(ValueRef from, DType to) const {
    return IsFloating(out_.graph.meta(from).dtype) && !IsFloating(to) && to != DType::kBool;
  }
  void Add(Op op, std::vector<ValueRef> operands, Attrs attrs = {}) {
    if (op == Op::k_copy && Differs(operands[1], out_.graph.meta(operands[0]).dtype)) return;
    const Result<ValueRef> v = out_.graph.AddNode(op, std::move(operands), std::move(attrs));
    if (v.ok()) values_.push_back(*v);  // what PyTorch would refuse is left out
  }
  Sizes RandomDims(const TensorMeta& meta) {
    Sizes dims;
    for (int64_t d = 0; d < meta.rank(); ++d) {
      if (random_.Below(2)) dims.push_back(random_.Below(2) ? d : d - meta.rank());
    }
    if (dims.empty() && meta.rank() > 0) dims.push_back(-1);
    return dims;
  }

  // Elements from other places.
  void Rearrange(ValueRef x, const TensorMeta& meta) {
    const int64_t rank = meta.rank();
    if (rank == 0) return;
    const auto dim = static_cast<int64_t>(random_.Below(static_cast<int>(rank)));
    const auto number = [this](int below) { return Attr(static_cast<int64_t>(random_.Below(below))); };
    switch (random_.Below(9)) {
      case 0: Add(Op::k_cat, {x, Pick(), x}, {Attr(dim)}); break;
      case 1: Add(Op::k_stack, {x, x}, {Attr(dim - rank)}); break;
      case 2: Add(Op::k_flip, {x}, {Attr(RandomDims(meta))}); break;
      case 3: Add(Op::k_roll, {x}, {Attr(Sizes{random_.Below(9) - 4}), Attr(Sizes{dim})}); break;
      case 4: Add(random_.Below(2) ? Op::k_tril : Op::k_triu, {x}, {number(3)}); break;
      case 5:
        Add(Op::k_constant_pad_nd, {x}, {Attr(Sizes{random_.Below(4) - 1, random_.Below(3)}), number(5)});
        break;
      case 6: Add(random_.Below(2) ? Op::k_max_dim : Op::k_min_dim, {x}, {Attr(dim), Attr(false)}); break;
      case 7: Add(random_.Below(2) ? Op::k_argmax : Op::k_argmin, {x}, {Attr(dim), Attr(true)}); break;
      default: {
        Sizes times(static_cast<size_t>(rank), 1);
        times[static_cast<size_t>(dim)] = 2;
        Add(Op::k_repeat, {x}, {Attr(times)});
      }
    }
  }

  void Grow() {
    const ValueRef x = Pick();
    const TensorMeta meta = out_.graph.meta(x);
    const int64_t rank = meta.rank();
    switch (random_.Below(18)) {
      case 16:
      case 17: Rearrange(x, meta); break;
      case 0:
      case 1:
      case 2:
      case 3: Add(kUnary[random_.Below(sizeof kUnary / sizeof kUnary[0])], {x}); break;
      case 4:
      case 5:
      case 6:
      case 7: {
        const Op op = kBinary[random_.Below(sizeof kBinary / sizeof kBinary[0])];
        if ((op == Op::k_add || op == Op::k_sub) && random_.Below(3) == 0)
          Add(op, {x, Pick()}, {Attr(static_cast<int64_t>(2))});
        else
          Add(op, {x, Pick()});
        break;
      }
      case 8: Add(Op::k_where, {Pick(), x, Pick()}); break;
      case 9: {
        const DType to = RandomDType();
        if (!Differs(x, to)) Add(Op::k_to, {x}, {Attr(to)});
        break;
      }
      case 10: {
        const Op op = kFolds[random_.Below(sizeof kFolds / sizeof kFolds[0])];
        Attrs attrs{Attr(RandomDims(meta)), Attr(random_.Below(2) == 0)};
        if (op == Op::k_var || op == Op::k_std)
          attrs = {attrs[0], Attr(static_cast<int64_t>(random_.Below(2))), attrs[1]};
        Add(op, {x}, attrs);
        break;
      }
      case 11:
        if (rank > 0)
          Add(random_.Below(2) ? Op::k_softmax : Op::k_log_softmax, {x},
              {Attr(static_cast<int64_t>(random_.Below(static_cast<int>(rank))))});
        break;
      case 12:
        if (rank > 0) Add(Op::k_layer_norm, {x}, {Attr(Sizes{meta.sizes.back()})});
        break;
      case 13: {
        if (rank >= 2 && random_.Below(2))
          Add(Op::k_transpose, {x}, {Attr(static_cast<int64_t>(0)), Attr(static_cast<int64_t>(-1))});
        else if (random_.Below(2))
          Add(Op::k_unsqueeze, {x}, {Attr(static_cast<int64_t>(random_.Below(static_cast<int>(rank) + 1)))});
        else if (rank > 0 && random_.Below(2))
          Add(Op::k_squeeze, {x}, {Attr(Sizes{static_cast<int64_t>(random_.Below(static_cast<int>(rank)))})});
        else
          Add(Op::k_reshape, {x}, {Attr(Sizes{-1})});
        break;
      }
      case 14:
        if (rank > 0 && meta.sizes[0] > 1) {
          Add(Op::k_slice, {x},
              {Attr(static_cast<int64_t>(0)), Attr(static_cast<int64_t>(1)), Attr(None{}),
               Attr(static_cast<int64_t>(1))});
        }
        break;
      default: {
        if (rank < 2) break;
        const int64_t k = meta.sizes.back();
        Tensor w = RandomTensor(random_, meta.dtype, {k, static_cast<int64_t>(1 + random_.Below(20))});
        const ValueRef weight = out_.graph.AddInput("w" + std::to_string(values_.size()), w.meta());
        out_.inputs.push_back(w);
        Add(Op::k_matmul, {x, weight});
        break;
      }
    }
  }

  Random random_;
  Sizes shape_;
  GraphCase out_;
  std::vector<ValueRef> values_;
};

}  // namespace

Tensor RandomTensor(Random& random, DType dtype, const Sizes& sizes) {
  Sizes storage_sizes = sizes;
  const int layout = random.Below(4);
  const bool turned = layout == 1 && sizes.size() >= 2;
  if (turned) std::swap(storage_sizes.front(), storage_sizes.back());
  const bool wide = layout == 2 && !sizes.empty();
  if (wide) storage_sizes.back() = storage_sizes.back() * 2 + 1;
  Tensor t = *Tensor::Empty(dtype, storage_sizes);
  for (int64_t i = 0; i < t.meta().numel(); ++i) {
    switch (dtype) {
      case DType::kBool: t.data<uint8_t>()[i] = static_cast<uint8_t>(random.Below(2)); break;
      case DType::kUInt8: t.data<uint8_t>()[i] = static_cast<uint8_t>(random.Below(256)); break;
      case DType::kInt32: t.data<int32_t>()[i] = RandomValue<int32_t>(random) - 4; break;
      case DType::kInt64: t.data<int64_t>()[i] = RandomValue<int64_t>(random) - 4; break;
      case DType::kFloat32: t.data<float>()[i] = RandomValue<float>(random); break;
      case DType::kFloat64: t.data<double>()[i] = RandomValue<double>(random); break;
    }
  }
  TensorMeta meta = t.meta();
  if (turned)
    std::swap(meta.sizes.front(), meta.sizes.back()), std::swap(meta.strides.front(), meta.strides.back());
  if (wide) meta.sizes = sizes, meta.strides.back() = 2, meta.offset = sizes.back() > 0 ? 1 : 0;
  return t.WithMeta(std::move(meta));
}

std::string Compare(const Tensor& got, const Tensor& want, double tolerance) {
  if (got.dtype() != want.dtype())
    return "dtype " + std::string(DTypeName(got.dtype())) + " instead of " +
           std::string(DTypeName(want.dtype()));
  if (got.sizes() != want.sizes())
    return "sizes " + SizesText(got.sizes()) + " instead of " + SizesText(want.sizes());
  if (got.meta().strides != want.meta().strides)
    return "strides " + SizesText(got.meta().strides) + " instead of " + SizesText(want.meta().strides);
  const Tensor g = *ToContiguous(got, DType::kFloat64), w = *ToContiguous(want, DType::kFloat64);
  double scale = 0;  // sums of large numbers of both signs leave errors in proportion to the numbers
  for (int64_t i = 0; i < w.meta().numel(); ++i) {
    const double x = std::fabs(w.data<double>()[i]);
    if (std::isfinite(x) && x > scale) scale = x;
  }
  for (int64_t i = 0; i < g.meta().numel(); ++i) {
    const double a = g.data<double>()[i], b = w.data<double>()[i];
    if (a == b || (a != a && b != b)) continue;
    const double bound = IsFloating(got.dtype()) ? tolerance * (std::fabs(b) + 0.01 * scale + 1e-3) : 0;
    if (std::fabs(a - b) <= bound) continue;
    return Format("element %lld: %.9g instead of %.9g", static_cast<long long>(i), a, b);
  }
  return {};
}

GraphCase MakeRandomGraph(uint64_t seed, int nodes) { return Builder(seed).Run(nodes); }

}  // namespace thirdbook
