// Reductions: which dimensions fold, what dtype comes out, what an empty dimension means.
#include <algorithm>
#include <cmath>

#include "graph/infer.h"

namespace thirdbook {
namespace {

DType IntegersToInt64(DType dtype) { return IsFloating(dtype) ? dtype : DType::kInt64; }

Sizes FoldedSizes(const Sizes& sizes, const std::vector<bool>& fold, bool keep) {
  Sizes out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!fold[i])
      out.push_back(sizes[i]);
    else if (keep)
      out.push_back(1);
  }
  return out;
}

Status RefuseEmpty(std::string_view name, const TensorMeta& self, const std::vector<bool>& fold) {
  for (size_t i = 0; i < fold.size(); ++i) {
    if (fold[i] && self.sizes[i] == 0) {
      return IndexError(
          Format("%s(): Expected reduction dim %zu to have non-zero size.", std::string(name).c_str(), i));
    }
  }
  return Status::Ok();
}

// Ops over a list of dimensions.
Result<Metas> FoldList(const Call& call, const Sizes& dims, bool keep, DType dtype,
                       bool empty_list_folds_all = true) {
  const TensorMeta& self = call.in(0);
  TB_ASSIGN_OR_RETURN(std::vector<bool> fold, WrapDims(dims, self.rank()));
  if (dims.empty() && !empty_list_folds_all) fold.assign(fold.size(), false);
  return Fresh(dtype, FoldedSizes(self.sizes, fold, keep));
}

// Ops over one dimension or all.
Result<Metas> FoldOne(const Call& call, const Attr& dim, bool keep, DType dtype) {
  if (std::holds_alternative<None>(dim)) return FoldList(call, {}, keep, dtype);
  return FoldList(call, {std::get<int64_t>(dim)}, keep, dtype);
}

Result<Metas> InferSumLike(const Call& call) {
  DType self = call.in(0).dtype;
  DType dtype = DTypeAttr(call.attrs, 2).value_or(IntegersToInt64(self));
  if (call.op == Op::k_prod) return FoldOne(call, call.attrs[0], BoolAttr(call.attrs, 1), dtype);
  if (call.op == Op::k_mean) {
    std::optional<DType> wanted = DTypeAttr(call.attrs, 2);
    dtype = wanted.value_or(self);
    if (!IsFloating(dtype)) {
      return RuntimeError(
          std::string("mean(): could not infer output dtype. ") + (wanted ? "Optional" : "Input") +
          " dtype must be either a floating point or complex dtype. Got: " + DTypeScalarName(dtype).data());
    }
  }
  return FoldList(call, ListAttrOrEmpty(call.attrs, 0), BoolAttr(call.attrs, 1), dtype);
}

Result<Metas> InferExtremum(const Call& call) {
  const TensorMeta& self = call.in(0);
  std::string name(call.name());
  switch (call.op) {
    case Op::k_max:
    case Op::k_min:
      if (self.numel() == 0) {
        return RuntimeError(
            name +
            "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument.");
      }
      return Fresh(self.dtype, {});
    case Op::k_amax:
    case Op::k_amin: {
      const Sizes dims = ListAttrOrEmpty(call.attrs, 0);
      if (dims.empty() && self.numel() == 0) {
        return RuntimeError(
            name +
            "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument.");
      }
      TB_ASSIGN_OR_RETURN(std::vector<bool> fold, WrapDims(dims, self.rank()));
      for (int64_t dim : dims) {  // PyTorch names the dimension as it was given
        if (self.rank() > 0 && self.sizes[static_cast<size_t>(dim < 0 ? dim + self.rank() : dim)] == 0) {
          return IndexError(Format("%s(): Expected reduction dim %lld to have non-zero size.", name.c_str(),
                                   static_cast<long long>(dim)));
        }
      }
      return FoldList(call, dims, BoolAttr(call.attrs, 1), self.dtype);
    }
    case Op::k_argmax:
    case Op::k_argmin: {
      if (self.dtype == DType::kBool) return RuntimeError(name + "(): does not support bool input");
      if (!HasAttr(call.attrs, 0)) {
        if (self.numel() == 0)
          return IndexError(name + "(): Expected reduction dim to be specified for input.numel() == 0.");
      } else {
        TB_ASSIGN_OR_RETURN(std::vector<bool> fold, WrapDims({IntAttr(call.attrs, 0)}, self.rank()));
        TB_RETURN_IF_ERROR(RefuseEmpty(name, self, fold));
      }
      return FoldOne(call, call.attrs[0], BoolAttr(call.attrs, 1), DType::kInt64);
    }
    default: {  // max_dim, min_dim
      TB_ASSIGN_OR_RETURN(std::vector<bool> fold, WrapDims({IntAttr(call.attrs, 0)}, self.rank()));
      TB_RETURN_IF_ERROR(RefuseEmpty(call.op == Op::k_max_dim ? "max" : "min", self, fold));
      Sizes sizes = FoldedSizes(self.sizes, fold, BoolAttr(call.attrs, 1));
      return Metas{ContiguousMeta(self.dtype, sizes), ContiguousMeta(DType::kInt64, sizes)};
    }
  }
}

Result<Metas> InferNorm(const Call& call) {
  const TensorMeta& self = call.in(0);
  DType dtype = DTypeAttr(call.attrs, 3).value_or(self.dtype);
  if (!IsFloating(self.dtype) || !IsFloating(dtype)) {
    return RuntimeError(
        std::string("linalg.vector_norm: Expected a floating point or complex tensor as input. Got ") +
        DTypeScalarName(self.dtype).data());
  }
  double order = FloatAttr(call.attrs, 0);
  Sizes dims = ListAttrOrEmpty(call.attrs, 1);
  TB_ASSIGN_OR_RETURN(std::vector<bool> fold, WrapDims(dims, self.rank()));
  if (order < 0 || order == HUGE_VAL) {
    for (size_t i = 0; i < fold.size(); ++i) {
      if (fold[i] && self.sizes[i] == 0) {
        return RuntimeError(Format(
            "linalg.vector_norm cannot compute the %g norm on an empty tensor because the operation does not "
            "have an identity",
            order));
      }
    }
  }
  return FoldList(call, dims, BoolAttr(call.attrs, 2), dtype);
}

}  // namespace

Result<Metas> InferReduction(const Call& call) {
  const TensorMeta& self = call.in(0);
  switch (call.op) {
    case Op::k_sum:
    case Op::k_mean:
    case Op::k_prod: return InferSumLike(call);
    case Op::k_any:
    case Op::k_all: {
      DType dtype = self.dtype == DType::kUInt8 ? DType::kUInt8 : DType::kBool;
      bool listed = HasAttr(call.attrs, 0);
      return FoldList(call, ListAttrOrEmpty(call.attrs, 0), BoolAttr(call.attrs, 1), dtype, !listed);
    }
    case Op::k_var:
    case Op::k_std:
      if (!IsFloating(self.dtype))
        return RuntimeError("std and var only support floating point and complex dtypes");
      return FoldList(call, ListAttrOrEmpty(call.attrs, 0), BoolAttr(call.attrs, 2), self.dtype);
    case Op::k_linalg_vector_norm: return InferNorm(call);
    case Op::k_logsumexp:
      return FoldList(call, ListAttr(call.attrs, 0), BoolAttr(call.attrs, 1),
                      IsFloating(self.dtype) ? self.dtype : DefaultDType());
    default: return InferExtremum(call);
  }
}

Result<Metas> InferAlongDim(const Call& call) {
  const TensorMeta& self = call.in(0);
  switch (call.op) {
    case Op::k_softmax:
    case Op::k_log_softmax: {
      TB_ASSIGN_OR_RETURN([[maybe_unused]] int64_t dim, WrapDim(IntAttr(call.attrs, 0), self.rank()));
      DType dtype = DTypeAttr(call.attrs, 1).value_or(self.dtype);
      if (!IsFloating(dtype))
        return NotImplementedFor(std::string(call.name()) + "_lastdim_kernel_impl", dtype);
      return Fresh(dtype, self.sizes);
    }
    case Op::k_cumsum:
    case Op::k_cumprod: {
      TB_ASSIGN_OR_RETURN([[maybe_unused]] int64_t dim, WrapDim(IntAttr(call.attrs, 0), self.rank()));
      return Fresh(DTypeAttr(call.attrs, 1).value_or(IntegersToInt64(self.dtype)), self.sizes);
    }
    case Op::k_layer_norm: {
      const Sizes& shape = ListAttr(call.attrs, 0);
      if (shape.empty()) {
        return RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
            "but got "
            "normalized_shape = []");
      }
      for (size_t i : {size_t{1}, size_t{2}}) {
        if (call.has(i) && call.in(i).sizes != shape) {
          const char* name = i == 1 ? "weight" : "bias";
          return RuntimeError(
              Format("Expected %s to be of same shape as normalized_shape, but got %s of shape %s and "
                     "normalized_shape = %s",
                     name, name, SizesText(call.in(i).sizes).c_str(), SizesText(shape).c_str()));
        }
      }
      size_t skip = self.sizes.size() - shape.size();
      if (self.sizes.size() < shape.size() ||
          !std::equal(shape.begin(), shape.end(), self.sizes.begin() + static_cast<long>(skip))) {
        std::string stars = "[*";
        for (int64_t s : shape) stars += ", " + std::to_string(s);
        return RuntimeError("Given normalized_shape=" + SizesText(shape) + ", expected input with shape " +
                            stars + "], but got input of size" + SizesText(self.sizes));
      }
      if (!IsFloating(self.dtype)) return NotImplementedFor("LayerNormKernelImpl", self.dtype);
      for (size_t i : {size_t{1}, size_t{2}}) {
        if (call.has(i) && call.in(i).dtype != self.dtype) {
          return RuntimeError(Format("expected scalar type %s but found %s",
                                     DTypeScalarName(self.dtype).data(),
                                     DTypeScalarName(call.in(i).dtype).data()));
        }
      }
      return Fresh(self.dtype, self.sizes);
    }
    case Op::k_sort:
    case Op::k_argsort: {
      TB_ASSIGN_OR_RETURN([[maybe_unused]] int64_t dim, WrapDim(IntAttr(call.attrs, 0), self.rank()));
      if (call.op == Op::k_argsort) return Fresh(DType::kInt64, self.sizes);
      return Metas{ContiguousMeta(self.dtype, self.sizes), ContiguousMeta(DType::kInt64, self.sizes)};
    }
    default: {  // topk
      int64_t k = IntAttr(call.attrs, 0);
      TB_ASSIGN_OR_RETURN(int64_t dim, WrapDim(IntAttr(call.attrs, 1), self.rank()));
      int64_t extent = self.rank() > 0 ? self.sizes[static_cast<size_t>(dim)] : 1;
      if (k < 0 || k > extent) return RuntimeError("selected index k out of range");
      if (self.dtype == DType::kBool) return RuntimeError("topk does not support bool dtypes on CPU");
      Sizes sizes = self.sizes;
      if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = k;
      return Metas{ContiguousMeta(self.dtype, sizes), ContiguousMeta(DType::kInt64, sizes)};
    }
  }
}

}  // namespace thirdbook
