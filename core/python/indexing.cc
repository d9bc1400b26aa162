// x[key] and x[key] = value, taken apart into graph ops.
//
//   x[1, :, None, idx]  ──►  select(0, 1) · unsqueeze(1) · index(·, ·, idx)
//
// In: what is known of x and a Python key. Out: steps, views first, at most one `index` and it comes last.
// Invariant: the steps, applied in order, give what PyTorch gives, as a view of x when there is no `index`
// step. `sizes_` follows the shape through the steps.
//
// A 0-d integer tensor in a key is read when it is a real tensor (PyTorch selects with its value); a tracer's
// handle is an index tensor.
#include "python/tensor_internal.h"
#include "tensor/kernels.h"

namespace thirdbook {
namespace {

class Decomposer {
 public:
  Decomposer(const TensorMeta& meta, OperandResolver& resolver, std::vector<IndexStep>* out)
      : resolver_(resolver), out_(out), sizes_(meta.sizes) {}

  bool Run(PyObject* key) {
    PyRef items = PyRef::Steal(AsTuple(key));
    if (!items) return false;
    if (!Classify(items.get())) return false;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!Apply(items_[i])) return false;
    }
    if (!indices_.empty()) out_->push_back({Op::k_index, std::move(indices_), {}});
    return true;
  }

 private:
  enum class Kind : uint8_t { kInt, kSlice, kEllipsis, kNewAxis, kBool, kTensor };
  struct Item {
    Kind kind;
    PyObject* object = nullptr;  // borrowed from the key
    int64_t number = 0;          // kInt; kBool: 0 or 1
    OperandHandle handle = -1;   // kTensor
  };

  // The key as a tuple. A list counts as one when it holds slices, tensors or sequences (PyTorch's rule for
  // short lists).
  static PyObject* AsTuple(PyObject* key) {
    if (PyTuple_Check(key)) return Py_NewRef(key);
    if (PyList_Check(key) && PyList_GET_SIZE(key) < 32) {
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(key); ++i) {
        PyObject* item = PyList_GET_ITEM(key, i);
        if (IsTensor(item) || PySlice_Check(item) || item == Py_None || item == Py_Ellipsis ||
            PyList_Check(item) || PyTuple_Check(item)) {
          return PyList_AsTuple(key);
        }
      }
    }
    return PyTuple_Pack(1, key);
  }

  // Names each item and counts the dimensions that they take.
  bool Classify(PyObject* items) {
    int64_t taken = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); ++i) {
      Item item;
      item.object = PyTuple_GET_ITEM(items, i);
      if (!ClassifyOne(&item, &taken)) return false;
      items_.push_back(item);
    }
    ellipsis_ = static_cast<int64_t>(sizes_.size()) - taken;
    if (ellipsis_ >= 0) return true;
    PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %zu", sizes_.size());
    return false;
  }

  bool ClassifyOne(Item* item, int64_t* taken) {
    PyObject* object = item->object;
    if (object == Py_Ellipsis) {
      item->kind = Kind::kEllipsis;
      return true;
    }
    if (object == Py_None) {
      item->kind = Kind::kNewAxis;
      return true;
    }
    if (PyBool_Check(object)) {
      item->kind = Kind::kBool;
      item->number = object == Py_True;
      return true;
    }
    if (PySlice_Check(object)) {
      item->kind = Kind::kSlice;
      ++*taken;
      return true;
    }
    // A tensor with dimensions is never asked for its value as an int.
    const bool resolved = !PyLong_Check(object) && resolver_.Resolve(object, &item->handle);
    if (PyErr_Occurred()) return false;
    if (!(resolved && resolver_.Meta(item->handle).rank() > 0) && AsInt(object, &item->number)) {
      item->kind = Kind::kInt;
      ++*taken;
      return true;
    }
    if (PyErr_Occurred()) return false;
    item->kind = Kind::kTensor;
    if (!resolved) {
      if (PyErr_Occurred()) return false;
      if (PyUnicode_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "new(): invalid data type 'str'");
        return false;
      }
      if (!PySequence_Check(object) || PyBytes_Check(object)) {
        PyErr_Format(PyExc_IndexError,
                     "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
                     "valid indices (got %s)",
                     Py_TYPE(object)->tp_name);
        return false;
      }
      Tensor made;
      PyRef list = PyRef::Steal(PySequence_List(object));
      std::optional<DType> dtype;
      if (list && PyList_GET_SIZE(list.get()) == 0) dtype = DType::kInt64;
      if (!list || !TensorFromData(list.get(), dtype, &made)) return false;
      item->handle = resolver_.Constant(std::move(made));
    }
    const TensorMeta& meta = resolver_.Meta(item->handle);
    if (meta.dtype == DType::kBool && meta.rank() == 0) {
      if (IsTensor(object)) {
        item->kind = Kind::kBool;
        const Status status = AsTensor(object).ToHost();
        if (!status.ok()) return RaiseStatus(status) != nullptr;
        item->number = *AsTensor(object).data<bool>() ? 1 : 0;
        return true;
      }
      PyErr_SetString(PyExc_IndexError, "a 0-d bool tensor that is not known yet cannot be an index");
      return false;
    }
    if (IsFloating(meta.dtype)) {
      PyErr_SetString(PyExc_IndexError, "tensors used as indices must be long, int, byte or bool tensors");
      return false;
    }
    *taken += IsMask(meta) ? meta.rank() : 1;
    return true;
  }

  static bool IsMask(const TensorMeta& meta) {
    return meta.rank() > 0 && (meta.dtype == DType::kBool || meta.dtype == DType::kUInt8);
  }

  bool Apply(const Item& item) {
    size_t at = static_cast<size_t>(dim_);
    switch (item.kind) {
      case Kind::kInt: return Select(item.number);
      case Kind::kSlice: return Slice(item.object);
      case Kind::kEllipsis:
        dim_ += ellipsis_;
        ellipsis_ = 0;
        return true;
      case Kind::kNewAxis: Unsqueeze(); return true;
      case Kind::kBool: {
        Unsqueeze();
        --dim_;
        auto index = Tensor::Empty(DType::kInt64, {item.number});
        if (!index.ok()) return RaiseStatus(index.status()) != nullptr;
        if (item.number == 1) *index->data<int64_t>() = 0;
        RecordTensor(resolver_.Constant(std::move(*index)), 1);
        return true;
      }
      case Kind::kTensor: {
        const TensorMeta& meta = resolver_.Meta(item.handle);
        if (!IsMask(meta)) {
          RecordTensor(item.handle, 1);
          return true;
        }
        for (size_t i = 0; i < meta.sizes.size(); ++i) {
          if (meta.sizes[i] == sizes_[at + i]) continue;
          PyRef mask = PyRef::Steal(MakeSize(meta.sizes)), whole = PyRef::Steal(MakeSize(sizes_));
          if (!mask || !whole) return false;
          PyRef mask_list = PyRef::Steal(PySequence_List(mask.get())),
                whole_list = PyRef::Steal(PySequence_List(whole.get()));
          if (!mask_list || !whole_list) return false;
          PyErr_Format(PyExc_IndexError,
                       "The shape of the mask %R at index %zu does not match the shape of the indexed tensor "
                       "%R at index %zu",
                       mask_list.get(), i, whole_list.get(), at + i);
          return false;
        }
        RecordTensor(item.handle, meta.rank());
        return true;
      }
    }
    return false;
  }

  bool Select(int64_t index) {
    int64_t size = sizes_[static_cast<size_t>(dim_)];
    if (index < -size || index >= size) {
      PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension %lld with size %lld",
                   static_cast<long long>(index), static_cast<long long>(taken_before_ + dim_),
                   static_cast<long long>(size));
      return false;
    }
    out_->push_back({Op::k_select, {}, {Attr(dim_), Attr(index)}});
    sizes_.erase(sizes_.begin() + static_cast<std::ptrdiff_t>(dim_));
    ++taken_before_;
    return true;
  }

  bool Slice(PyObject* slice) {
    auto* parts = reinterpret_cast<PySliceObject*>(slice);
    int64_t& size = sizes_[static_cast<size_t>(dim_)];
    if (parts->start == Py_None && parts->stop == Py_None && parts->step == Py_None) {
      ++dim_;
      return true;
    }
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0) return false;
    if (step <= 0) {
      PyErr_SetString(PyExc_ValueError, "step must be greater than zero");
      return false;
    }
    Attr start_attr = parts->start == Py_None ? Attr(None()) : Attr(static_cast<int64_t>(start));
    Attr stop_attr = parts->stop == Py_None ? Attr(None()) : Attr(static_cast<int64_t>(stop));
    out_->push_back({Op::k_slice, {}, {Attr(dim_), start_attr, stop_attr, Attr(static_cast<int64_t>(step))}});
    size = PySlice_AdjustIndices(static_cast<Py_ssize_t>(size), &start, &stop, step);
    ++dim_;
    return true;
  }

  void Unsqueeze() {
    out_->push_back({Op::k_unsqueeze, {}, {Attr(dim_)}});
    sizes_.insert(sizes_.begin() + static_cast<std::ptrdiff_t>(dim_), 1);
    ++dim_;
    --taken_before_;
  }

  // A mask of rank r stands at one place of the list and covers r dimensions.
  void RecordTensor(OperandHandle handle, int64_t covered) {
    size_t place = static_cast<size_t>(dim_ - extra_covered_);
    if (indices_.size() <= place) indices_.resize(place + 1, -1);
    indices_[place] = handle;
    dim_ += covered;
    extra_covered_ += covered - 1;
  }

  OperandResolver& resolver_;
  std::vector<IndexStep>* out_;
  Sizes sizes_;
  std::vector<Item> items_;
  std::vector<OperandHandle> indices_;
  int64_t dim_ = 0;
  int64_t ellipsis_ = 0;
  int64_t extra_covered_ = 0;
  int64_t taken_before_ = 0;
};

// Applies the view steps; *indices says where the `index` step stands, if there is one.
bool ApplyViews(const std::vector<IndexStep>& steps, Tensor* tensor, const IndexStep** index) {
  *index = nullptr;
  for (const IndexStep& step : steps) {
    if (step.op == Op::k_index) {
      *index = &step;
      return true;
    }
    auto result = Execute(step.op, {*tensor}, step.attrs);
    if (!result.ok()) return RaiseStatus(result.status()) != nullptr;
    *tensor = std::move((*result)[0]);
  }
  return true;
}

std::vector<Tensor> WithIndices(const Tensor& base, const IndexStep& step, const EagerResolver& resolver) {
  std::vector<Tensor> operands = {base};
  for (OperandHandle handle : step.extra) {
    operands.push_back(handle < 0 ? Tensor() : resolver.tensors[static_cast<size_t>(handle)]);
  }
  return operands;
}

bool ScalarKeyOn0d(const Tensor& tensor, PyObject* key) {
  if (tensor.meta().rank() != 0 || !(PyLong_CheckExact(key) || PySlice_Check(key))) return false;
  if (PySlice_Check(key)) {
    PyErr_SetString(PyExc_IndexError, "slice() cannot be applied to a 0-dim tensor.");
  } else {
    PyErr_SetString(PyExc_IndexError,
                    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in "
                    "C++ to convert a "
                    "0-dim tensor to a number");
  }
  return true;
}

// Leading dimensions of size 1 that the target does not have are dropped, as PyTorch does for assigned
// values.
Tensor DropLeadingOnes(Tensor value, int64_t rank) {
  TensorMeta meta = value.meta();
  size_t drop = 0;
  while (meta.rank() - static_cast<int64_t>(drop) > rank && meta.sizes[drop] == 1) ++drop;
  if (drop == 0) return value;
  meta.sizes.erase(meta.sizes.begin(), meta.sizes.begin() + static_cast<std::ptrdiff_t>(drop));
  meta.strides.erase(meta.strides.begin(), meta.strides.begin() + static_cast<std::ptrdiff_t>(drop));
  return value.WithMeta(std::move(meta));
}

}  // namespace

bool DecomposeIndex(const TensorMeta& meta, PyObject* key, OperandResolver& resolver,
                    std::vector<IndexStep>* out) {
  return Decomposer(meta, resolver, out).Run(key);
}

PyObject* TensorGetItem(PyObject* self, PyObject* key) {
  Tensor tensor = AsTensor(self);
  if (ScalarKeyOn0d(tensor, key)) return nullptr;
  if (PyLong_CheckExact(key)) {
    int64_t index;
    int64_t size = tensor.sizes()[0];
    if (AsInt(key, &index) && index >= -size && index < size) {
      TensorMeta meta = tensor.meta();
      meta.offset += (index < 0 ? index + size : index) * meta.strides[0];
      meta.sizes.erase(meta.sizes.begin());
      meta.strides.erase(meta.strides.begin());
      return WrapTensor(tensor.WithMeta(std::move(meta)));
    }
    if (PyErr_Occurred()) return nullptr;
  }
  EagerResolver resolver;
  std::vector<IndexStep> steps;
  if (!DecomposeIndex(tensor.meta(), key, resolver, &steps)) return nullptr;
  const IndexStep* index = nullptr;
  if (!ApplyViews(steps, &tensor, &index)) return nullptr;
  if (index == nullptr) return WrapTensor(std::move(tensor));
  auto result = Execute(Op::k_index, WithIndices(tensor, *index, resolver), {});
  if (!result.ok()) return RaiseStatus(result.status());
  return WrapTensor(std::move((*result)[0]));
}

int TensorSetItem(PyObject* self, PyObject* key, PyObject* value) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
    return -1;
  }
  Tensor tensor = AsTensor(self);
  if (!CheckWritable(self) || ScalarKeyOn0d(tensor, key)) return -1;
  EagerResolver resolver;
  OperandHandle handle = -1;
  Tensor source;
  if (IsNumber(value)) {
    if (!WeakFromNumber(value, &source)) return -1;
  } else if (resolver.Resolve(value, &handle)) {
    source = resolver.tensors[static_cast<size_t>(handle)];
  } else if (PyErr_Occurred()) {
    return -1;
  } else {
    PyErr_Format(PyExc_TypeError, "can't assign a %s to a torch.%sTensor", Py_TYPE(value)->tp_name,
                 std::string(DTypeScalarName(tensor.dtype())).c_str());
    return -1;
  }
  if (key == Py_False) return 0;  // whatever the value's sizes and dtype
  if (key == Py_True) key = Py_None;
  std::vector<IndexStep> steps;
  if (!DecomposeIndex(tensor.meta(), key, resolver, &steps)) return -1;
  const IndexStep* index = nullptr;
  if (!ApplyViews(steps, &tensor, &index)) return -1;
  Status status;
  if (!CheckOverlap(tensor, {source})) return -1;
  if (index == nullptr) {
    status = CopyInto(tensor, DropLeadingOnes(std::move(source), tensor.meta().rank()));
  } else {
    std::vector<Tensor> operands = WithIndices(tensor, *index, resolver);
    operands.push_back(DropLeadingOnes(std::move(source), 0));
    auto result = Execute(Op::k_index_put, operands, DefaultAttrs(Op::k_index_put));
    status = result.ok() ? CopyInto(tensor, (*result)[0]) : result.status();
  }
  if (status.ok()) return 0;
  RaiseStatus(status);
  return -1;
}

}  // namespace thirdbook
