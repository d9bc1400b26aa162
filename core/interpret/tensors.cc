// Tensors in the trace: operations become graph nodes, views and in-place writes are functionalised. See
// trace.h.
//
//   base  x ──────────── current: %0, after x[0].add_(1): %3 = select_scatter-like as_strided_scatter(%0,
//   ...) view  x[0]           (sizes, strides, offset) in the base; its value is derived again when the
//   base's version has moved on
//
// In: calls of OpFunctions and tensor methods on variables. Out: tensor variables. Invariant: the graph stays
// pure; after it has run, inputs that were written get their final value once (Trace::WrittenInputs).
#include "graph/shape.h"
#include "interpret/builtins.h"
#include "interpret/trace.h"
#include "python/tensor_internal.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

bool SameLayout(const TensorMeta& a, const TensorMeta& b) {
  return a.sizes == b.sizes && a.strides == b.strides && a.offset == b.offset && a.dtype == b.dtype;
}

}  // namespace

// Binds a call's operands to graph values. With `dry` only to ask for attributes: nothing enters the graph.
constexpr int64_t kMaxListed = 256;  // elements that tolist() gives one by one

// Binds a call's operands to graph values.
class TraceResolver : public OperandResolver {
 public:
  explicit TraceResolver(Trace& trace, bool dry = false) : trace_(trace), dry_(dry) {}
  bool Resolve(PyObject* object, OperandHandle* handle) override {
    if (!IsProxy(object)) return false;
    Var v = trace_.Look(ProxyVariable(object));
    if (v->kind == VariableKind::kTensor) {
      if (Trace::IsForeign(v)) {
        trace_.Break("an array of another library is given to a tensor operation");
        return Failed(handle);
      }
      ValueRef value = trace_.TensorValue(v);
      if (!value.defined()) return Failed(handle);
      return Push(value, v, v->tensor->meta, handle);
    }
    if (v->kind == VariableKind::kScalar &&
        (v->type == &PyLong_Type || v->type == &PyFloat_Type || v->type == &PyBool_Type)) {
      ValueRef value = trace_.ScalarInput(v);
      if (!value.defined()) return Failed(handle);
      return Push(value, v, trace_.graph().meta(value), handle);
    }
    return false;
  }
  PyObject* Known(PyObject* object) override {
    if (!IsProxy(object)) return object;
    Var v = trace_.Look(ProxyVariable(object));
    int64_t size;
    if (trace_.BoundSize(v, &size)) return object;  // the binder asks for its index
    return v->kind == VariableKind::kScalar ? trace_.ConstValue(v) : object;
  }
  OperandHandle WeakConstant(PyObject* number) override {
    Tensor t = PyBool_Check(number)   ? Tensor::WeakBool(number == Py_True)
               : PyLong_Check(number) ? Tensor::WeakInt(PyLong_AsLongLong(number))
                                      : Tensor::WeakFloat(PyFloat_AsDouble(number));
    return AddConstant(std::move(t), true);
  }
  OperandHandle Constant(Tensor tensor) override { return AddConstant(std::move(tensor), false); }
  const TensorMeta& Meta(OperandHandle handle) const override { return metas_[static_cast<size_t>(handle)]; }
  ValueRef value(OperandHandle h) const { return h < 0 ? ValueRef{} : values_[static_cast<size_t>(h)]; }
  Var variable(OperandHandle h) const { return h < 0 ? nullptr : variables_[static_cast<size_t>(h)]; }

 private:
  OperandHandle AddConstant(Tensor tensor, bool weak) {
    TensorMeta meta = tensor.meta();
    meta.weak = weak;
    OperandHandle handle;
    Push(dry_ ? ValueRef{} : trace_.graph().AddConstant(std::move(tensor), weak), nullptr, meta, &handle);
    return handle;
  }
  bool Push(ValueRef value, Var v, const TensorMeta& meta, OperandHandle* handle) {
    *handle = static_cast<OperandHandle>(values_.size());
    values_.push_back(value);
    variables_.push_back(v);
    metas_.push_back(meta);
    return true;
  }
  bool Failed(OperandHandle* handle) {
    *handle = -1;
    return false;
  }
  Trace& trace_;
  bool dry_;
  std::vector<ValueRef> values_;
  std::vector<Var> variables_;
  std::deque<TensorMeta> metas_;
};

namespace {

SourceSpan SpanOf(const Site& site) {
  SourceSpan span;
  span.file = site.file;
  span.line = site.line;
  span.column = site.column;
  span.end_line = site.end_line;
  span.end_column = site.end_column;
  return span;
}

}  // namespace

PyObject* TensorOperation(const char* name) { return reinterpret_cast<PyObject*>(FindOpFunction(name)); }

PyObject* CommitFunction() {
  static PyObject* commit = [] {
    PyRef module = PyRef::Steal(PyImport_ImportModule("thirdbook._core"));
    return PyObject_GetAttrString(module.get(), "_commit");
  }();
  return commit;
}

ValueRef Trace::TensorValue(Var v) {
  TensorState& t = *v->tensor;
  TensorBase& base = *t.base;
  if (!base.current.defined()) {
    Var input = base.input;
    base.current = graph_.AddInput(sources_.Print(input->source), base.meta);
    graph_inputs_.push_back(input);
  }
  if (t.value.defined() && t.version == base.version) return t.value;
  if (IsWhole(v)) {
    t.value = base.current;
  } else {
    PinSizes();
    // A view of a base that has been written: derived again from the contiguous contents.
    if (!base.meta.IsContiguous()) {
      Break("a view of a tensor with unusual strides is read after a write", BreakKind::kSharedMemory);
      return {};
    }
    Result<ValueRef> flat =
        graph_.AddNode(graph_.meta(base.current).offset != 0 ? Op::k_clone : Op::k_contiguous, {base.current},
                       {}, SpanOf(CurrentSite()));
    if (!flat.ok()) {
      Break(flat.status().message(), BreakKind::kPythonRaises);
      return {};
    }
    Result<ValueRef> view = graph_.AddNode(Op::k_as_strided, {*flat},
                                           {t.meta.sizes, t.meta.strides, t.meta.offset - base.meta.offset},
                                           SpanOf(CurrentSite()));
    if (!view.ok()) {
      Break(view.status().message(), BreakKind::kPythonRaises);
      return {};
    }
    t.value = *view;
  }
  t.version = base.version;
  return t.value;
}

Var Trace::NewTensor(ValueRef value) {
  TensorMeta meta = graph_.meta(value);
  meta.weak = false;
  bases_.push_back({value, meta, 0, nullptr, false, false, {}, {}});
  Var v = New(TensorType);
  v->kind = VariableKind::kTensor;
  v->tensor = std::make_unique<TensorState>();
  v->tensor->base = &bases_.back();
  v->tensor->meta = meta;
  v->tensor->value = value;
  return v;
}

Var Trace::NewView(Var of, TensorMeta meta, ValueRef value) {
  Var v = New(TensorType);
  v->kind = VariableKind::kTensor;
  v->tensor = std::make_unique<TensorState>();
  v->tensor->base = of->tensor->base;
  v->tensor->meta = std::move(meta);
  v->tensor->meta.weak = false;
  v->tensor->value = value;
  v->tensor->version = of->tensor->base->version;
  return v;
}

bool Trace::WriteTensor(Var target, ValueRef value) {
  TensorState& t = *target->tensor;
  TensorBase& base = *t.base;
  if (RepeatsElements(t.meta)) {
    Break("a tensor is written that has several elements in one place", BreakKind::kPythonRaises);
    return false;
  }
  if (base.input != nullptr) {
    ArrayView written, seen;
    ReadArray(base.input->value.get(), &written);
    if ((written.flags & kReadOnly) != 0) {
      Break("a read-only array is written", BreakKind::kPythonRaises);
      return false;
    }
    // Memory shared with another input: the write would reach it too.
    for (Var other : existing_) {
      if (other == base.input || other->kind != VariableKind::kTensor || !other->value ||
          other->forward != nullptr)
        continue;
      if (ReadArray(other->value.get(), &seen) != nullptr && SharesMemory(written, seen)) {
        Break("a tensor is written that shares memory with another input", BreakKind::kSharedMemory);
        return false;
      }
    }
  }
  TensorValue(target);  // an input enters the graph before it is written
  if (failure_ != Failure::kNone) return false;
  if (IsWhole(target)) {
    base.current = value;
  } else {
    PinSizes();
    if (!base.meta.IsContiguous()) {
      Break("a view of a tensor with unusual strides is written", BreakKind::kSharedMemory);
      return false;
    }
    Result<ValueRef> flat =
        graph_.AddNode(graph_.meta(base.current).offset != 0 ? Op::k_clone : Op::k_contiguous, {base.current},
                       {}, SpanOf(CurrentSite()));
    if (!flat.ok()) {
      Break(flat.status().message(), BreakKind::kPythonRaises);
      return false;
    }
    Result<ValueRef> whole = graph_.AddNode(Op::k_as_strided_scatter, {*flat, value},
                                            {t.meta.sizes, t.meta.strides, t.meta.offset - base.meta.offset},
                                            SpanOf(CurrentSite()));
    if (!whole.ok()) {
      Break(whole.status().message(), BreakKind::kPythonRaises);
      return false;
    }
    base.current = *whole;
  }
  base.version++;
  t.value = value;
  t.version = base.version;
  return true;
}

std::vector<TensorBase*> Trace::WrittenInputs() {
  std::vector<TensorBase*> out;
  for (TensorBase& base : bases_) {
    if (base.input != nullptr && base.version > 0) out.push_back(&base);
  }
  return out;
}

ValueRef Trace::ScalarInput(Var v) {
  if (!v->value) {
    Break("a number read from a tensor is used to compute with tensors", BreakKind::kValuesNeeded);
    return {};
  }
  auto it = scalar_inputs_.find(v->source.value);
  if (it != scalar_inputs_.end()) return it->second;
  if (v->type == &PyLong_Type) {
    int overflow = 0;
    PyLong_AsLongLongAndOverflow(v->value.get(), &overflow);
    if (overflow != 0) {
      Break("an int of more than 64 bits is used to compute with tensors");
      return {};
    }
  }
  TensorMeta meta;
  meta.dtype = v->type == &PyLong_Type   ? DType::kInt64
               : v->type == &PyBool_Type ? DType::kBool
                                         : DType::kFloat64;
  meta.weak = true;
  ValueRef value = graph_.AddInput(sources_.Print(v->source), meta);
  graph_inputs_.push_back(v);
  scalar_inputs_[v->source.value] = value;
  return value;
}

// Adds the op and wraps its outputs. `self` is the variable behind operand 0 (for views).
Var Trace::ApplyOp(Op op, const std::vector<ValueRef>& operands, const Attrs& attrs, Var self,
                   std::vector<SymbolicInt> symbolic) {
  std::vector<const TensorMeta*> metas;
  for (ValueRef v : operands) metas.push_back(v.defined() ? &graph_.meta(v) : nullptr);
  if (IsDataDependent(op, metas, attrs)) {
    return Break(std::string(Info(op).name) + "() gives a size that depends on the data",
                 BreakKind::kSizeFromData);
  }
  bool view = Info(op).op_class == OpClass::kView;
  TensorMeta view_meta;
  if (Info(op).op_class == OpClass::kMaybeView && self != nullptr && self->kind == VariableKind::kTensor) {
    view = AliasesOperand(op, self->tensor->meta, attrs);
    if (view && op == Op::k_contiguous) {
      // Unused, but with it the guard sees whether it is a view for other sizes, too.
      if (HasFreeSizes() && !graph_.AddNode(op, operands, attrs, SpanOf(CurrentSite())).ok()) PinSizes();
      return self;
    }
  }
  // Where the tensor lies is inferred along with its value for other sizes.
  if (view && HasFreeSizes() && !SameLayout(self->tensor->meta, graph_.meta(operands[0]))) PinSizes();
  if (view) {
    if (self == nullptr || self->kind != VariableKind::kTensor) return Break("a view of a number");
    Result<std::vector<TensorMeta>> inferred = Infer(op, {&self->tensor->meta}, attrs);
    if (!inferred.ok())
      return Break("the operation refuses its operands: " + inferred.status().message(),
                   BreakKind::kPythonRaises);
    view_meta = (*inferred)[0];
  }
  Result<ValueRef> node = graph_.AddNode(op, operands, attrs, SpanOf(CurrentSite()));
  if (!node.ok())
    return Break("the operation refuses its operands: " + node.status().message(), BreakKind::kPythonRaises);
  graph_.mutable_nodes()[static_cast<size_t>(node->node.value)].symbolic = std::move(symbolic);
  if (view) return NewView(self, view_meta, *node);
  size_t outputs = graph_.node(node->node).metas.size();
  if (outputs == 1) return NewTensor(*node);
  std::vector<Var> items;
  for (size_t i = 0; i < outputs; i++) items.push_back(NewTensor({node->node, static_cast<int32_t>(i)}));
  return NewTuple(std::move(items));
}

Var Trace::TensorCall(PyObject* function, const std::vector<Var>& args, PyObject* kwnames) {
  OpFunctionObject* f = reinterpret_cast<OpFunctionObject*>(function);
  std::vector<PyRef> refs;
  std::vector<PyObject*> values;
  for (Var a : args) {
    Var v = Look(a);
    bool size = v->kind == VariableKind::kNew && PyType_IsSubtype(v->type, &PyTuple_Type) != 0;
    // Tensor operands of foreign kinds are the real call's business.
    PyObject* shadow = size ? ElementShadow(NewTuple(v->items)) : ArgumentShadow(v);
    if (shadow == nullptr) return RaiseFromPython();
    refs.push_back(PyRef::Steal(shadow));
    values.push_back(shadow);
  }
  TraceResolver resolver(*this);
  BoundCall call{};
  size_t positional = args.size() - (kwnames != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
  auto bind = [&](int world, TraceResolver& with, BoundCall* out) {
    world_ = world;
    bool bound = BindOp(f, values.data(), static_cast<Py_ssize_t>(positional), kwnames, with, out);
    world_ = -1;
    return bound && failure_ == Failure::kNone;
  };
  bound_sizes_ = false;
  if (!bind(0, resolver, &call)) {
    if (failure_ != Failure::kNone) {
      PyErr_Clear();
      return nullptr;
    }
    return BreakOnError("the arguments do not fit " + std::string(f->info->name) + "()");
  }
  std::vector<SymbolicInt> symbolic;
  if (bound_sizes_) {
    TraceResolver second(*this, true), third(*this, true);
    BoundCall calls[2] = {};
    const Attrs* in_worlds[kWorlds] = {&call.attrs, &calls[0].attrs, &calls[1].attrs};
    if (!bind(1, second, &calls[0]) || !bind(2, third, &calls[1]) || !FindSymbolic(in_worlds, &symbolic)) {
      PyErr_Clear();
      if (failure_ != Failure::kNone) return nullptr;
      symbolic.clear();
      PinSizes();
    }
  }
  if (call.requires_grad) return Break("a tensor that requires gradients is made", BreakKind::kGradients);
  if (call.device != Device::kCpu)
    return Break("a tensor is made on another device than the CPU", BreakKind::kOtherDevice);
  if (call.generator != nullptr) return Break("a random operation with a generator of its own");
  std::vector<ValueRef> operands;
  for (OperandHandle h : call.operands) operands.push_back(resolver.value(h));
  Var self = call.operands.empty() ? nullptr : resolver.variable(call.operands[0]);
  if (self != nullptr && self->kind != VariableKind::kTensor) self = nullptr;
  if (!f->inplace && call.out < 0) return ApplyOp(call.op, operands, call.attrs, self, std::move(symbolic));
  Var target = f->inplace ? self : resolver.variable(call.out);
  if (target == nullptr || target->kind != VariableKind::kTensor)
    return Break("an in-place operation without a tensor to write into", BreakKind::kSharedMemory);
  Var result;
  if (Info(call.op).op_class == OpClass::kView || Info(call.op).op_class == OpClass::kMaybeView) {
    return Break(std::string(f->info->name) + "_() changes the sizes of a tensor in place",
                 BreakKind::kSharedMemory);
  }
  result = ApplyOp(call.op, operands, call.attrs, self, std::move(symbolic));
  if (result == nullptr) return nullptr;
  if (result->kind != VariableKind::kTensor)
    return Break("an operation with several outputs writes in place");
  const TensorMeta& have = result->tensor->meta;
  const TensorMeta& want = target->tensor->meta;
  if (have.sizes != want.sizes || Category(have.dtype) > Category(want.dtype)) {
    return Break(std::string("the result of ") + std::string(f->info->name) +
                     "() does not fit the tensor that is written",
                 BreakKind::kPythonRaises);
  }
  for (size_t d = 0; d < want.sizes.size(); d++) {
    if (HasFreeSizes() && !SameSizeAt(result, target, d)) PinSizes();
  }
  if (target->tensor->requires_grad && grad_) {
    return Break("a tensor that requires gradients is written in place", BreakKind::kGradients);
  }
  ValueRef value = result->tensor->value;
  if (have.dtype != want.dtype) {
    Result<ValueRef> cast = graph_.AddNode(Op::k_to, {value}, {want.dtype}, SpanOf(CurrentSite()));
    if (!cast.ok()) return Break(cast.status().message(), BreakKind::kPythonRaises);
    value = *cast;
  }
  if (!WriteTensor(target, value)) return nullptr;
  return target;
}

// ---- attributes and methods
// -------------------------------------------------------------------------------------------------

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
    return Break(std::string("attribute '") + text + "' of a tensor", BreakKind::kKeptByPython);
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
  return RaiseNew(PyExc_AttributeError, std::string("'") + PyUnicode_AsUTF8(short_name.get()) +
                                            "' object has no attribute '" + text + "'");
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
      if (!PyLong_Check(d)) return Break(std::string(text) + "() of a dimension that is no int");
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
    return Break(std::string("tensor.") + text + "() is called", BreakKind::kValuesNeeded);
  }
  return Break(std::string("method '") + text + "' of a tensor");
}

// ---- items
// ----------------------------------------------------------------------------------------------------------------

static bool IsMask(Var key) {
  return key->kind == VariableKind::kTensor && key->tensor->meta.dtype == DType::kBool &&
         key->tensor->meta.rank() > 0;
}

Var Trace::TensorGetItem(Var v, Var key) {
  if (IsForeign(v)) return ArrayOperation("getitem", {v, key});
  key = Look(key);
  bool masked = IsMask(key);
  if (key->kind == VariableKind::kNew && PyType_IsSubtype(key->type, &PyTuple_Type) != 0) {
    for (Var item : key->items) masked |= IsMask(Look(item));
  }
  if (masked) return Break("a mask selects items of a tensor", BreakKind::kSizeFromData);
  TraceResolver resolver(*this);
  PyRef k = IndexShadow(key);
  if (!k) return failure_ != Failure::kNone ? nullptr : RaiseFromPython();
  std::vector<IndexStep> steps;
  std::vector<std::vector<SymbolicInt>> symbolic;
  if (!DecomposeKey(v, k.get(), resolver, &steps, &symbolic)) return nullptr;
  Var current = v;
  TensorValue(v);
  if (failure_ != Failure::kNone) return nullptr;
  if (steps.empty()) steps.push_back({Op::k_alias, {}, {}});
  for (size_t i = 0; i < steps.size(); i++) {
    std::vector<ValueRef> operands = {TensorValue(current)};
    for (OperandHandle h : steps[i].extra) operands.push_back(resolver.value(h));
    current = ApplyOp(steps[i].op, operands, steps[i].attrs, current,
                      i < symbolic.size() ? symbolic[i] : std::vector<SymbolicInt>());
    if (current == nullptr) return nullptr;
  }
  return current;
}

// The key taken apart, in each world where it has symbolic sizes.
bool Trace::DecomposeKey(Var v, PyObject* key, TraceResolver& resolver, std::vector<IndexStep>* steps,
                         std::vector<std::vector<SymbolicInt>>* symbolic) {
  auto decompose = [&](int world, const TensorMeta& meta, TraceResolver& with, std::vector<IndexStep>* out) {
    world_ = world;
    bool fits = DecomposeIndex(meta, key, with, out);
    world_ = -1;
    return fits && failure_ == Failure::kNone;
  };
  bound_sizes_ = false;
  if (!decompose(0, v->tensor->meta, resolver, steps)) {
    if (failure_ == Failure::kNone) {
      BreakOnError("the index does not fit the tensor");
    } else {
      PyErr_Clear();
    }
    return false;
  }
  if (!bound_sizes_) return true;
  ValueRef value = TensorValue(v);
  if (failure_ != Failure::kNone) return false;
  std::vector<IndexStep> others[2];
  bool simple = true;
  for (int w = 1; w < kWorlds && simple; w++) {
    TraceResolver dry(*this, true);
    simple =
        decompose(w, MetaInWorld(value, w), dry, &others[w - 1]) && others[w - 1].size() == steps->size();
  }
  for (size_t i = 0; i < steps->size() && simple; i++) {
    const Attrs* in_worlds[kWorlds] = {&(*steps)[i].attrs, &others[0][i].attrs, &others[1][i].attrs};
    symbolic->emplace_back();
    simple = others[0][i].op == (*steps)[i].op && others[1][i].op == (*steps)[i].op &&
             FindSymbolic(in_worlds, &symbolic->back());
  }
  if (!simple) {
    PyErr_Clear();
    symbolic->clear();
    PinSizes();
  }
  return failure_ == Failure::kNone;
}

std::nullptr_t Trace::BreakOnError(const std::string& what) {
  PyRef error = PyRef::Steal(PyErr_GetRaisedException());
  PyRef text = error ? PyRef::Steal(PyObject_Str(error.get())) : PyRef();
  std::string message = text ? PyUnicode_AsUTF8(text.get()) : "";
  PyErr_Clear();
  return Break(what + ": " + message, BreakKind::kPythonRaises);
}

PyRef Trace::IndexShadow(Var key) {
  key = Look(key);
  auto symbolic = [&](Var item) {
    int64_t size;
    world_ = 0;
    bool yes = HasFreeSizes() && BoundSize(Look(item), &size);
    world_ = -1;
    return yes;
  };
  if (key->kind == VariableKind::kNew && key->type == &PySlice_Type) {
    if (!symbolic(key->items[0]) && !symbolic(key->items[1])) return SliceOrShadow(key);
    PyRef parts[3];
    for (size_t i = 0; i < 3; i++) {
      parts[i] = IndexShadow(key->items[i]);
      if (!parts[i]) return PyRef();
    }
    return PyRef::Steal(PySlice_New(parts[0].get(), parts[1].get(), parts[2].get()));
  }
  if (key->kind == VariableKind::kScalar && !symbolic(key)) {
    PyObject* value = ConstValue(key);
    return value != nullptr ? PyRef::Borrow(value) : PyRef();
  }
  if (key->kind == VariableKind::kNew && PyType_IsSubtype(key->type, &PyTuple_Type) != 0) {
    PyRef tuple = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(key->items.size())));
    for (size_t i = 0; i < key->items.size(); i++) {
      PyRef item = IndexShadow(key->items[i]);
      if (!item) return PyRef();
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item.release());
    }
    return tuple;
  }
  return PyRef::Steal(ArgumentShadow(key));
}

bool Trace::TensorSetItem(Var v, Var key, Var value_in) {
  if (IsForeign(v)) return ArrayOperation("setitem", {v, key, value_in}) != nullptr;
  if (v->tensor->requires_grad && grad_) {
    Break("a tensor that requires gradients is written in place", BreakKind::kGradients);
    return false;
  }
  TraceResolver resolver(*this);
  PyRef k = IndexShadow(key);
  if (!k) {
    if (failure_ == Failure::kNone) RaiseFromPython();
    return false;
  }
  std::vector<IndexStep> steps;
  std::vector<std::vector<SymbolicInt>> symbolic;
  if (!DecomposeKey(v, k.get(), resolver, &steps, &symbolic)) return false;
  Var value = Look(value_in);
  ValueRef source;
  if (value->kind == VariableKind::kTensor) {
    source = TensorValue(value);
  } else if (value->kind == VariableKind::kScalar) {
    source = ScalarInput(value);
  } else {
    PyObject* number = TryConst(value);
    if (number == nullptr || !(PyLong_Check(number) || PyFloat_Check(number))) {
      Break("a tensor's items are set to a '" + std::string(value->type->tp_name) + "'");
      return false;
    }
    source = resolver.value(resolver.WeakConstant(number));
  }
  if (failure_ != Failure::kNone) return false;
  TensorValue(v);
  if (failure_ != Failure::kNone) return false;
  Var current = v;
  for (size_t i = 0; i < steps.size(); i++) {
    IndexStep& step = steps[i];
    std::vector<ValueRef> operands = {TensorValue(current)};
    for (OperandHandle h : step.extra) operands.push_back(resolver.value(h));
    if (step.op == Op::k_index) {
      operands.push_back(source);
      Result<ValueRef> put = graph_.AddNode(Op::k_index_put, operands, {false}, SpanOf(CurrentSite()));
      if (!put.ok()) {
        Break("the values do not fit the index: " + put.status().message(), BreakKind::kPythonRaises);
        return false;
      }
      return WriteTensor(current, *put);
    }
    current = ApplyOp(step.op, operands, step.attrs, current,
                      i < symbolic.size() ? symbolic[i] : std::vector<SymbolicInt>());
    if (current == nullptr) return false;
  }
  Result<ValueRef> written =
      graph_.AddNode(Op::k_copy, {TensorValue(current), source}, {}, SpanOf(CurrentSite()));
  if (!written.ok()) {
    Break("the value does not fit the items: " + written.status().message(), BreakKind::kPythonRaises);
    return false;
  }
  return WriteTensor(current, *written);
}

// ---- numbers read from tensors
// -----------------------------------------------------------------------------------------------

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
        "a tensor with " + std::to_string(v->tensor->meta.numel()) + " elements is used as one number",
        BreakKind::kPythonRaises);
  }
  if (IsForeign(v) && v->tensor->meta.rank() > 0 && type != &PyBool_Type)
    return Break("an array with dimensions is used as one number");
  SourceId tensor = TensorSnapshot(v);
  if (failure_ != Failure::kNone) return nullptr;
  for (size_t d = 0; d < v->tensor->meta.sizes.size(); d++) {
    if (ConstValue(SizeAt(v, d)) == nullptr) return nullptr;
  }
  Source s{SourceKind::kCall};
  s.object = ObjectOf(reinterpret_cast<PyObject*>(type));
  s.operands = {tensor};
  s.name = type->tp_name;
  Var number = Scalar(type, sources_.Intern(std::move(s)), nullptr);
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
