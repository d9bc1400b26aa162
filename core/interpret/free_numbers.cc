// Numbers that vary and that an operation takes as an attribute, which would be part of the graph: computed
// as operands instead.
//
//   add(a, b, alpha=k)   ->  add(a, mul(b, k))         as the kernels do it
//   full(size, k)        ->  fill(full(size, 0.0), k)
//   tensor([k, 1.0])     ->  stack([fill(full([], 0.0), k), full([], 1.0)])
//
// In: calls with a symbolic number. Out: calls without, or null: there is none, or the number has to be
// fixed. Invariant: dtype and every bit of the result are those of the call as it was written.
#include "interpret/builtins.h"
#include "interpret/operators.h"
#include "interpret/trace.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

constexpr size_t kMaxNumbers = 64;  // that tensor() takes one by one

bool Varies(Var v) { return v->kind == VariableKind::kScalar && IsNumber(v->type) && v->value; }

bool IsSequence(Var v) { return v->type != nullptr && (v->type == &PyList_Type || v->type == &PyTuple_Type); }

int Rank(PyTypeObject* type) { return type == &PyFloat_Type ? 2 : type == &PyLong_Type ? 1 : 0; }

// Where an argument stands; args.size(): it is not given.
size_t Find(const char* name, const std::vector<Var>& args, PyObject* kwnames) {
  const size_t positional = PositionalCount(args, kwnames);
  for (size_t i = positional; i < args.size(); i++) {
    PyObject* have = PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i - positional));
    if (PyUnicode_EqualToUTF8(have, name)) return i;
  }
  return args.size();
}

}  // namespace

Var Trace::CallWithFreeNumber(PyObject* function, const std::vector<Var>& args, PyObject* kwnames) {
  const OpInfo* info = reinterpret_cast<OpFunctionObject*>(function)->info;
  const bool full = info == &Info(Op::k_full);
  if (!full && ((info != &Info(Op::k_add) && info != &Info(Op::k_sub)) || kwnames == nullptr)) return nullptr;
  const size_t positional = PositionalCount(args, kwnames);
  const size_t at = full && positional > 1 ? 1 : Find(full ? "fill_value" : "alpha", args, kwnames);
  if (at == args.size() || Find("out", args, kwnames) != args.size()) return nullptr;
  Var number = Look(args[at]);
  if (!Varies(number)) return nullptr;
  std::vector<Var> others = args;
  if (full) {
    others[at] = ConstSteal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(number->type)));
    Var made = TensorCall(function, others, kwnames);
    if (made == nullptr) return nullptr;
    // What an integer's type cannot hold is refused when the number is known.
    const DType dtype = made->tensor->meta.dtype;
    if (!IsFloating(dtype) && dtype != (number->type == &PyBool_Type ? DType::kBool : DType::kInt64))
      return nullptr;
    if (!IsFloating(dtype) && number->type == &PyFloat_Type) return nullptr;
    return TensorCall(TensorOperation("fill"), {made, number}, nullptr);
  }
  const size_t second = positional > 1 ? 1 : Find("other", args, kwnames);
  if (number->type == &PyBool_Type || positional == 0 || second == args.size()) return nullptr;
  Var a = Look(args[0]), b = Look(args[second]);
  if (a->kind != VariableKind::kTensor || b->kind != VariableKind::kTensor || IsForeign(a) || IsForeign(b) ||
      a->tensor->meta.dtype != b->tensor->meta.dtype || !IsFloating(a->tensor->meta.dtype))
    return nullptr;
  others[second] = TensorCall(TensorOperation("mul"), {b, number}, nullptr);
  if (others[second] == nullptr) return nullptr;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(at));
  const Py_ssize_t names = PyTuple_GET_SIZE(kwnames), gone = static_cast<Py_ssize_t>(at - positional);
  PyRef kept = PyRef::Steal(PyTuple_New(names - 1));
  for (Py_ssize_t i = 0; i < names; i++) {
    if (i != gone) PyTuple_SET_ITEM(kept.get(), i - (i > gone), Py_NewRef(PyTuple_GET_ITEM(kwnames, i)));
  }
  return TensorCall(function, others, names > 1 ? kept.get() : nullptr);
}

// The numbers of nested lists, in order, and whether one of them is free; false: other things are among them.
bool Trace::ListNumbers(Var data, std::vector<Var>* numbers, bool* free) {
  Var v = Look(data);
  if (v->type != nullptr && IsNumber(v->type) && (v->kind == VariableKind::kConst || Varies(v))) {
    numbers->push_back(v);
    *free = *free || v->kind != VariableKind::kConst;
    return numbers->size() <= kMaxNumbers;
  }
  std::vector<Var> items;
  if (!IsSequence(v) || !Iterate(v, &items)) return false;
  for (Var item : items) {
    if (!ListNumbers(item, numbers, free)) return false;
  }
  return true;
}

Var Trace::StackNumbers(Var data, Var dtype, Var common) {
  Var v = Look(data);
  static PyObject* dtype_name = Py_BuildValue("(s)", "dtype");
  if (!IsSequence(v)) {
    Var number =
        v->kind == VariableKind::kConst && v->type != common->type
            ? ConstSteal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(common->type), v->value.get()))
            : v;
    std::vector<Var> args = {NewTuple({}), number};
    if (dtype != nullptr) args.push_back(dtype);
    return number == nullptr
               ? nullptr
               : TensorCall(TensorOperation("full"), args, dtype != nullptr ? dtype_name : nullptr);
  }
  std::vector<Var> items, rows;
  if (!Iterate(v, &items)) return nullptr;
  for (Var item : items) {
    rows.push_back(StackNumbers(item, dtype, common));
    if (rows.back() == nullptr) return nullptr;
    if (rows.back()->tensor->meta.sizes != rows[0]->tensor->meta.sizes) return nullptr;
  }
  return TensorCall(TensorOperation("stack"), {NewTuple(rows)}, nullptr);
}

Var Trace::TensorOfFreeNumbers(const std::vector<Var>& args, PyObject* kwnames) {
  const size_t at = Find("dtype", args, kwnames);
  if (args.size() != (at == args.size() ? 1u : 2u) || PositionalCount(args, kwnames) != 1) return nullptr;
  std::vector<Var> numbers;
  bool free = false;
  if (!ListNumbers(args[0], &numbers, &free) || !free) return nullptr;
  Var common = numbers[0];
  for (Var number : numbers) {
    if (Rank(number->type) > Rank(common->type)) common = number;
  }
  Var dtype = at == args.size() ? nullptr : args[at];
  if (dtype == nullptr || Look(dtype)->type == Py_TYPE(Py_None)) {
    // Ints among floats become floats: all take the dtype that a float takes.
    Var zero = ConstSteal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(common->type)));
    Var made = TensorCall(TensorOperation("full"), {NewTuple({}), zero}, nullptr);
    if (made == nullptr) return nullptr;
    dtype = Const(DTypeObject(made->tensor->meta.dtype));
  }
  return StackNumbers(args[0], dtype, common);
}

}  // namespace thirdbook
