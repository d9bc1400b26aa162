// Reading and writing items of tensors: t[key], t[key] = value. See trace.h.
//
// In: a tensor variable and a key. Out: a view or a copy as nodes of the graph, or a functionalised write.
// Invariant: a key's sizes may be symbolic; a mask whose selection depends on the data is a break.
#include "interpret/builtins.h"
#include "interpret/trace_resolver.h"
#include "python/tensor_object.h"

namespace thirdbook {

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
  bound_.clear();
  if (!decompose(0, v->tensor->meta, resolver, steps)) {
    if (failure_ == Failure::kNone) {
      BreakOnError("the index does not fit the tensor");
    } else {
      PyErr_Clear();
    }
    return false;
  }
  if (bound_.empty()) return true;
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
    if (failure_ == Failure::kNone && PinBoundInts()) {
      steps->clear();
      return DecomposeKey(v, key, resolver, steps, symbolic);
    }
    PinSizes();
  }
  return failure_ == Failure::kNone;
}

std::nullptr_t Trace::BreakOnError(const std::string& what) {
  PyRef error = PyRef::Steal(PyErr_GetRaisedException());
  PyRef text = error ? PyRef::Steal(PyObject_Str(error.get())) : PyRef();
  std::string message = text ? PyUnicode_AsUTF8(text.get()) : "";
  PyErr_Clear();
  return Break({what, ": ", message}, BreakKind::kPythonRaises);
}

PyRef Trace::IndexShadow(Var key) {
  key = Look(key);
  auto symbolic = [&](Var item) {
    int64_t size;
    world_ = 0;
    bool yes = BoundSize(Look(item), &size);
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
      Break({"a tensor's items are set to a '", value->type->tp_name, "'"});
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
        Break({"the values do not fit the index: ", put.status().message()}, BreakKind::kPythonRaises);
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
    Break({"the value does not fit the items: ", written.status().message()}, BreakKind::kPythonRaises);
    return false;
  }
  return WriteTensor(current, *written);
}

}  // namespace thirdbook
