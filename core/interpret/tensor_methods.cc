// Attributes and methods of tensors that are no ops: metadata, numbers read, conversions. See trace.h.
//
// In: a tensor variable and a name or C method. Out: a variable. Invariant: what depends on the tensor's
// values is known after the graph, and only then.
#include "interpret/builtins.h"
#include "interpret/trace_resolver.h"
#include "python/tensor_internal.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

constexpr int64_t kMaxListed = 256;  // elements that tolist() gives one by one

}  // namespace

static PyObject* SampleTensor() {
  static PyObject* sample = [] {
    Result<Tensor> t = Tensor::Empty(DType::kFloat32, {});
    return t.ok() ? WrapTensor(*t) : nullptr;
  }();
  return sample;
}

Var Trace::TensorGetAttr(Var v, PyObject* name) {
  if (IsForeign(v)) return ArrayGetAttr(v, name);
  PyTypeObject* type = v->value ? Py_TYPE(v->value.get()) : TensorType;
  const char* text = PyUnicode_AsUTF8(name);
  const TensorMeta& meta = v->tensor->meta;
  PyObject* found = TypeLookup(type, name, false);
  if (found != nullptr &&
      (IsOpFunction(found) || PyFunction_Check(found) || Py_TYPE(found) == &PyMethodDescr_Type))
    return NewMethod(Fixed(found), v);
  if (found != nullptr && Py_TYPE(found) == &PyGetSetDescr_Type) {
    if (strcmp(text, "shape") == 0) return ShapeOf(v);
    if (strcmp(text, "dtype") == 0) return Const(DTypeObject(meta.dtype));
    if (strcmp(text, "ndim") == 0) return ConstSteal(PyLong_FromLongLong(meta.rank()));
    if (strcmp(text, "device") == 0) return Fixed(DeviceObject(meta.device));
    if (strcmp(text, "requires_grad") == 0) return Bool(v->tensor->requires_grad);
    if (strcmp(text, "itemsize") == 0) return ConstSteal(PyLong_FromLong(ItemSize(meta.dtype)));
    if (strcmp(text, "nbytes") == 0)
      return BinaryOp(5, NumelOf(v), ConstSteal(PyLong_FromLong(ItemSize(meta.dtype))));
    if (strcmp(text, "__class__") == 0) return Fixed(reinterpret_cast<PyObject*>(type));
    if (strcmp(text, "__dict__") == 0) {
      Var view = New(&PyDict_Type);
      view->dict_of = v;
      return view;
    }
    bool constant =
        strncmp(text, "is_", 3) == 0 || strcmp(text, "grad_fn") == 0 || strcmp(text, "layout") == 0;
    if (constant) {
      PyRef value = PyRef::Steal(PyObject_GetAttr(v->value ? v->value.get() : SampleTensor(), name));
      return value ? Fixed(value.get()) : RaiseFromPython();
    }
    if (strcmp(text, "grad") == 0 && !v->value) return None();
    if (strcmp(text, "data") == 0) {
      TensorValue(v);
      return failure_ != Failure::kNone ? nullptr : NewView(v, v->tensor->meta, TensorValue(v));
    }
    return Break({"attribute '", text, "' of a tensor"}, BreakKind::kKeptByPython);
  }
  if (found != nullptr && Py_TYPE(found) == &PyWrapperDescr_Type) return NewMethod(Fixed(found), v);
  if (found != nullptr && Py_TYPE(found) == &PyProperty_Type) return BindDescriptor(found, v, type, name);
  Var own;
  if (!InstanceLookup(v, name, true, &own)) return nullptr;
  if (own != nullptr) return own;
  if (found != nullptr) {
    if (Py_TYPE(found)->tp_descr_get == nullptr) return AttributeValue(found, type, name);
    return BindDescriptor(found, v, type, name);
  }
  static PyObject* getattr_name = PyUnicode_InternFromString("__getattr__");
  PyObject* hook = TypeLookup(type, getattr_name, true);
  if (hook != nullptr && PyFunction_Check(hook)) return Call(Fixed(hook), {v, Const(name)});
  PyRef short_name = PyRef::Steal(PyType_GetName(type));
  return RaiseNew(PyExc_AttributeError,
                  {"'", PyUnicode_AsUTF8(short_name.get()), "' object has no attribute '", text, "'"});
}

Var Trace::ShapeOf(Var tensor) {
  std::vector<Var> items;
  for (size_t d = 0; d < tensor->tensor->meta.sizes.size(); d++) items.push_back(SizeAt(tensor, d));
  static PyTypeObject* size_type = [] {
    PyRef real = PyRef::Steal(MakeSize({}));
    return Py_TYPE(real.get());
  }();
  Var v = NewTuple(std::move(items));
  v->type = size_type;
  return v;
}

// Methods of the C type that are no ops.
Var Trace::TensorMethod(PyObject* descriptor, const char* text, const std::vector<Var>& args,
                        PyObject* kwnames) {
  Var v = Look(args[0]);
  if (IsForeign(v)) return ArrayMethod(descriptor, args, kwnames);
  const TensorMeta& meta = v->tensor->meta;
  size_t n = args.size();
  if (kwnames == nullptr) {
    auto dimension = [&](bool stride) -> Var {
      PyObject* d = ConstValue(args[1]);
      if (d == nullptr) return nullptr;
      if (!PyLong_Check(d)) return Break({text, "() of a dimension that is no int"});
      int64_t i = PyLong_AsLongLong(d);
      if (i < 0) i += meta.rank();
      if (i < 0 || i >= meta.rank()) return Break("a dimension out of range", BreakKind::kPythonRaises);
      if (!stride) return SizeAt(v, static_cast<size_t>(i));
      PinSizes();
      return ConstSteal(PyLong_FromLongLong(meta.strides[static_cast<size_t>(i)]));
    };
    if (strcmp(text, "size") == 0) return n == 1 ? ShapeOf(v) : dimension(false);
    if (strcmp(text, "stride") == 0) {
      if (n == 2) return dimension(true);
      PinSizes();
      std::vector<Var> items;
      for (int64_t s : meta.strides) items.push_back(ConstSteal(PyLong_FromLongLong(s)));
      return NewTuple(std::move(items));
    }
    if (n == 1) {
      if (strcmp(text, "dim") == 0 || strcmp(text, "ndimension") == 0)
        return ConstSteal(PyLong_FromLongLong(meta.rank()));
      if (strcmp(text, "numel") == 0 || strcmp(text, "nelement") == 0) return NumelOf(v);
      if (strcmp(text, "is_contiguous") == 0) {
        if (v->tensor->free_sizes.empty()) PinSizes();
        return Bool(meta.IsContiguous());
      }
      if (strcmp(text, "element_size") == 0) return ConstSteal(PyLong_FromLong(ItemSize(meta.dtype)));
      if (strcmp(text, "is_floating_point") == 0) return Bool(IsFloating(meta.dtype));
      if (strcmp(text, "is_complex") == 0) return Bool(false);
      if (strcmp(text, "storage_offset") == 0) {
        PinSizes();
        return ConstSteal(PyLong_FromLongLong(meta.offset));
      }
      if (strcmp(text, "item") == 0) {
        PyTypeObject* type = IsFloating(meta.dtype)       ? &PyFloat_Type
                             : meta.dtype == DType::kBool ? &PyBool_Type
                                                          : &PyLong_Type;
        return ReadNumber(v, type);
      }
      if (strcmp(text, "tolist") == 0 && meta.rank() == 0)
        return TensorMethod(descriptor, "item", args, nullptr);
      if (strcmp(text, "__len__") == 0) return Length(v);
      if (strcmp(text, "__iter__") == 0) return GetIter(v);
      if (strcmp(text, "__bool__") == 0) return ReadNumber(v, &PyBool_Type);
      if (strcmp(text, "__float__") == 0) return ReadNumber(v, &PyFloat_Type);
      if (strcmp(text, "__int__") == 0) return ReadNumber(v, &PyLong_Type);
      if (strcmp(text, "__neg__") == 0) return UnaryOp(kUnaryNegative, v);
      if (strcmp(text, "__invert__") == 0) return UnaryOp(kUnaryInvert, v);
      if (strcmp(text, "__abs__") == 0) return TensorCall(TensorOperation("abs"), {v}, nullptr);
      if (strcmp(text, "__hash__") == 0) return Break("hash() of a tensor", BreakKind::kValuesNeeded);
    }
    if (n == 2) {
      if (strcmp(text, "__getitem__") == 0) return TensorGetItem(v, Look(args[1]));
      static const char* const kBinary[] = {
          "__add__", "__and__", "__floordiv__", "__lshift__", "__matmul__",  "__mul__", "__mod__",
          "__or__",  "__pow__", "__rshift__",   "__sub__",    "__truediv__", "__xor__"};
      static const char* const kReflected[] = {
          "__radd__", "__rand__", "__rfloordiv__", "__rlshift__", "__rmatmul__",  "__rmul__", "__rmod__",
          "__ror__",  "__rpow__", "__rrshift__",   "__rsub__",    "__rtruediv__", "__rxor__"};
      static const char* const kInPlace[] = {
          "__iadd__", "__iand__", "__ifloordiv__", "__ilshift__", "__imatmul__",  "__imul__", "__imod__",
          "__ior__",  "__ipow__", "__irshift__",   "__isub__",    "__itruediv__", "__ixor__"};
      static const char* const kCompare[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
      for (int i = 0; i < 13; i++) {
        if (strcmp(text, kBinary[i]) == 0) return BinaryOp(i, v, args[1]);
        if (strcmp(text, kReflected[i]) == 0) return BinaryOp(i, args[1], v);
        if (strcmp(text, kInPlace[i]) == 0) return BinaryOp(i + 13, v, args[1]);
      }
      for (int i = 0; i < 6; i++) {
        if (strcmp(text, kCompare[i]) == 0) return Compare(i, v, args[1]);
      }
    }
    if (n == 3 && strcmp(text, "__setitem__") == 0)
      return TensorSetItem(v, Look(args[1]), args[2]) ? None() : nullptr;
  }
  if (strcmp(text, "tolist") == 0 && args.size() == 1 && v->tensor->meta.numel() <= kMaxListed)
    return ReadList(v, descriptor);
  if (strcmp(text, "tolist") == 0 || strcmp(text, "numpy") == 0) {
    return Break({"tensor.", text, "() is called"}, BreakKind::kValuesNeeded);
  }
  return Break({"method '", text, "' of a tensor"});
}

SourceId Trace::TensorSnapshot(Var v) {
  if (v->source.defined() && v->tensor->base->version == 0) return v->source;
  ValueRef value = TensorValue(v);
  if (failure_ != Failure::kNone) return {};
  if (IsForeign(v) && (!graph_.meta(value).IsContiguous() || graph_.meta(value).offset != 0)) {
    Result<ValueRef> dense = graph_.AddNode(Op::k_clone, {value}, {}, SpanOf(CurrentSite()));
    if (dense.ok()) value = *dense;
  }
  Var snapshot = NewTensor(value);
  snapshot->tensor->form = snapshot->tensor->base->form = v->tensor->form;
  snapshot->tensor->base->made = snapshot->tensor->meta;
  graph_scalars_.push_back(snapshot);
  Source s{SourceKind::kGraphTensor, static_cast<int32_t>(graph_scalars_.size() - 1)};
  return sources_.Intern(std::move(s));
}

Var Trace::ReadNumber(Var v, PyTypeObject* type) {
  if (v->tensor->meta.numel() != 1) {
    return Break(
        {"a tensor with ", std::to_string(v->tensor->meta.numel()), " elements is used as one number"},
        BreakKind::kPythonRaises);
  }
  if (IsForeign(v) && v->tensor->meta.rank() > 0 && type != &PyBool_Type)
    return Break("an array with dimensions is used as one number");
  SourceId tensor = TensorSnapshot(v);
  if (failure_ != Failure::kNone) return nullptr;
  for (size_t d = 0; d < v->tensor->meta.sizes.size(); d++) {
    if (ConstValue(SizeAt(v, d)) == nullptr) return nullptr;
  }
  Var number = Scalar(
      type,
      Expression(SourceKind::kCall, {tensor}, ObjectOf(reinterpret_cast<PyObject*>(type)), type->tp_name),
      nullptr);
  if (type == &PyLong_Type && IsFloating(v->tensor->meta.dtype)) fallible_.push_back(number);  // inf, nan
  return number;
}

// Nested lists of numbers that are known after the graph.
Var Trace::ReadList(Var v, PyObject* tolist) {
  SourceId tensor = TensorSnapshot(v);
  if (failure_ != Failure::kNone) return nullptr;
  Source all{SourceKind::kCall};
  all.object = ObjectOf(tolist);
  all.operands = {tensor};
  all.name = "tolist";
  const TensorMeta& meta = v->tensor->meta;
  PyTypeObject* type = IsFloating(meta.dtype)       ? &PyFloat_Type
                       : meta.dtype == DType::kBool ? &PyBool_Type
                                                    : &PyLong_Type;
  auto level = [&](auto& self, SourceId of, size_t dim) -> Var {
    if (dim == meta.sizes.size()) return Scalar(type, of, nullptr);
    PyRef list = PyRef::Steal(PyList_New(0));
    for (int64_t i = 0; i < meta.sizes[dim]; i++) {
      Source item{SourceKind::kItem};
      Var index = ConstSteal(PyLong_FromLongLong(i));
      item.operands = {of, ObjectSource(index->value.get())};
      PyRef element = PyRef::Steal(ElementShadow(self(self, sources_.Intern(std::move(item)), dim + 1)));
      if (!element || PyList_Append(list.get(), element.get()) != 0) return RaiseFromPython();
    }
    return NewContainer(&PyList_Type, list.release());
  };
  return level(level, sources_.Intern(std::move(all)), 0);
}

}  // namespace thirdbook
