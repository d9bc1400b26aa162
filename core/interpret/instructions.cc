// Instructions that build, access and call. See run.h.
#include "interpret/builtins.h"
#include "interpret/run.h"

namespace thirdbook {

Step Interpreter::ExecuteAccess(const Instruction& i, bool* known) {
  int32_t arg = i.arg;
  switch (i.op) {
    case Opcode::BINARY_OP: {
      Var b = Pop(), a = Pop();
      return Push(t_.BinaryOp(arg, a, b));
    }
    case Opcode::UNARY_NEGATIVE: return Push(t_.UnaryOp(kUnaryNegative, Pop()));
    case Opcode::UNARY_INVERT: return Push(t_.UnaryOp(kUnaryInvert, Pop()));
    case Opcode::UNARY_NOT: return Push(t_.UnaryOp(kUnaryNot, Pop()));
    case Opcode::TO_BOOL: return Push(t_.ToBool(Pop()));
    case Opcode::COMPARE_OP: {
      Var b = Pop(), a = Pop();
      Var v = t_.Compare(arg >> 5, a, b);
      return Push(v != nullptr && (arg & 16) != 0 ? t_.ToBool(v) : v);
    }
    case Opcode::IS_OP: {
      Var b = Pop(), a = Pop();
      Var v = t_.IsSame(a, b);
      return Push(v != nullptr && arg != 0 ? t_.UnaryOp(kUnaryNot, v) : v);
    }
    case Opcode::CONTAINS_OP: {
      Var container = Pop(), item = Pop();
      Var v = t_.Contains(container, item);
      return Push(v != nullptr && arg != 0 ? t_.UnaryOp(kUnaryNot, v) : v);
    }
    case Opcode::BINARY_SLICE:
    case Opcode::STORE_SLICE: {
      Var slice = t_.New(&PySlice_Type);
      Var stop = Pop(), start = Pop();
      slice->items = {start, stop, t_.None()};
      Var container = Pop();
      if (i.op == Opcode::BINARY_SLICE) return Push(t_.GetItem(container, slice));
      return t_.SetItem(container, slice, Pop()) ? Step::kNext : Step::kFailed;
    }
    case Opcode::STORE_SUBSCR: {
      Var key = Pop(), container = Pop(), value = Pop();
      return t_.SetItem(container, key, value) ? Step::kNext : Step::kFailed;
    }
    case Opcode::DELETE_SUBSCR: {
      Var key = Pop(), container = Pop();
      return t_.SetItem(container, key, nullptr) ? Step::kNext : Step::kFailed;
    }
    case Opcode::LOAD_ATTR: {
      Var v = t_.GetAttr(Pop(), NameAt(arg >> 1));
      if (v == nullptr) return Step::kFailed;
      return (arg & 1) != 0 ? PushMethod(v) : Push(v);
    }
    case Opcode::STORE_ATTR: {
      Var object = Pop(), value = Pop();
      return t_.SetAttr(object, NameAt(arg), value) ? Step::kNext : Step::kFailed;
    }
    case Opcode::DELETE_ATTR: return t_.SetAttr(Pop(), NameAt(arg), nullptr) ? Step::kNext : Step::kFailed;
    case Opcode::LOAD_SUPER_ATTR: {
      Var self = Pop(), cls = Pop();
      Var super_type = t_.Look(Pop());
      if (super_type->kind != VariableKind::kObject ||
          super_type->value.get() != reinterpret_cast<PyObject*>(&PySuper_Type)) {
        t_.Break("super is not the built-in one");
        return Step::kFailed;
      }
      Var v = t_.SuperGetAttr(cls, self, NameAt(arg >> 2));
      if (v == nullptr) return Step::kFailed;
      return (arg & 1) != 0 ? PushMethod(v) : Push(v);
    }
    case Opcode::FORMAT_SIMPLE: return Push(t_.Format(Pop(), nullptr));
    case Opcode::FORMAT_WITH_SPEC: {
      Var spec = Pop();
      return Push(t_.Format(Pop(), spec));
    }
    case Opcode::CONVERT_VALUE: {
      Var v = Pop();
      if (arg == 1) return Push(t_.Str(v));
      if (arg == 2) return Push(t_.Repr(v));
      Var text = t_.Repr(v);
      PyObject* value = text != nullptr ? t_.ConstValue(text) : nullptr;
      if (value == nullptr) return Step::kFailed;
      return Push(t_.ConstSteal(PyUnicode_FromString(PyBytes_AsString(
          PyRef::Steal(PyUnicode_AsEncodedString(value, "ascii", "backslashreplace")).get()))));
    }
    default: break;
  }
  *known = false;
  return Step::kFailed;
}

// A method found on an object, as LOAD_ATTR leaves it: function and self, or the attribute and NULL.
Step Interpreter::PushMethod(Var attribute) {
  Var v = attribute;
  while (v->forward != nullptr) v = v->forward;
  if (v->kind == VariableKind::kNew && v->type == &PyMethod_Type && v->attributes.empty()) {
    Push(v->items[0]);
    return Push(v->items[1]);
  }
  Push(attribute);
  return Push(t_.Null());
}

Var Interpreter::ClassOfFrame() {
  for (size_t s = 0; s < f_.parts->locals.size(); s++) {
    if ((f_.parts->local_kinds[s] & kLocalFree) != 0 &&
        PyUnicode_CompareWithASCIIString(f_.parts->locals[s], "__class__") == 0) {
      return t_.CellContents(f_.locals[s], f_.parts->locals[s]);
    }
  }
  return t_.Break("super() without a class", BreakKind::kPythonRaises);
}

// Whether a module that is loaded has all the names, of which some could be submodules that are not.
static bool HasNames(PyObject* name, PyObject* from) {
  PyObject* module = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  for (Py_ssize_t i = 0; module != nullptr && PyModule_Check(module) && i < PyTuple_GET_SIZE(from); i++) {
    if (PyDict_Contains(PyModule_GetDict(module), PyTuple_GET_ITEM(from, i)) != 1) return false;
  }
  return true;
}

Step Interpreter::ExecuteCall(const Instruction& i, bool* known) {
  int32_t arg = i.arg;
  switch (i.op) {
    case Opcode::CALL:
    case Opcode::CALL_KW: {
      PyObject* kwnames = nullptr;
      if (i.op == Opcode::CALL_KW) {
        kwnames = t_.ConstValue(Pop());
        if (kwnames == nullptr) return Step::kFailed;
      }
      std::vector<Var> args = PopMany(arg);
      Var self = Pop();
      Var callable = Pop();
      if (self->kind != VariableKind::kNull) args.insert(args.begin(), self);
      Var c = t_.LookCallable(callable);
      if (args.empty() && c->kind == VariableKind::kObject &&
          c->value.get() == reinterpret_cast<PyObject*>(&PySuper_Type)) {
        Var cls = ClassOfFrame();
        if (cls == nullptr) return Step::kFailed;
        Var first = f_.locals.empty() ? nullptr : f_.locals[0];
        if (first != nullptr && (f_.parts->local_kinds[0] & kLocalCell) != 0 &&
            t_.Look(first)->type == &PyCell_Type)
          first = t_.CellContents(first, f_.parts->locals[0]);
        if (first == nullptr)
          return t_.failure() == Failure::kNone
                     ? (t_.Break("super() without arguments has no self", BreakKind::kPythonRaises),
                        Step::kFailed)
                     : Step::kFailed;
        args = {cls, first};
      }
      return Push(t_.Call(callable, args, kwnames));
    }
    case Opcode::CALL_FUNCTION_EX: {
      Var kwargs = Pop();
      Var positional = Pop();
      Pop();  // NULL
      Var callable = Pop();
      std::vector<Var> args;
      if (!t_.Iterate(positional, &args)) {
        if (t_.RaisedMatches(PyExc_TypeError)) {
          t_.ClearFailure();
          t_.Break("* of something that cannot be iterated over", BreakKind::kPythonRaises);
        }
        return Step::kFailed;
      }
      PyRef names;
      if (kwargs->kind != VariableKind::kNull) {
        kwargs = t_.Look(kwargs);
        if (!t_.IsContainer(kwargs) && kwargs->dict_of == nullptr) {
          t_.Break("** of something that is no dict", BreakKind::kPythonRaises);
          return Step::kFailed;
        }
        if (!t_.EnsureShadow(kwargs)) return Step::kFailed;
        std::vector<PyObject*> keys;
        PyObject *key, *value;
        Py_ssize_t position = 0;
        PyRef holder = kwargs->shadow;
        while (PyDict_Next(holder.get(), &position, &key, &value) != 0) {
          if (!PyUnicode_CheckExact(key)) {
            Var name = t_.FromShadow(key);
            if (name != nullptr && t_.TypeOf(name) != nullptr &&
                PyType_IsSubtype(t_.TypeOf(name), &PyUnicode_Type)) {
              t_.Break("a keyword is a text of a subclass");
            } else if (name != nullptr) {
              t_.RaiseNew(PyExc_TypeError, "keywords must be strings");
            }
            return Step::kFailed;
          }
          Var v = t_.FromShadow(value);
          if (v == nullptr) return Step::kFailed;
          args.push_back(v);
          keys.push_back(key);
        }
        names = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(keys.size())));
        for (size_t k = 0; k < keys.size(); k++)
          PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(k), Py_NewRef(keys[k]));
      }
      return Push(t_.Call(callable, args, names.get()));
    }
    case Opcode::CALL_INTRINSIC_1: {
      Var v = Pop();
      if (arg == 3) {
        v = t_.Look(v);
        if (PyType_IsSubtype(v->type, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)) == 0)
          return Push(v);
        PyRef text = PyRef::Steal(PyUnicode_FromString("generator raised StopIteration"));
        Var error = t_.MakeException(PyExc_RuntimeError, {t_.Const(text.get())});
        static PyObject* cause_name = PyUnicode_InternFromString("__cause__");
        static PyObject* suppress_name = PyUnicode_InternFromString("__suppress_context__");
        t_.NoteAttribute(error, cause_name, v);
        t_.NoteAttribute(error, suppress_name, t_.Bool(true));
        error->context = v;
        return Push(error);
      }
      if (arg == 5) return Push(t_.UnaryOp(kUnaryPositive, v));
      if (arg == 6) {
        std::vector<Var> items;
        return t_.Iterate(v, &items) ? Push(t_.NewTuple(std::move(items))) : Step::kFailed;
      }
      static const char* const kNames[] = {"",
                                           "printing an expression",
                                           "import *",
                                           "",
                                           "async generator",
                                           "",
                                           "",
                                           "a type parameter",
                                           "a parameter specification",
                                           "a type variable tuple",
                                           "a generic class",
                                           "a type alias"};
      t_.Break({arg < 12 ? kNames[arg] : "an intrinsic of another kind", " is made"});
      return Step::kFailed;
    }
    case Opcode::LOAD_BUILD_CLASS:
      return Push(t_.Fixed(PyDict_GetItemString(PyEval_GetBuiltins(), "__build_class__")));
    case Opcode::IMPORT_NAME: {
      Var fromlist = Pop();
      Var level = Pop();
      PyObject* from = t_.ConstValue(fromlist);
      PyObject* lvl = from != nullptr ? t_.ConstValue(level) : nullptr;
      if (lvl == nullptr) return Step::kFailed;
      if (PyLong_AsLong(lvl) != 0) {
        t_.Break("a relative import", BreakKind::kImport);
        return Step::kFailed;
      }
      PyRef name = PyRef::Borrow(NameAt(arg));
      if (from == Py_None) {
        Py_ssize_t dot = PyUnicode_FindChar(name.get(), '.', 0, PyUnicode_GET_LENGTH(name.get()), 1);
        PyObject* full = PyDict_GetItemWithError(PyImport_GetModuleDict(), name.get());
        if (full == nullptr) return Import(name.get());
        if (dot > 0) {
          name = PyRef::Steal(PyUnicode_Substring(name.get(), 0, dot));
          PyObject* interned = name.release();
          PyUnicode_InternInPlace(&interned);
          name = PyRef::Steal(interned);
        }
      }
      if (from != Py_None && !HasNames(name.get(), from)) {
        t_.Break("a name that is imported is missing in its module", BreakKind::kImport);
        return Step::kFailed;
      }
      return Import(name.get());
    }
    case Opcode::IMPORT_FROM: {
      Var v = t_.GetAttr(Peek(1), NameAt(arg));
      if (v == nullptr && t_.RaisedMatches(PyExc_AttributeError)) {
        t_.ClearFailure();
        t_.Break("a name that is imported is missing in its module", BreakKind::kImport);
      }
      return Push(v);
    }
    default: break;
  }
  *known = false;
  return Step::kFailed;
}

// A module that is loaded already; others are left to CPython.
Step Interpreter::Import(PyObject* name) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* module = PyDict_GetItemWithError(modules, name);
  if (module == nullptr || !PyModule_Check(module)) {
    t_.Break({"module ", PyUnicode_AsUTF8(name), " is imported for the first time"}, BreakKind::kImport);
    return Step::kFailed;
  }
  return Push(t_.DictLookup(t_.Fixed(modules), t_.Const(name)));
}

// The collection of a comprehension or display; after a break it is an object that was there before.
bool Interpreter::AddToList(Var list, Var v) {
  static PyObject* append = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyList_Type), "append");
  return t_.CallMethodDescriptor(append, {t_.Look(list), v}, nullptr) != nullptr;
}

bool Interpreter::AddToSet(Var set, Var v) {
  static PyObject* add = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PySet_Type), "add");
  return t_.CallMethodDescriptor(add, {t_.Look(set), v}, nullptr) != nullptr;
}

Step Interpreter::ExecuteBuild(const Instruction& i, bool* known) {
  int32_t arg = i.arg;
  auto element = [&](Var v) { return PyRef::Steal(t_.ElementShadow(v)); };
  auto failed = [&] {
    if (t_.failure() == Failure::kNone) t_.RaiseFromPython();
    return Step::kFailed;
  };
  switch (i.op) {
    case Opcode::BUILD_TUPLE: return Push(t_.NewTuple(PopMany(arg)));
    case Opcode::BUILD_LIST: {
      PyRef list = PyRef::Steal(PyList_New(0));
      for (Var v : PopMany(arg)) {
        PyRef e = element(v);
        if (!e || PyList_Append(list.get(), e.get()) != 0) return failed();
      }
      return Push(t_.NewContainer(&PyList_Type, list.release()));
    }
    case Opcode::BUILD_SET: {
      PyRef set = PyRef::Steal(PySet_New(nullptr));
      for (Var v : PopMany(arg)) {
        if (t_.Look(v)->kind == VariableKind::kScalar && !t_.Specialize(v)) return Step::kFailed;
        PyRef e = element(t_.Look(v));
        if (!e || PySet_Add(set.get(), e.get()) != 0) return failed();
      }
      return Push(t_.NewContainer(&PySet_Type, set.release()));
    }
    case Opcode::BUILD_MAP: {
      PyRef dict = PyRef::Steal(PyDict_New());
      std::vector<Var> parts = PopMany(2 * arg);
      for (size_t k = 0; k + 1 < parts.size(); k += 2) {
        if (t_.Look(parts[k])->kind == VariableKind::kScalar && !t_.Specialize(parts[k]))
          return Step::kFailed;
        PyRef key = element(t_.Look(parts[k])), value = element(parts[k + 1]);
        if (!key || !value || PyDict_SetItem(dict.get(), key.get(), value.get()) != 0) return failed();
      }
      return Push(t_.NewContainer(&PyDict_Type, dict.release()));
    }
    case Opcode::BUILD_SLICE: {
      Var slice = t_.New(&PySlice_Type);
      slice->items = PopMany(arg);
      if (arg == 2) slice->items.push_back(t_.None());
      return Push(slice);
    }
    case Opcode::BUILD_STRING: {
      std::vector<Var> parts = PopMany(arg);
      Var text = nullptr;
      for (Var part : parts) {
        text = text == nullptr ? part : t_.BinaryOp(0, text, part);
        if (text == nullptr) return Step::kFailed;
      }
      if (text == nullptr) text = t_.ConstSteal(PyUnicode_FromString(""));
      return Push(text);
    }
    case Opcode::LIST_APPEND: {
      Var v = Pop();
      return AddToList(Peek(arg), v) ? Step::kNext : failed();
    }
    case Opcode::SET_ADD: {
      Var v = t_.Look(Pop());
      return AddToSet(Peek(arg), v) ? Step::kNext : failed();
    }
    case Opcode::MAP_ADD: {
      Var value = Pop(), key = t_.Look(Pop());
      return t_.BuiltinSetItem(t_.Look(Peek(arg)), key, value) ? Step::kNext : failed();
    }
    case Opcode::LIST_EXTEND: {
      std::vector<Var> items;
      Var iterable = Pop();
      if (!t_.Iterate(iterable, &items))
        return NotIterable(iterable, "Value after * must be an iterable, not ", "");
      for (Var v : items) {
        if (!AddToList(Peek(arg), v)) return failed();
      }
      return Step::kNext;
    }
    case Opcode::SET_UPDATE: {
      // As a whole: the order of a set that is taken over is that of its table.
      static PyObject* update = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PySet_Type), "update");
      Var items = Pop();
      return t_.CallMethodDescriptor(update, {t_.Look(Peek(arg)), items}, nullptr) != nullptr ? Step::kNext
                                                                                              : failed();
    }
    case Opcode::DICT_UPDATE:
    case Opcode::DICT_MERGE: {
      Var update = t_.Look(Pop());
      if (!t_.EnsureShadow(Peek(arg))) return Step::kFailed;
      PyRef target = t_.Look(Peek(arg))->shadow;
      t_.NoteContents(t_.Look(Peek(arg)), "update", "");
      Var items = t_.CallReal(reinterpret_cast<PyObject*>(&PyDict_Type), {update}, nullptr);
      if (items == nullptr) return Step::kFailed;
      PyObject *key, *value;
      Py_ssize_t position = 0;
      while (PyDict_Next(items->shadow.get(), &position, &key, &value) != 0) {
        if (i.op == Opcode::DICT_MERGE && PyDict_Contains(target.get(), key) != 0) {
          t_.RaiseTwiceGiven(Peek(arg + 3), key);
          return Step::kFailed;
        }
        if (PyDict_SetItem(target.get(), key, value) != 0) return failed();
      }
      return Step::kNext;
    }
    case Opcode::UNPACK_SEQUENCE: {
      std::vector<Var> items;
      Var sequence = Pop();
      Var it = sequence;
      Var looked = t_.Look(sequence);
      bool endless =
          (looked->kind == VariableKind::kNew && (looked->generator != nullptr || looked->value)) ||
          t_.IsHandedInIterator(looked);
      if (endless) {
        for (int32_t k = 0; k <= arg; k++) {
          Var v = t_.Next(it);
          if (v == nullptr) {
            if (t_.failure() != Failure::kNone) return Step::kFailed;
            break;
          }
          items.push_back(v);
        }
      } else if (!t_.Iterate(sequence, &items)) {
        return NotIterable(sequence, "cannot unpack non-iterable ", " object");
      }
      const int32_t got = static_cast<int32_t>(items.size());
      if (got != arg) {
        bool counted = !endless && (looked->type == &PyTuple_Type || looked->type == &PyList_Type ||
                                    looked->type == &PyDict_Type);
        if (got < arg) {
          t_.RaiseNew(PyExc_ValueError, {"not enough values to unpack (expected ", std::to_string(arg),
                                         ", got ", std::to_string(got), ")"});
        } else {
          t_.RaiseNew(PyExc_ValueError, {"too many values to unpack (expected ", std::to_string(arg),
                                         (counted ? ", got " + std::to_string(got) : ""), ")"});
        }
        return Step::kFailed;
      }
      for (size_t k = items.size(); k-- > 0;) Push(items[k]);
      return Step::kNext;
    }
    case Opcode::UNPACK_EX: return UnpackExtended(arg);
    case Opcode::MAKE_FUNCTION: {
      PyObject* code = t_.ConstValue(Pop());
      if (code == nullptr) return Step::kFailed;
      Var f = t_.New(&PyFunction_Type);
      f->function = std::make_unique<FunctionState>();
      f->function->code = reinterpret_cast<PyCodeObject*>(code);
      f->function->globals = f_.globals;
      return Push(f);
    }
    case Opcode::SET_FUNCTION_ATTRIBUTE: {
      Var f = Pop(), value = Pop();
      FunctionState& s = *f->function;
      switch (arg) {
        case 1: s.defaults = value; break;
        case 2: s.kwdefaults = value; break;
        case 4: s.annotations = value; break;
        case 8: {
          std::vector<Var> cells;
          if (!t_.Iterate(value, &cells)) return Step::kFailed;
          s.closure = std::move(cells);
          break;
        }
        case 16: s.annotate = value; break;
        default: *known = false; return Step::kFailed;
      }
      return Push(f);
    }
    default: break;
  }
  *known = false;
  return Step::kFailed;
}

// CPython words the TypeError in its own way here.
Step Interpreter::NotIterable(Var v, const char* before, const char* after) {
  PyTypeObject* type = t_.TypeOf(v);
  bool iterable = type->tp_iter != nullptr ||
                  (type->tp_as_sequence != nullptr && type->tp_as_sequence->sq_item != nullptr);
  if (t_.RaisedMatches(PyExc_TypeError) && !iterable) {
    t_.TakeRaised();
    t_.RaiseNew(PyExc_TypeError, {before, type->tp_name, after});
  }
  return Step::kFailed;
}

Step Interpreter::UnpackExtended(int32_t arg) {
  int32_t before = arg & 255, after = arg >> 8;
  std::vector<Var> items;
  Var iterable = Pop();
  if (!t_.Iterate(iterable, &items)) return NotIterable(iterable, "cannot unpack non-iterable ", " object");
  int32_t n = static_cast<int32_t>(items.size());
  if (n < before + after) {
    t_.RaiseNew(PyExc_ValueError, {"not enough values to unpack (expected at least ",
                                   std::to_string(before + after), ", got ", std::to_string(n), ")"});
    return Step::kFailed;
  }
  for (int32_t k = n - 1; k >= n - after; k--) Push(items[static_cast<size_t>(k)]);
  PyRef list = PyRef::Steal(PyList_New(0));
  for (int32_t k = before; k < n - after; k++) {
    PyRef e = PyRef::Steal(t_.ElementShadow(items[static_cast<size_t>(k)]));
    if (!e || PyList_Append(list.get(), e.get()) != 0) return Step::kFailed;
  }
  Push(t_.NewContainer(&PyList_Type, list.release()));
  for (int32_t k = before - 1; k >= 0; k--) Push(items[static_cast<size_t>(k)]);
  return Step::kNext;
}

}  // namespace thirdbook
