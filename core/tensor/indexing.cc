// Reading and writing at positions that index tensors name.
#include <algorithm>

#include "graph/attrs.h"
#include "graph/infer.h"
#include "tensor/convert.h"
#include "tensor/element.h"
#include "tensor/families.h"
#include "tensor/reduction.h"
#include "tensor/strided.h"

namespace thirdbook {
namespace {

long long LL(int64_t x) { return static_cast<long long>(x); }

// An index tensor as contiguous int64 with negative entries resolved; an entry beyond `size` is the error
// `outside` makes of it.
template <typename Outside>
Result<Tensor> Resolve(const Tensor& index, int64_t size, bool negative_counts_back, Outside outside) {
  TB_ASSIGN_OR_RETURN(Tensor out, ToContiguous(index, DType::kInt64));
  int64_t* p = out.data<int64_t>();
  for (int64_t i = 0, n = out.meta().numel(); i < n; ++i) {
    int64_t x = p[i];
    if (x < (negative_counts_back ? -size : 0) || x >= size) return outside(x);
    if (x < 0) p[i] += size;
  }
  return out;
}

// ---- x[i, :, j] ----

// An index call made ready: every element of the result is self's element at base + sum of offsets.
struct Plan {
  TensorMeta view;          // self seen in the result's shape: indexed dimensions have stride 0
  Tensor offsets;           // int64, broadcast sizes: element offsets that the index tensors add
  TensorMeta offsets_view;  // `offsets` in the result's shape
};

Result<Plan> MakePlan(const TensorMeta& self, std::vector<Tensor> indices) {
  // Masks become one index tensor a dimension.
  Tensors expanded;
  for (Tensor& index : indices) {
    if (!index.defined() || (index.dtype() != DType::kBool && index.dtype() != DType::kUInt8)) {
      expanded.push_back(index);
      continue;
    }
    std::vector<const TensorMeta*> one(expanded.size(), nullptr);
    one.push_back(&index.meta());
    TB_RETURN_IF_ERROR(ResolveIndex(self, one).status());  // the mask's sizes must be self's
    TB_ASSIGN_OR_RETURN(Tensors parts, MaskToIndices(index));
    expanded.insert(expanded.end(), parts.begin(), parts.end());
  }
  std::vector<const TensorMeta*> metas;
  for (const Tensor& t : expanded) metas.push_back(t.defined() ? &t.meta() : nullptr);
  TB_ASSIGN_OR_RETURN(IndexShape shape, ResolveIndex(self, metas));
  Plan plan;
  TB_ASSIGN_OR_RETURN(plan.offsets, Zeros(DType::kInt64, shape.broadcast));
  plan.view = self;
  plan.view.sizes.clear();
  plan.view.strides.clear();
  for (size_t d = 0; d < self.sizes.size(); ++d) {
    if (d >= expanded.size() || !expanded[d].defined()) {
      plan.view.sizes.push_back(self.sizes[d]);
      plan.view.strides.push_back(self.strides[d]);
      continue;
    }
    int64_t size = self.sizes[d], stride = self.strides[d];
    TB_ASSIGN_OR_RETURN(
        Tensor index, Resolve(expanded[d], size, true, [&](int64_t x) {
          return IndexError(
              Format("index %lld is out of bounds for dimension %zu with size %lld", LL(x), d, LL(size)));
        }));
    StridedLoop loop(shape.broadcast);
    loop.Add(plan.offsets);
    loop.Add(index);
    loop.Run([stride](char* const* at, const int64_t* s, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        *reinterpret_cast<int64_t*>(at[0] + i * s[0]) +=
            stride * *reinterpret_cast<const int64_t*>(at[1] + i * s[1]);
      }
    });
  }
  // With no index tensor at all there is nothing to insert.
  size_t position = static_cast<size_t>(shape.position);
  plan.view.sizes.insert(plan.view.sizes.begin() + static_cast<long>(position), shape.broadcast.begin(),
                         shape.broadcast.end());
  plan.view.strides.insert(plan.view.strides.begin() + static_cast<long>(position), shape.broadcast.size(),
                           0);
  plan.offsets_view = plan.offsets.meta();
  plan.offsets_view.sizes = plan.view.sizes;
  plan.offsets_view.strides.assign(plan.view.sizes.size(), 0);
  std::copy(plan.offsets.meta().strides.begin(), plan.offsets.meta().strides.end(),
            plan.offsets_view.strides.begin() + static_cast<long>(position));
  return plan;
}

Result<Tensors> Index(const KernelCall& call) {
  const Tensor& self = call.in(0);
  TB_ASSIGN_OR_RETURN(Plan plan,
                      MakePlan(self.meta(), Tensors(call.operands.begin() + 1, call.operands.end())));
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(self.dtype(), plan.view.sizes));
  StridedLoop loop(plan.view.sizes);
  loop.Add(out);
  loop.Add(self.WithMeta(plan.view));
  loop.Add(plan.offsets.WithMeta(plan.offsets_view));
  DispatchBytes(self.dtype(), [&]<typename T>() {
    loop.Run([](char* const* at, const int64_t* s, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        int64_t offset = *reinterpret_cast<const int64_t*>(at[2] + i * s[2]);
        *reinterpret_cast<T*>(at[0] + i * s[0]) = reinterpret_cast<const T*>(at[1] + i * s[1])[offset];
      }
    });
  });
  return Tensors{out};
}

Result<Tensors> IndexPut(const KernelCall& call) {
  size_t last = call.operands.size() - 1;
  TB_ASSIGN_OR_RETURN(Tensor out, ToContiguous(call.in(0), call.in(0).dtype()));
  TB_ASSIGN_OR_RETURN(Plan plan,
                      MakePlan(out.meta(), Tensors(call.operands.begin() + 1,
                                                   call.operands.begin() + static_cast<long>(last))));
  TB_ASSIGN_OR_RETURN(Tensor values, AsDType(call.in(last), out.dtype()));
  std::vector<const TensorMeta*> indices;
  for (size_t i = 1; i < last; ++i)
    indices.push_back(call.operands[i].defined() ? &call.in(i).meta() : nullptr);
  if (FillsMask(indices, values.meta()) && !BoolAttr(call.attrs, 0)) {
    TensorMeta number = values.meta();
    number.sizes.clear(), number.strides.clear();
    values = values.WithMeta(std::move(number));
  }
  Result<Sizes> sizes = BroadcastSizes(values.sizes(), plan.view.sizes);
  if (!sizes.ok() || *sizes != plan.view.sizes) {
    return RuntimeError("shape mismatch: value tensor of shape " + SizesText(values.sizes()) +
                        " cannot be broadcast to indexing result of shape " + SizesText(plan.view.sizes));
  }
  StridedLoop loop(plan.view.sizes);
  loop.Add(out.WithMeta(plan.view));
  loop.Add(values);
  loop.Add(plan.offsets.WithMeta(plan.offsets_view));
  auto run = [&loop]<typename T>(auto combine) {
    loop.Run([combine](char* const* at, const int64_t* s, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        int64_t offset = *reinterpret_cast<const int64_t*>(at[2] + i * s[2]);
        T* to = reinterpret_cast<T*>(at[0] + i * s[0]) + offset;
        StoreElement<T>(to, combine(LoadElement<T>(to), LoadElement<T>(at[1] + i * s[1])));
      }
    });
  };
  if (BoolAttr(call.attrs, 0)) {
    DispatchAll(out.dtype(),
                [&]<typename T>() { run.template operator()<T>([](T a, T b) { return WrapAdd(a, b); }); });
  } else {
    DispatchBytes(out.dtype(), [&]<typename T>() { run.template operator()<T>([](T, T b) { return b; }); });
  }
  return Tensors{out};
}

// ---- along one dimension ----

Tensor AtLeast1D(const Tensor& t) {
  if (t.meta().rank() > 0) return t;
  TensorMeta meta = t.meta();
  meta.sizes = {1};
  meta.strides = {1};
  return t.WithMeta(std::move(meta));
}

// Copies self's slices that `index` (contiguous int64, resolved) names along `dim`.
void TakeSlices(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& out) {
  size_t d = static_cast<size_t>(dim);
  const int64_t* p = index.data<int64_t>();
  int64_t n = index.meta().numel();
  for (int64_t i = 0; i < n; ++i) {
    TensorMeta from = self.meta(), to = out.meta();
    from.offset += p[i] * from.strides[d];
    to.offset += i * to.strides[d];
    from.sizes[d] = to.sizes[d] = 1;
    CopyElements(out.WithMeta(std::move(to)), self.WithMeta(std::move(from)));
  }
}

// Rows of a contiguous matrix, which is what embeddings and most index_select calls are.
void TakeRows(const Tensor& self, const Tensor& index, const Tensor& out) {
  int64_t rows = self.sizes()[0];
  size_t bytes = rows > 0 ? static_cast<size_t>(self.meta().numel() / rows * ItemSize(self.dtype())) : 0;
  const int64_t* p = index.data<int64_t>();
  for (int64_t i = 0, n = index.meta().numel(); i < n; ++i) {
    std::copy_n(self.data<char>() + static_cast<size_t>(p[i]) * bytes, bytes,
                out.data<char>() + static_cast<size_t>(i) * bytes);
  }
}

Result<Tensors> IndexSelect(const KernelCall& call) {
  Tensor self = AtLeast1D(call.in(0));
  int64_t dim = WrapDim(IntAttr(call.attrs, 0), self.meta().rank()).value();
  TB_ASSIGN_OR_RETURN(Tensor index,
                      Resolve(call.in(1), self.sizes()[static_cast<size_t>(dim)], false,
                              [](int64_t) { return IndexError("index out of range in self"); }));
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(self.dtype(), call.outputs[0].sizes));
  if (out.meta().numel() == 0) return Tensors{out};
  if (dim == 0 && self.meta().IsContiguous())
    TakeRows(self, index, out);
  else
    TakeSlices(self, dim, index, AtLeast1D(out));
  return Tensors{out};
}

Result<Tensors> Embedding(const KernelCall& call) {
  TB_ASSIGN_OR_RETURN(Tensor weight, AsContiguous(call.in(0), call.in(0).dtype()));
  TB_ASSIGN_OR_RETURN(Tensor index, Resolve(call.in(1), weight.sizes()[0], false, [](int64_t) {
                        return IndexError("index out of range in self");
                      }));
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(weight.dtype(), call.outputs[0].sizes));
  TakeRows(weight, index, out);
  return Tensors{out};
}

Result<Tensor> ResolveAlong(const Tensor& index, int64_t dim, int64_t size) {
  return Resolve(index, size, false, [dim, size](int64_t x) {
    return RuntimeError(
        Format("index %lld is out of bounds for dimension %lld with size %lld", LL(x), LL(dim), LL(size)));
  });
}

Result<Tensors> IndexAdd(const KernelCall& call) {
  TB_ASSIGN_OR_RETURN(Tensor out, ToContiguous(call.in(0), call.in(0).dtype()));
  Tensor target = AtLeast1D(out), source = AtLeast1D(call.in(2));
  size_t d = static_cast<size_t>(WrapDim(IntAttr(call.attrs, 0), target.meta().rank()).value());
  TB_ASSIGN_OR_RETURN(Tensor index, ResolveAlong(call.in(1), static_cast<int64_t>(d), target.sizes()[d]));
  const int64_t* p = index.data<int64_t>();
  double alpha = NumberOf(call.attrs[1]);
  for (int64_t i = 0, n = index.meta().numel(); i < n; ++i) {
    TensorMeta to = target.meta(), from = source.meta();
    to.offset += p[i] * to.strides[d];
    from.offset += i * from.strides[d];
    to.sizes[d] = from.sizes[d] = 1;
    StridedLoop loop(to.sizes);
    loop.Add(target.WithMeta(to));
    loop.Add(source.WithMeta(from));
    DispatchAll(out.dtype(), [&]<typename T>() {
      T scale = ConvertElement<T>(alpha);
      loop.Run([scale](char* const* at, const int64_t* s, int64_t count) {
        for (int64_t k = 0; k < count; ++k) {
          void* to_element = at[0] + k * s[0];
          T x = WrapMul(scale, LoadElement<T>(at[1] + k * s[1]));
          StoreElement<T>(to_element, WrapAdd(LoadElement<T>(to_element), x));
        }
      });
    });
  }
  return Tensors{out};
}

// gather reads and scatter writes `strided` at positions where coordinate `dim` comes from the index.
template <typename T, typename Each>
void ForIndexed(const Tensor& index, const Tensor& strided, int64_t dim, const Tensor& plain, Each each) {
  TensorMeta base = strided.meta();
  base.sizes = index.sizes();
  int64_t jump = base.strides[static_cast<size_t>(dim)];
  base.strides[static_cast<size_t>(dim)] = 0;
  StridedLoop loop(index.sizes());
  loop.Add(index);
  loop.Add(strided.WithMeta(std::move(base)));
  loop.Add(plain);
  loop.Run([jump, each](char* const* at, const int64_t* s, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t where = *reinterpret_cast<const int64_t*>(at[0] + i * s[0]);
      each(reinterpret_cast<T*>(at[1] + i * s[1]) + where * jump, reinterpret_cast<T*>(at[2] + i * s[2]));
    }
  });
}

Result<Tensors> Gather(const KernelCall& call) {
  const TensorMeta& meta = call.outputs[0];
  if (meta.numel() == 0) {
    TB_ASSIGN_OR_RETURN(Tensor empty, Tensor::Empty(meta.dtype, meta.sizes));
    return Tensors{empty};
  }
  Tensor self = AtLeast1D(call.in(0));
  int64_t dim = WrapDim(IntAttr(call.attrs, 0), self.meta().rank()).value();
  TB_ASSIGN_OR_RETURN(Tensor index, ResolveAlong(call.in(1), dim, self.sizes()[static_cast<size_t>(dim)]));
  TB_ASSIGN_OR_RETURN(Tensor out, GatherAlong(self, dim, index));
  return Tensors{out};
}

Result<Tensors> Scatter(const KernelCall& call) {
  TB_ASSIGN_OR_RETURN(Tensor out, ToContiguous(call.in(0), call.in(0).dtype()));
  if (call.in(1).meta().numel() == 0) return Tensors{out};
  Tensor target = AtLeast1D(out);
  int64_t dim = WrapDim(IntAttr(call.attrs, 0), target.meta().rank()).value();
  TB_ASSIGN_OR_RETURN(Tensor index,
                      ResolveAlong(AtLeast1D(call.in(1)), dim, target.sizes()[static_cast<size_t>(dim)]));
  TB_ASSIGN_OR_RETURN(Tensor src, AsDType(call.in(2), out.dtype()));
  if (!call.in(2).meta().weak) {  // the part of src that the index covers
    TensorMeta part = AtLeast1D(src).meta();
    part.sizes = index.sizes();
    src = src.WithMeta(std::move(part));
  }
  if (call.op == Op::k_scatter_add) {
    DispatchAll(out.dtype(), [&]<typename T>() {
      ForIndexed<T>(index, target, dim, src, [](T* there, T* here) {
        StoreElement<T>(there, WrapAdd(LoadElement<T>(there), LoadElement<T>(here)));
      });
    });
  } else {
    DispatchBytes(out.dtype(), [&]<typename T>() {
      ForIndexed<T>(index, target, dim, src, [](T* there, T* here) { *there = *here; });
    });
  }
  return Tensors{out};
}

}  // namespace

Result<Tensor> GatherAlong(const Tensor& self, int64_t dim, const Tensor& index) {
  TB_ASSIGN_OR_RETURN(Tensor out, Tensor::Empty(self.dtype(), index.sizes()));
  if (out.meta().numel() == 0) return out;
  DispatchBytes(self.dtype(), [&]<typename T>() {
    ForIndexed<T>(AtLeast1D(index), AtLeast1D(self), dim, AtLeast1D(out),
                  [](T* there, T* here) { *here = *there; });
  });
  return out;
}

Result<Tensors> ExecuteOneHot(const KernelCall& call) {
  const Tensor& self = call.in(0);
  if (self.dtype() != DType::kInt64)
    return RuntimeError("one_hot is only applicable to index tensor of type LongTensor.");
  TB_ASSIGN_OR_RETURN(Tensor index, ToContiguous(self, DType::kInt64));
  const int64_t* p = index.data<int64_t>();
  int64_t n = index.meta().numel(), classes = IntAttr(call.attrs, 0), most = -1;
  if (n == 0 && classes == -1)
    return RuntimeError("Can not infer total number of classes from empty tensor.");
  for (int64_t i = 0; i < n; ++i) {
    if (p[i] < 0) return RuntimeError("Class values must be non-negative.");
    most = std::max(most, p[i]);
  }
  if (classes == -1) classes = most + 1;
  if (most >= classes) return RuntimeError("Class values must be smaller than num_classes.");
  Sizes sizes = self.sizes();
  sizes.push_back(classes);
  TB_ASSIGN_OR_RETURN(Tensor out, Zeros(DType::kInt64, sizes));
  for (int64_t i = 0; i < n; ++i) out.data<int64_t>()[i * classes + p[i]] = 1;
  return Tensors{out};
}

Result<Tensors> ExecuteIndexing(const KernelCall& call) {
  switch (call.op) {
    case Op::k_index: return Index(call);
    case Op::k_index_put: return IndexPut(call);
    case Op::k_index_select: return IndexSelect(call);
    case Op::k_index_add: return IndexAdd(call);
    case Op::k_gather: return Gather(call);
    case Op::k_embedding: return Embedding(call);
    case Op::k_one_hot: return ExecuteOneHot(call);
    default: return Scatter(call);
  }
}

}  // namespace thirdbook
