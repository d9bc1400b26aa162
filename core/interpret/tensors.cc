// Tensors in the trace: operations become graph nodes, views and in-place writes are functionalised. See
// trace.h.
//
//   base  x       current value %0; after x[0].add_(1): %3 = as_strided_scatter(%0, ...)
//   view  x[0]    (sizes, strides, offset) in the base; derived again when the base's version has moved on
//
// In: calls of OpFunctions and tensor methods on variables. Out: tensor variables. Invariant: the graph stays
// pure; after it has run, inputs that were written get their final value once (Trace::WrittenInputs).
#include "graph/shape.h"
#include "interpret/builtins.h"
#include "interpret/trace.h"
#include "interpret/trace_resolver.h"
#include "python/tensor_internal.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

bool SameLayout(const TensorMeta& a, const TensorMeta& b) {
  return a.sizes == b.sizes && a.strides == b.strides && a.offset == b.offset && a.dtype == b.dtype;
}

}  // namespace

SourceSpan SpanOf(const Site& site) {
  SourceSpan span;
  span.file = site.file;
  span.line = site.line;
  span.column = site.column;
  span.end_line = site.end_line;
  span.end_column = site.end_column;
  return span;
}

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
    std::vector<SymbolicInt> symbolic;
    const Attrs layout = LayoutAttrs(v, &symbolic);
    // A view of a base that has been written: derived again from the contiguous contents.
    if (!base.meta.IsContiguous()) {
      Break("a view of a tensor with unusual strides is read after a write", BreakKind::kSharedMemory);
      return {};
    }
    Result<ValueRef> flat =
        graph_.AddNode(graph_.meta(base.current).offset != 0 ? Op::k_clone : Op::k_contiguous, {base.current},
                       {}, SpanOf(CurrentSite()));
    if (!flat.ok()) {
      Break({flat.status().message()}, BreakKind::kPythonRaises);
      return {};
    }
    Result<ValueRef> view = graph_.AddNode(Op::k_as_strided, {*flat}, layout, SpanOf(CurrentSite()));
    if (!view.ok()) {
      Break({view.status().message()}, BreakKind::kPythonRaises);
      return {};
    }
    graph_.mutable_nodes()[static_cast<size_t>(view->node.value)].symbolic = std::move(symbolic);
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
  v->tensor->value = v->tensor->layout = value;
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
    std::vector<SymbolicInt> symbolic;
    const Attrs layout = LayoutAttrs(target, &symbolic);
    if (!base.meta.IsContiguous()) {
      Break("a view of a tensor with unusual strides is written", BreakKind::kSharedMemory);
      return false;
    }
    Result<ValueRef> flat =
        graph_.AddNode(graph_.meta(base.current).offset != 0 ? Op::k_clone : Op::k_contiguous, {base.current},
                       {}, SpanOf(CurrentSite()));
    if (!flat.ok()) {
      Break({flat.status().message()}, BreakKind::kPythonRaises);
      return false;
    }
    Result<ValueRef> whole =
        graph_.AddNode(Op::k_as_strided_scatter, {*flat, value}, layout, SpanOf(CurrentSite()));
    if (!whole.ok()) {
      Break({whole.status().message()}, BreakKind::kPythonRaises);
      return false;
    }
    graph_.mutable_nodes()[static_cast<size_t>(whole->node.value)].symbolic = std::move(symbolic);
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
    return Break({Info(op).name, "() gives a size that depends on the data"}, BreakKind::kSizeFromData);
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
      return Break({"the operation refuses its operands: ", inferred.status().message()},
                   BreakKind::kPythonRaises);
    view_meta = (*inferred)[0];
  }
  Result<ValueRef> node = graph_.AddNode(op, operands, attrs, SpanOf(CurrentSite()));
  if (!node.ok())
    return Break({"the operation refuses its operands: ", node.status().message()}, BreakKind::kPythonRaises);
  graph_.mutable_nodes()[static_cast<size_t>(node->node.value)].symbolic = std::move(symbolic);
  if (view) return NewView(self, view_meta, *node);
  size_t outputs = graph_.node(node->node).metas.size();
  if (outputs == 1) return NewTensor(*node);
  std::vector<Var> items;
  for (size_t i = 0; i < outputs; i++) items.push_back(NewTensor({node->node, static_cast<int32_t>(i)}));
  return NewTuple(std::move(items));
}

Var Trace::TensorCall(PyObject* function, const std::vector<Var>& args, PyObject* kwnames) {
  Var with_operand = CallWithFreeNumber(function, args, kwnames);
  if (with_operand != nullptr || failure_ != Failure::kNone) return with_operand;
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
  size_t positional = PositionalCount(args, kwnames);
  auto bind = [&](int world, TraceResolver& with, BoundCall* out) {
    world_ = world;
    bool bound = BindOp(f, values.data(), static_cast<Py_ssize_t>(positional), kwnames, with, out);
    world_ = -1;
    return bound && failure_ == Failure::kNone;
  };
  bound_.clear();
  if (!bind(0, resolver, &call)) {
    if (failure_ != Failure::kNone) {
      PyErr_Clear();
      return nullptr;
    }
    return BreakOnError("the arguments do not fit " + std::string(f->info->name) + "()");
  }
  std::vector<SymbolicInt> symbolic;
  while (!bound_.empty()) {
    TraceResolver second(*this, true), third(*this, true);
    BoundCall calls[2] = {};
    const Attrs* in_worlds[kWorlds] = {&call.attrs, &calls[0].attrs, &calls[1].attrs};
    if (bind(1, second, &calls[0]) && bind(2, third, &calls[1]) && FindSymbolic(in_worlds, &symbolic)) break;
    PyErr_Clear();
    if (failure_ != Failure::kNone) return nullptr;
    symbolic.clear();
    if (PinBoundInts()) continue;
    PinSizes();
    break;
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
    return Break({f->info->name, "_() changes the sizes of a tensor in place"}, BreakKind::kSharedMemory);
  }
  result = ApplyOp(call.op, operands, call.attrs, self, std::move(symbolic));
  if (result == nullptr) return nullptr;
  if (result->kind != VariableKind::kTensor)
    return Break("an operation with several outputs writes in place");
  const TensorMeta& have = result->tensor->meta;
  const TensorMeta& want = target->tensor->meta;
  if (have.sizes != want.sizes || Category(have.dtype) > Category(want.dtype)) {
    return Break({"the result of ", f->info->name, "() does not fit the tensor that is written"},
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
    if (!cast.ok()) return Break({cast.status().message()}, BreakKind::kPythonRaises);
    value = *cast;
  }
  if (!WriteTensor(target, value)) return nullptr;
  return target;
}

}  // namespace thirdbook
