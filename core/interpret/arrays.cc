// Arrays of other libraries in the trace: their functions, methods and operators are traced as Python
// functions (models) that say the same in tensor operations.
//
//   np.add(x, 1) ──ArrayModel──▶ thirdbook._numpy's add ──traced like any function──▶ array(memory(x) + 1)
//
// In: calls, attributes and operators with a foreign array. Out: array variables, over the same bases as
// tensors, so that views and writes are the ones of tensors.cc. Invariant: a model either means what the
// library does, values, dtype, layout and sharing of memory, or breaks; what only the values can decide is a
// condition of the replay (Require): where it does not hold the call is handed back.
#include <cstring>

#include "interpret/builtins.h"
#include "interpret/trace.h"
#include "python/array_adapter.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

PyObject* OnlyWhileTracing(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_RuntimeError, "array models run only while a function is traced");
  return nullptr;
}

enum Intrinsic { kMemory, kArray, kScalar, kKind, kAsk, kNoModel, kRequire, kEffect, kLater, kSite };
PyMethodDef kIntrinsics[] = {
    {"_array_memory", OnlyWhileTracing, METH_VARARGS,
     "(array) -> tensor over its memory; numbers as they are."},
    {"_array", OnlyWhileTracing, METH_VARARGS, "(tensor) -> array over the same memory."},
    {"_array_scalar", OnlyWhileTracing, METH_VARARGS, "(0-d tensor) -> the library's scalar."},
    {"_array_kind", OnlyWhileTracing, METH_VARARGS, "(array or number) -> dtype, or the type of the number."},
    {"_array_ask", OnlyWhileTracing, METH_VARARGS, "(function, *constants) -> what it gives, called now."},
    {"_array_no_model", OnlyWhileTracing, METH_VARARGS, "(reason[, code]): a graph break."},
    {"_array_require", OnlyWhileTracing, METH_VARARGS, "(0-d bool tensor): false hands the call back."},
    {"_effect", OnlyWhileTracing, METH_VARARGS, "(function, name, *args): the call, at the replay."},
    {"_later", OnlyWhileTracing, METH_VARARGS,
     "(type, function, *args): what the function gives in each call, of that type; None: as it is now, "
     "guarded."},
    {"_site", OnlyWhileTracing, METH_VARARGS, "(file) -> file, line, function of the caller outside of it."},
    {nullptr, nullptr, 0, nullptr}};

PyObject* Check(PyObject*, PyObject* flag) {
  if (IsTensor(flag) && AsTensor(flag).meta().numel() == 1 && *AsTensor(flag).data<bool>())
    return Py_NewRef(Py_None);
  PyErr_SetString(PyExc_RuntimeError, "a condition of the compiled code does not hold for these values");
  return nullptr;
}
PyMethodDef kCheck[] = {{"_check", Check, METH_O, "Raises unless a graph's condition is true."},
                        {nullptr, nullptr, 0, nullptr}};

// Objects that a library's table of models may name; hashing them runs no code of the program's.
bool MayHaveModel(PyObject* o) {
  return PyCFunction_Check(o) || PyFunction_Check(o) || Py_TYPE(o) == &PyMethodDescr_Type ||
         Py_TYPE(o) == &PyGetSetDescr_Type || Py_TYPE(o) == &PyWrapperDescr_Type ||
         std::strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0 || Py_TYPE(o) == &PyType_Type;
}

// Whether a view reaches each element of a contiguous tensor once.
bool SameElements(const TensorMeta& view, const TensorMeta& whole) {
  int64_t last = view.offset;
  for (size_t i = 0; i < view.sizes.size(); i++) last += (view.sizes[i] - 1) * view.strides[i];
  return whole.IsContiguous() && view.offset == 0 && view.numel() == whole.numel() &&
         last == whole.numel() - 1;
}

}  // namespace

bool InitArrayIntrinsics(PyObject* module) {
  return PyModule_AddFunctions(module, kIntrinsics) == 0 && PyModule_AddFunctions(module, kCheck) == 0;
}

bool IsArrayIntrinsic(PyObject* function) {
  return reinterpret_cast<PyCFunctionObject*>(function)->m_ml->ml_meth == OnlyWhileTracing;
}

PyObject* CheckFunction() {
  static PyObject* check = [] {
    PyRef module = PyRef::Steal(PyImport_ImportModule("thirdbook._core"));
    return PyObject_GetAttrString(module.get(), "_check");
  }();
  return check;
}

bool Trace::HasArray(Var v) {
  if (v->kind == VariableKind::kObject && NumpyLibrary() != nullptr)
    return std::strncmp(v->type->tp_name, "numpy.", 6) == 0 && !Unreadable(v->value.get()).empty();
  return IsForeign(v);
}

std::nullptr_t Trace::NotAnArray(Var v) {
  if (v->kind == VariableKind::kTensor) return Break("a tensor is mixed with arrays of another library");
  const std::string unreadable = v->kind == VariableKind::kObject ? Unreadable(v->value.get()) : "";
  if (!unreadable.empty()) {
    return Break({"an operation on ", unreadable, ", of a layout or element type that graphs do not know"});
  }
  return Break({"a '", v->type->tp_name, "' is used where an array is expected"});
}

PyObject* Trace::ArrayModel(PyObject* callable) {
  const ArrayAdapter* library = NumpyLibrary();
  return library != nullptr && MayHaveModel(callable) ? library->model(callable) : nullptr;
}

// What a model raises says only that it does not fit: the library raises its own exception.
Var Trace::CallModel(PyObject* model, const std::vector<Var>& args, PyObject* kwnames) {
  Var result = CallFunction(Fixed(model), args, kwnames);
  if (result == nullptr && failure_ == Failure::kRaise) {
    const std::string what = TakeRaised()->type->tp_name;
    return Break({"the arguments do not fit the model of an array function (", what, ")"},
                 BreakKind::kPythonRaises);
  }
  return result;
}

Var Trace::ArrayOperation(const char* name, const std::vector<Var>& args) {
  PyObject* model = NumpyLibrary()->operation(name);
  if (model == nullptr) return Break({"the operator '", name, "' on arrays"});
  return CallModel(model, args, nullptr);
}

Var Trace::ArrayGetAttr(Var v, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  PyObject* found = TypeLookup(v->type, name, false);
  if (found != nullptr && (Py_TYPE(found) == &PyMethodDescr_Type || Py_TYPE(found) == &PyWrapperDescr_Type))
    return NewMethod(Fixed(found), v);
  if (strcmp(text, "__class__") == 0) return Fixed(reinterpret_cast<PyObject*>(v->type));
  PyObject* model = found != nullptr ? ArrayModel(found) : nullptr;
  if (model != nullptr) return CallModel(model, {v}, nullptr);
  return Break({"attribute '", text, "' of a '", v->type->tp_name, "'"});
}

Var Trace::ArrayMethod(PyObject* descriptor, const std::vector<Var>& args, PyObject* kwnames) {
  if (PyObject* model = ArrayModel(descriptor)) return CallModel(model, args, kwnames);
  const char* text = PyUnicode_AsUTF8(reinterpret_cast<PyDescrObject*>(descriptor)->d_name);
  if (kwnames == nullptr && args.size() == 1) {
    Var v = Look(args[0]);
    if (strcmp(text, "__bool__") == 0) return ReadNumber(v, &PyBool_Type);
    if (strcmp(text, "__float__") == 0) return ReadNumber(v, &PyFloat_Type);
    if (strcmp(text, "__int__") == 0) return ReadNumber(v, &PyLong_Type);
  }
  return Break({"method '", text, "' of a '", Look(args[0])->type->tp_name, "'"});
}

// The tensor as an array: a new base is then made by the library, a base that has another form already is
// copied.
Var Trace::ArrayOf(Var t, ArrayForm form) {
  TensorBase* base = t->tensor->base;
  bool fresh = base->input == nullptr && base->form.adapter == nullptr;
  const bool scalar_memory = base->input != nullptr ? base->input->tensor->form.scalar : base->form.scalar;
  const bool copied = form.scalar ? !fresh || t->tensor->meta.numel() != base->meta.numel() : scalar_memory;
  if (copied) {
    ValueRef value = TensorValue(t);
    if (failure_ != Failure::kNone) return nullptr;
    t = ApplyOp(Op::k_clone, {value}, {}, nullptr);
    if (t == nullptr) return nullptr;
    base = t->tensor->base;
    fresh = true;
  }
  if (fresh) {
    // The library makes the array as the model leaves it, where that only orders the axes otherwise.
    base->form = form;
    base->made = SameElements(t->tensor->meta, base->meta) ? t->tensor->meta : base->meta;
  }
  Var v = NewView(t, t->tensor->meta, t->tensor->value);
  v->tensor->version = t->tensor->version;
  v->tensor->form = form;
  v->type = form.adapter->type(v->tensor->meta.dtype, form.scalar);
  return v;
}

bool Trace::Require(Var flag) {
  ValueRef value = TensorValue(flag);
  if (failure_ != Failure::kNone) return false;
  if (condition_.defined()) {
    Result<ValueRef> both = graph_.AddNode(Op::k_logical_and, {condition_, value}, {}, {});
    if (!both.ok()) {
      Break({both.status().message()}, BreakKind::kInternal);
      return false;
    }
    value = *both;
  }
  condition_ = value;
  return true;
}

// Whether an expression is made of constants and of what the models' functions and modules hold.
bool Trace::ReadsModelsOnly(SourceId source, bool* model) {
  const Source& s = sources_.at(source);
  if (s.kind == SourceKind::kLocal || s.kind == SourceKind::kClosureCell ||
      s.kind == SourceKind::kGraphTensor)
    return false;
  if (s.kind == SourceKind::kObject) {
    PyObject* o = object(s.object);
    if (PyFunction_Check(o)) o = reinterpret_cast<PyFunctionObject*>(o)->func_globals;
    if (PyModule_Check(o)) o = PyModule_GetDict(o);
    if (!PyDict_Check(o)) return PyUnicode_CheckExact(o) || PyLong_Check(o) || PyFloat_CheckExact(o);
    PyObject* name = PyDict_GetItemString(o, "__name__");
    const char* text = name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : "";
    *model = std::strncmp(text, "thirdbook._numpy", 16) == 0;
    return *model;
  }
  for (SourceId operand : s.operands) {
    if (!ReadsModelsOnly(operand, model)) return false;
  }
  return true;
}

std::vector<Guard> Trace::GuardsOutsideOfModels() {
  std::vector<Guard> kept;
  for (const Guard& g : guards_.guards()) {
    const bool fixed = g.kind == GuardKind::kDistinct && sources_.at(g.source).kind == SourceKind::kObject &&
                       sources_.at(g.other).kind == SourceKind::kObject;
    if (fixed) continue;
    bool model = false;
    if (!g.source.defined() || g.other.defined() || !ReadsModelsOnly(g.source, &model) || !model)
      kept.push_back(g);
  }
  return kept;
}

Var Trace::ArrayIntrinsic(PyObject* function, const std::vector<Var>& args) {
  const auto which =
      static_cast<Intrinsic>(reinterpret_cast<PyCFunctionObject*>(function)->m_ml - kIntrinsics);
  if (args.empty()) return Break("internal: an intrinsic without arguments", BreakKind::kInternal);
  Var v = Look(args[0]);
  const bool number = (v->kind == VariableKind::kConst || v->kind == VariableKind::kScalar) &&
                      (v->type == &PyFloat_Type || v->type == &PyLong_Type || v->type == &PyBool_Type);
  switch (which) {
    case kMemory: {
      if (number) return v;
      if (!IsForeign(v)) return NotAnArray(v);
      ValueRef value = TensorValue(v);
      return failure_ != Failure::kNone ? nullptr : NewView(v, v->tensor->meta, value);
    }
    case kKind:
      if (number) return Fixed(reinterpret_cast<PyObject*>(v->type));
      if (!IsForeign(v)) return NotAnArray(v);
      return Const(DTypeObject(v->tensor->meta.dtype));
    case kArray:
    case kScalar:
      if (v->kind != VariableKind::kTensor || IsForeign(v))
        return Break("internal: no tensor for an array", BreakKind::kInternal);
      return ArrayOf(v, {NumpyLibrary(), which == kScalar});
    case kAsk: {
      std::vector<PyObject*> values;
      for (size_t i = 1; i < args.size(); i++) {
        values.push_back(ConstValue(args[i]));
        if (values.back() == nullptr) return nullptr;
      }
      PyRef answer = PyRef::Steal(PyObject_Vectorcall(v->value.get(), values.data(), values.size(), nullptr));
      if (!answer) return BreakOnError("the library refuses the operands");
      keep_alive_.push_back(answer);
      return FromShadow(answer.get());
    }
    case kNoModel: {
      PyObject* reason = ConstValue(v);
      PyObject* code = reason != nullptr && args.size() > 1 ? ConstValue(args[1]) : nullptr;
      if (failure_ != Failure::kNone) return nullptr;
      return Break(PyUnicode_AsUTF8(reason),
                   code != nullptr ? BreakKindOf(PyUnicode_AsUTF8(code)) : BreakKind::kNoModel);
    }
    case kEffect: {
      PyObject* name = args.size() > 1 ? ConstValue(args[1]) : nullptr;
      if (name == nullptr) return nullptr;
      AddEffect(v, {args.begin() + 2, args.end()}, {}, PyUnicode_AsUTF8(name));
      return None();
    }
    case kSite: {
      PyObject* without = ConstValue(v);
      if (without == nullptr) return nullptr;
      const SymbolicFrame* f = UserFrame(without);
      if (f == nullptr) return Break("the caller is not among the traced frames");
      const int line = f->parts->image.instructions[static_cast<size_t>(f->pc)].position.line;
      return ConstSteal(Py_BuildValue("(OiO)", f->code->co_filename, line, f->code->co_name));
    }
    case kLater: {
      Var f = args.size() > 1 ? Look(args[1]) : nullptr;
      if (f == nullptr || f->kind != VariableKind::kObject)
        return Break("internal: no function", BreakKind::kInternal);
      Source s{SourceKind::kCall};
      s.object = ObjectOf(f->value.get());
      s.name = "later";
      std::vector<PyObject*> values;
      for (size_t i = 2; i < args.size(); i++) {
        Var operand = Look(args[i]);
        s.operands.push_back(SourceOf(operand));
        values.push_back(operand->value.get());
      }
      if (v->IsConst(Py_None)) {
        PyRef now = PyRef::Steal(PyObject_Vectorcall(f->value.get(), values.data(), values.size(), nullptr));
        if (!now) return RaiseFromPython();
        keep_alive_.push_back(now);
        return Lazy(now.get(), sources_.Intern(std::move(s)));
      }
      if (s.operands.empty()) s.detail = sources_.size();  // each time anew
      return Scalar(reinterpret_cast<PyTypeObject*>(v->value.get()), sources_.Intern(std::move(s)), nullptr);
    }
    case kRequire:
      if (v->kind != VariableKind::kTensor)
        return Break("internal: a condition that is no tensor", BreakKind::kInternal);
      return Require(v) ? None() : nullptr;
  }
  return nullptr;
}

}  // namespace thirdbook
