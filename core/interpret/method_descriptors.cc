// Methods of built-in types, called through their descriptors. See trace.h.
//
// In: the descriptor and its arguments, self first. Out: the result, by the model of the type: containers,
// text, generators, iterators, tensors, exceptions. Invariant: what has no model is a break.
#include <algorithm>

#include "interpret/builtins.h"
#include "python/tensor_object.h"

namespace thirdbook {

// A method of a built-in type, called with its instance first.
Var Trace::CallMethodDescriptor(PyObject* descriptor, const std::vector<Var>& args, PyObject* kwnames) {
  PyTypeObject* owner = reinterpret_cast<PyDescrObject*>(descriptor)->d_type;
  PyObject* name = reinterpret_cast<PyDescrObject*>(descriptor)->d_name;
  const char* text = PyUnicode_AsUTF8(name);
  if (args.empty())
    return Break({"method '", text, "' of '", owner->tp_name, "' is called without its instance"},
                 BreakKind::kPythonRaises);
  Var self = Look(args[0]);
  if (PyType_IsSubtype(self->type, owner) == 0) {
    return Break(
        {"method '", text, "' of '", owner->tp_name, "' is called on a '", self->type->tp_name, "'"});
  }
  size_t n = args.size();
  if (self->kind == VariableKind::kTensor) return TensorMethod(descriptor, text, args, kwnames);
  if (owner == &PyBaseObject_Type || owner == &PyType_Type) {
    if (kwnames == nullptr) {
      if (strcmp(text, "__init__") == 0) {
        if (n == 1) return None();
        return Break("object.__init__() with arguments");
      }
      if (strcmp(text, "__setattr__") == 0 && n == 3 && owner == &PyBaseObject_Type) {
        PyObject* key = ConstValue(args[1]);
        return key != nullptr && IsName(key) && AcceptsObjectSetattr(self) &&
                       SetAttrGeneric(self, key, args[2])
                   ? None()
                   : nullptr;
      }
      if (strcmp(text, "__delattr__") == 0 && n == 2 && owner == &PyBaseObject_Type) {
        PyObject* key = ConstValue(args[1]);
        return key != nullptr && IsName(key) && AcceptsObjectSetattr(self) &&
                       SetAttrGeneric(self, key, nullptr)
                   ? None()
                   : nullptr;
      }
      if (strcmp(text, "__getattribute__") == 0 && n == 2) {
        PyObject* key = ConstValue(args[1]);
        if (key == nullptr || !IsName(key)) return nullptr;
        return owner == &PyType_Type ? TypeGetAttr(self, key) : GetAttrGeneric(self, key);
      }
      if (strcmp(text, "__eq__") == 0 && n == 2)
        return self == Look(args[1]) ? Bool(true) : Const(Py_NotImplemented);
      if (strcmp(text, "__ne__") == 0 && n == 2) {
        Var equal = CallMethod(self, "__eq__", {args[1]});
        if (equal == nullptr || equal->IsConst(Py_NotImplemented)) return equal;
        int truth = Truth(equal);
        return truth < 0 ? nullptr : Bool(truth == 0);
      }
      if ((strcmp(text, "__lt__") == 0 || strcmp(text, "__le__") == 0 || strcmp(text, "__gt__") == 0 ||
           strcmp(text, "__ge__") == 0) &&
          n == 2) {
        return Const(Py_NotImplemented);
      }
      if (strcmp(text, "__str__") == 0 && n == 1) return Repr(self);
      if (strcmp(text, "__format__") == 0 && n == 2) {
        PyObject* spec = ConstValue(args[1]);
        if (spec == nullptr) return nullptr;
        if (PyUnicode_Check(spec) && PyUnicode_GET_LENGTH(spec) == 0) return Str(self);
      }
      if (strcmp(text, "__init_subclass__") == 0) return None();
    }
    if (owner == &PyType_Type && strcmp(text, "__call__") == 0) {
      return Construct(self, std::vector<Var>(args.begin() + 1, args.end()), kwnames, true);
    }
    return Break({"method '", text, "' of '", owner->tp_name, "'"});
  }
  if (IsContainerType(self->type) && (IsContainerType(owner)))
    return ContainerMethod(descriptor, name, args, kwnames);
  if (PyType_IsSubtype(self->type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) != 0) {
    if (strcmp(text, "__init__") == 0 && kwnames == nullptr && self->kind == VariableKind::kNew) {
      self->items.assign(args.begin() + 1, args.end());
      return None();
    }
    if (strcmp(text, "__str__") == 0 || strcmp(text, "__repr__") == 0)
      return ExceptionText(self, text[2] == 'r');
    if (strcmp(text, "with_traceback") == 0 && n == 2 && Look(args[1])->IsConst(Py_None)) return self;
    return Break({"method '", text, "' of an exception"}, BreakKind::kKeptByPython);
  }
  if (self->type == &PyTuple_Type ||
      (PyType_IsSubtype(self->type, &PyTuple_Type) != 0 && owner == &PyTuple_Type)) {
    if (strcmp(text, "__getitem__") == 0 && n == 2) return GetItem(self, args[1]);
    std::vector<Var> items;
    if (!Iterate(self, &items)) return nullptr;
    std::vector<Var> plain = {NewTuple(items)};
    plain.insert(plain.end(), args.begin() + 1, args.end());
    return CallReal(descriptor, plain, kwnames);
  }
  // They give the very objects back: the text where the separator is missing, the separator where it is not.
  const bool parts = strcmp(text, "partition") == 0 || strcmp(text, "rpartition") == 0;
  if (parts &&
      std::ranges::any_of(args, [&](Var v) { return !IsValue(Look(v)) && PlainValue(v) != nullptr; }))
    return Break({"method '", text, "' of an object that is worth a value"});
  if (failure_ != Failure::kNone) return nullptr;
  if (!IsValue(self)) {
    if (Var plain = PlainValue(self); plain != nullptr && PyType_IsSubtype(plain->type, owner) != 0)
      self = plain;
  }
  if (IsValue(self)) {
    std::vector<Var> values = args;
    values[0] = self;
    if (owner == &PyUnicode_Type && strcmp(text, "join") == 0 && n == 2 && kwnames == nullptr)
      return JoinText(self, args[1]);
    if (self->kind == VariableKind::kConst && IsLibraryValue(self->value.get())) {
      if (ReadsTheWorld(self->type, text))
        return Break({"method '", text, "' of '", self->type->tp_name, "'"}, BreakKind::kUnknownEffect);
      for (size_t i = 1; i < n; i++) {  // a function that makes the text of a match
        if (!IsValue(Look(args[i])) && PlainValue(args[i]) == nullptr)
          return Break({"method '", text, "' of '", self->type->tp_name, "' is given a '",
                        Look(args[i])->type->tp_name, "'"});
      }
    }
    return CallPure(descriptor, values, kwnames, true);
  }
  if (self->generator != nullptr) {
    if (strcmp(text, "send") == 0 && n == 2) {
      Var v = SendGenerator(self, args[1], nullptr);
      if (v != nullptr || failure_ != Failure::kNone) return v;
      return Raise(MakeException(PyExc_StopIteration,
                                 generator_result_ != nullptr && !generator_result_->IsConst(Py_None)
                                     ? std::vector<Var>{generator_result_}
                                     : std::vector<Var>{}));
    }
    if (strcmp(text, "__next__") == 0 && n == 1) {
      Var v = SendGenerator(self, None(), nullptr);
      if (v != nullptr || failure_ != Failure::kNone) return v;
      return Raise(MakeException(PyExc_StopIteration,
                                 generator_result_ != nullptr && !generator_result_->IsConst(Py_None)
                                     ? std::vector<Var>{generator_result_}
                                     : std::vector<Var>{}));
    }
    if (strcmp(text, "__iter__") == 0) return self;
    if (strcmp(text, "close") == 0) return CloseGenerator(self);
    if (strcmp(text, "throw") == 0 && n == 2) {
      Var exception = Look(args[1]);
      if (exception->kind == VariableKind::kObject && PyType_Check(exception->value.get()))
        exception = Construct(exception, {}, nullptr);
      if (exception == nullptr) return nullptr;
      if (PyType_IsSubtype(exception->type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) == 0)
        return Break("throw() of something that is no exception", BreakKind::kPythonRaises);
      exception->raised = true;
      Var v = SendGenerator(self, nullptr, exception);
      if (v != nullptr || failure_ != Failure::kNone) return v;
      return Raise(MakeException(PyExc_StopIteration,
                                 generator_result_ != nullptr && !generator_result_->IsConst(Py_None)
                                     ? std::vector<Var>{generator_result_}
                                     : std::vector<Var>{}));
    }
  }
  if (self->kind == VariableKind::kNew && self->value) {
    if (strcmp(text, "__iter__") == 0 && PyIter_Check(self->value.get())) return self;
    if (strcmp(text, "__next__") == 0) {
      Var v = Next(self);
      if (v != nullptr || failure_ != Failure::kNone) return v;
      return Raise(MakeException(PyExc_StopIteration, {}));
    }
    return CallReal(descriptor, args, kwnames);
  }
  if (self->type == &PySlice_Type && strcmp(text, "indices") == 0 && n == 2 && kwnames == nullptr) {
    PyRef slice = SliceOrShadow(self);
    PyObject* length = slice ? ConstValue(args[1]) : nullptr;
    if (length == nullptr) return failure_ != Failure::kNone ? nullptr : RaiseFromPython();
    PyObject* values[] = {slice.get(), length};
    return ConstSteal(PyObject_Vectorcall(descriptor, values, 2, nullptr));
  }
  if (IsHandedInIterator(self) && n == 1) {
    if (strcmp(text, "__iter__") == 0) return self;
    if (strcmp(text, "__next__") == 0) {
      Var v = Next(self);
      return v != nullptr || failure_ != Failure::kNone ? v : Raise(MakeException(PyExc_StopIteration, {}));
    }
  }
  if (self->type == &PyFunction_Type && strcmp(text, "__get__") == 0 && n >= 2) {
    return Look(args[1])->IsConst(Py_None) ? self : NewMethod(self, args[1]);
  }
  if (self->type == &PyProperty_Type && strcmp(text, "__get__") == 0 && self->kind == VariableKind::kObject &&
      n >= 2) {
    PyRef getter = PyRef::Steal(PyObject_GetAttrString(self->value.get(), "fget"));
    if (getter && PyFunction_Check(getter.get())) return Call(Fixed(getter.get()), {args[1]});
  }
  if (strcmp(text, "__call__") == 0)
    return Call(self, std::vector<Var>(args.begin() + 1, args.end()), kwnames);
  if (IsCacheWrapperType(owner) && self->kind == VariableKind::kObject && kwnames == nullptr && n == 1) {
    Var result = CacheMethod(self, descriptor, text);
    if (result != nullptr || failure_ != Failure::kNone) return result;
  }
  if (self->kind == VariableKind::kObject && kwnames == nullptr &&
      PyContextVar_CheckExact(self->value.get())) {
    Var result = ContextVarMethod(descriptor, text, args);
    if (result != nullptr || failure_ != Failure::kNone) return result;
  }
  if (kwnames == nullptr) {
    Var locked = LockMethod(owner, text, args);
    if (locked != nullptr || failure_ != Failure::kNone) return locked;
    Var written = StreamMethod(descriptor, text, args);
    if (written != nullptr || failure_ != Failure::kNone) return written;
  }
  return Break({"method '", text, "' of '", self->type->tp_name, "'"});
}

}  // namespace thirdbook
