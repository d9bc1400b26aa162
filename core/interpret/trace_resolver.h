// Binds the operands of a tensor call to graph values, for the op bindings of core/python.
#pragma once

#include "interpret/trace.h"
#include "python/tensor_object.h"

namespace thirdbook {

SourceSpan SpanOf(const Site& site);

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
    const bool number = v->kind == VariableKind::kScalar || v->kind == VariableKind::kConst;  // named twice
    return number ? trace_.ConstValue(v) : object;
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

}  // namespace thirdbook
