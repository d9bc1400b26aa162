// The loop of the symbolic interpreter, stack and control instructions. See run.h; the other instructions are
// in instructions.cc.
//
// In: a frame with its arguments bound. Out: a returned or yielded variable, or a failure with the frame as
// it was before the instruction's operands were taken only for root frames that are run again (compile.cc).
// Invariant: every opcode of CPython 3.14 is known here or breaks by name.
#include "interpret/run.h"

#include "interpret/builtins.h"

namespace thirdbook {

namespace {
constexpr int kMaxInstructions = 200000;
}  // namespace

RunResult Trace::Run(SymbolicFrame& frame) {
  Interpreter interpreter(*this, frame);
  while (true) {
    if (frame.is_root) {
      root_pcs_.push_back(frame.pc);
      if (root_step_ == break_at_) {
        reached_break_ = true;
        return RunResult::kFailed;
      }
    }
    const Instruction& instruction = frame.parts->image.instructions[static_cast<size_t>(frame.pc)];
    Step step;
    if ((instructions_ & 0xFF) == 0xFF && PyErr_CheckSignals() != 0) {
      failure_ = Failure::kFatal;
      return RunResult::kFailed;
    }
    if (++instructions_ > kMaxInstructions) {
      Break({"the trace passes ", std::to_string(kMaxInstructions), " instructions"}, BreakKind::kLimit);
      step = Step::kFailed;
    } else {
      step = interpreter.Execute(instruction);
    }
    if (failure_ != Failure::kNone && step != Step::kFailed)
      step = Step::kFailed;  // looking at a value found a break
    bool goes_on = step == Step::kNext || step == Step::kJumped;
    if (frame.is_root && goes_on && !KeepsLoudArguments()) step = Step::kFailed;
    switch (step) {
      case Step::kNext: frame.pc++; break;
      case Step::kJumped: break;
      case Step::kReturn: returned_ = frame.stack.back(); return RunResult::kReturned;
      case Step::kYield:
        returned_ = frame.stack.back();
        frame.stack.pop_back();
        frame.pc++;
        return RunResult::kYielded;
      case Step::kFailed:
        if (failure_ == Failure::kNone)
          Break({"internal: no reason for the failure of ", OpcodeName(instruction.op)},
                BreakKind::kInternal);
        if (failure_ == Failure::kRaise && interpreter.Unwind()) break;
        return RunResult::kFailed;
    }
    if (frame.is_root) root_step_++;
  }
}

RunResult Trace::ThrowInto(SymbolicFrame& frame, Var exception) {
  // As if the instruction after the yield raised it.
  Interpreter interpreter(*this, frame);
  const std::vector<Instruction>& code = frame.parts->image.instructions;
  // A delegating generator hands it on.
  if (frame.pc < static_cast<int>(code.size()) && frame.stack.size() >= 2) {
    Var inner = frame.stack[frame.stack.size() - 2];
    const Instruction& next = code[static_cast<size_t>(frame.pc)];
    bool delegating = next.op == Opcode::RESUME && (next.arg & 3) == 2;
    if (delegating) {
      Break("throw() or close() of a generator that delegates with yield from");
      return RunResult::kFailed;
    }
    (void)inner;
  }
  Raise(exception);
  if (!interpreter.Unwind()) return RunResult::kFailed;
  return Run(frame);
}

bool Interpreter::Unwind() {
  const ExceptionRegion* found = nullptr;
  for (const ExceptionRegion& r : f_.parts->image.regions) {
    if (f_.pc >= r.begin && f_.pc < r.end) found = &r;
  }
  if (found == nullptr) return false;
  Var exception = t_.TakeRaised();
  const Instruction& raiser = f_.parts->image.instructions[static_cast<size_t>(f_.pc)];
  bool again = raiser.op == Opcode::RERAISE || (raiser.op == Opcode::RAISE_VARARGS && raiser.arg == 0);
  if (exception->kind == VariableKind::kObject && !again) {
    t_.Break("an exception object that was there before the call is raised and caught",
             BreakKind::kKeptByPython);
    return false;
  }
  f_.stack.resize(static_cast<size_t>(found->depth), nullptr);
  if (found->push_lasti)
    f_.stack.push_back(
        t_.ConstSteal(PyLong_FromLong(f_.parts->image.instructions[static_cast<size_t>(f_.pc)].offset / 2)));
  f_.stack.push_back(exception);
  f_.pc = found->handler;
  return true;
}

bool Trace::HandlesExceptions() const {
  for (const SymbolicFrame* f : frame_stack_) {
    for (const ExceptionRegion& r : f->parts->image.regions) {
      if (f->pc >= r.begin && f->pc < r.end) return true;
    }
  }
  return false;
}

std::vector<Var> Interpreter::PopMany(int32_t n) {
  std::vector<Var> out(f_.stack.end() - n, f_.stack.end());
  f_.stack.resize(f_.stack.size() - static_cast<size_t>(n));
  return out;
}

Step Interpreter::Execute(const Instruction& i) {
  bool known = true;
  Step step = ExecuteStack(i, &known);
  if (known) return step;
  known = true;
  step = ExecuteAccess(i, &known);
  if (known) return step;
  known = true;
  step = ExecuteCall(i, &known);
  if (known) return step;
  known = true;
  step = ExecuteBuild(i, &known);
  if (known) return step;
  known = true;
  step = ExecuteControl(i, &known);
  if (known) return step;
  t_.Break({"instruction ", OpcodeName(i.op)});
  return Step::kFailed;
}

Step Interpreter::LoadFast(int32_t slot) {
  Var v = f_.locals[static_cast<size_t>(slot)];
  if (v == nullptr) {
    t_.RaiseNew(PyExc_UnboundLocalError, {"cannot access local variable '",
                                          PyUnicode_AsUTF8(f_.parts->locals[static_cast<size_t>(slot)]),
                                          "' where it is not associated with a value"});
    return Step::kFailed;
  }
  return Push(v);
}

Step Interpreter::ExecuteStack(const Instruction& i, bool* known) {
  int32_t arg = i.arg;
  auto local = [&](int32_t slot) -> Var& { return f_.locals[static_cast<size_t>(slot)]; };
  switch (i.op) {
    case Opcode::NOP:
    case Opcode::NOT_TAKEN:
    case Opcode::RESUME:
    case Opcode::COPY_FREE_VARS: return Step::kNext;
    case Opcode::POP_TOP:
    case Opcode::POP_ITER:
    case Opcode::END_FOR: Pop(); return Step::kNext;
    case Opcode::PUSH_NULL: return Push(t_.Null());
    case Opcode::COPY: return Push(Peek(arg));
    case Opcode::SWAP: std::swap(Peek(1), Peek(arg)); return Step::kNext;
    case Opcode::LOAD_CONST: return Push(t_.Fixed(ConstAt(arg)));
    case Opcode::LOAD_SMALL_INT: return Push(t_.ConstSteal(PyLong_FromLong(arg)));
    case Opcode::LOAD_COMMON_CONSTANT: {
      PyObject* builtins = PyEval_GetBuiltins();
      PyObject* const values[] = {
          PyExc_AssertionError, PyExc_NotImplementedError, reinterpret_cast<PyObject*>(&PyTuple_Type),
          PyDict_GetItemString(builtins, "all"), PyDict_GetItemString(builtins, "any")};
      return arg < 5 ? Push(t_.Fixed(values[arg])) : (*known = false, Step::kFailed);
    }
    case Opcode::LOAD_FAST:
    case Opcode::LOAD_FAST_BORROW:
    case Opcode::LOAD_FAST_CHECK: return LoadFast(arg);
    case Opcode::LOAD_FAST_LOAD_FAST:
    case Opcode::LOAD_FAST_BORROW_LOAD_FAST_BORROW: {
      Step s = LoadFast(arg >> 4);
      return s == Step::kNext ? LoadFast(arg & 15) : s;
    }
    case Opcode::LOAD_FAST_AND_CLEAR: {
      Var v = local(arg);
      local(arg) = nullptr;
      return Push(v != nullptr ? v : t_.Null());
    }
    case Opcode::STORE_FAST: {
      local(arg) = OrUnbound(Pop());
      return Step::kNext;
    }
    case Opcode::STORE_FAST_LOAD_FAST: {
      local(arg >> 4) = OrUnbound(Pop());
      return LoadFast(arg & 15);
    }
    case Opcode::STORE_FAST_STORE_FAST:
      local(arg >> 4) = OrUnbound(Pop());
      local(arg & 15) = OrUnbound(Pop());
      return Step::kNext;
    case Opcode::DELETE_FAST:
      if (local(arg) == nullptr) return LoadFast(arg);
      local(arg) = nullptr;
      return Step::kNext;
    case Opcode::MAKE_CELL: {
      Var cell = t_.New(&PyCell_Type);
      cell->items = {local(arg)};
      local(arg) = cell;
      return Step::kNext;
    }
    case Opcode::LOAD_DEREF:
    case Opcode::LOAD_FROM_DICT_OR_DEREF: {
      if (i.op == Opcode::LOAD_FROM_DICT_OR_DEREF) break;
      Var v = t_.CellContents(local(arg), f_.parts->locals[static_cast<size_t>(arg)]);
      if (v == nullptr && t_.failure() == Failure::kRaise &&
          (f_.parts->local_kinds[static_cast<size_t>(arg)] & kLocalFree) == 0) {
        t_.TakeRaised();
        t_.RaiseNew(PyExc_UnboundLocalError, {"cannot access local variable '",
                                              PyUnicode_AsUTF8(f_.parts->locals[static_cast<size_t>(arg)]),
                                              "' where it is not associated with a value"});
      }
      return Push(v);
    }
    case Opcode::STORE_DEREF: {
      Var v = Pop();
      return t_.SetCell(local(arg), v) ? Step::kNext : Step::kFailed;
    }
    case Opcode::DELETE_DEREF:
      if (t_.CellContents(local(arg), f_.parts->locals[static_cast<size_t>(arg)]) == nullptr)
        return Step::kFailed;
      return t_.SetCell(local(arg), nullptr) ? Step::kNext : Step::kFailed;
    case Opcode::LOAD_GLOBAL: {
      PyObject* name = NameAt(arg >> 1);
      Var v = t_.GlobalLookup(f_.globals, name);
      if (v == nullptr) {
        if (t_.failure() == Failure::kNone)
          t_.RaiseNew(PyExc_NameError, {"name '", PyUnicode_AsUTF8(name), "' is not defined"});
        return Step::kFailed;
      }
      Push(v);
      return (arg & 1) != 0 ? Push(t_.Null()) : Step::kNext;
    }
    case Opcode::STORE_GLOBAL:
      return t_.BuiltinSetItem(t_.Look(f_.globals), t_.Const(NameAt(arg)), Pop()) ? Step::kNext
                                                                                  : Step::kFailed;
    case Opcode::DELETE_GLOBAL: {
      if (t_.BuiltinSetItem(t_.Look(f_.globals), t_.Const(NameAt(arg)), nullptr)) return Step::kNext;
      if (t_.RaisedMatches(PyExc_KeyError)) {
        t_.TakeRaised();
        t_.RaiseNew(PyExc_NameError, {"name '", PyUnicode_AsUTF8(NameAt(arg)), "' is not defined"});
      }
      return Step::kFailed;
    }
    case Opcode::JUMP_FORWARD:
    case Opcode::JUMP_BACKWARD:
    case Opcode::JUMP_BACKWARD_NO_INTERRUPT: return Jump(arg);
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::POP_JUMP_IF_FALSE: {
      int truth = t_.Truth(Peek(1));
      if (truth < 0) return Step::kFailed;
      Pop();
      return (truth == 1) == (i.op == Opcode::POP_JUMP_IF_TRUE) ? Jump(arg) : Step::kNext;
    }
    case Opcode::POP_JUMP_IF_NONE:
    case Opcode::POP_JUMP_IF_NOT_NONE: {
      bool none = t_.Look(Pop())->IsConst(Py_None);
      return none == (i.op == Opcode::POP_JUMP_IF_NONE) ? Jump(arg) : Step::kNext;
    }
    case Opcode::RETURN_VALUE: return Step::kReturn;
    default: break;
  }
  *known = false;
  return Step::kFailed;
}

Step Interpreter::ExecuteControl(const Instruction& i, bool* known) {
  int32_t arg = i.arg;
  switch (i.op) {
    case Opcode::GET_ITER: return Push(t_.GetIter(Pop()));
    case Opcode::FOR_ITER: {
      Var v = t_.Next(Peek(1));
      if (v != nullptr) return Push(v);
      if (t_.failure() != Failure::kNone) {
        if (!t_.RaisedMatches(PyExc_StopIteration)) return Step::kFailed;
        t_.ClearFailure();
      }
      return Jump(arg + 1);  // past END_FOR; POP_ITER takes the iterator
    }
    case Opcode::RETURN_GENERATOR: return Push(t_.Null());
    case Opcode::YIELD_VALUE:
      if (!f_.is_generator) break;
      return Step::kYield;
    case Opcode::GET_YIELD_FROM_ITER: return Push(t_.GetIter(Pop()));
    case Opcode::SEND: {
      Var value = Pop();
      Var receiver = t_.Look(Peek(1));
      Var v;
      if (receiver->generator != nullptr) {
        v = t_.SendGenerator(receiver, value, nullptr);
      } else if (t_.Look(value)->IsConst(Py_None)) {
        v = t_.Next(receiver);
        if (v == nullptr && t_.failure() == Failure::kNone && receiver->kind == VariableKind::kNew &&
            receiver->value)
          return Push(t_.None()), Jump(arg);
      } else {
        v = t_.CallMethod(receiver, "send", {value});
      }
      if (v != nullptr) return Push(v);
      if (t_.failure() != Failure::kNone) {
        if (!t_.RaisedMatches(PyExc_StopIteration)) return Step::kFailed;
        Var stop = t_.TakeRaised();
        Push(stop->items.empty() ? t_.None() : stop->items[0]);
        return Jump(arg);
      }
      Push(t_.generator_result() != nullptr ? t_.generator_result() : t_.None());
      return Jump(arg);
    }
    case Opcode::END_SEND: {
      Var value = Pop();
      Pop();
      return Push(value);
    }
    case Opcode::PUSH_EXC_INFO: {
      Var exception = Pop();
      Push(t_.None());
      f_.handled.push_back(t_.Look(exception));
      return Push(exception);
    }
    case Opcode::POP_EXCEPT:
      Pop();
      if (!f_.handled.empty()) f_.handled.pop_back();
      return Step::kNext;
    case Opcode::CHECK_EXC_MATCH: {
      Var classes = t_.Look(Pop());
      Var exception = t_.Look(Peek(1));
      std::vector<Var> list = {classes};
      if (PyType_IsSubtype(classes->type, &PyTuple_Type) != 0) {
        list.clear();
        if (!t_.Iterate(classes, &list)) return Step::kFailed;
      }
      bool found = false;  // each must be a class, whether one before it matches or not
      for (Var c : list) {
        Var cls = t_.Look(c);
        if (cls->kind != VariableKind::kObject || !PyType_Check(cls->value.get()) ||
            PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls->value.get()),
                             reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) == 0) {
          t_.RaiseNew(PyExc_TypeError,
                      "catching classes that do not inherit from BaseException is not allowed");
          return Step::kFailed;
        }
        found = found ||
                PyType_IsSubtype(exception->type, reinterpret_cast<PyTypeObject*>(cls->value.get())) != 0;
      }
      return Push(t_.Bool(found));
    }
    case Opcode::RAISE_VARARGS: {
      Var cause = arg == 2 ? Pop() : nullptr;
      if (arg == 0) {
        for (SymbolicFrame* f = &f_; f != nullptr; f = f->caller) {
          if (!f->handled.empty()) {
            t_.Raise(f->handled.back());
            return Step::kFailed;
          }
        }
        t_.Break("raise without an exception being handled in the traced code", BreakKind::kKeptByPython);
        return Step::kFailed;
      }
      Var exception = t_.Look(Pop());
      if (exception->kind == VariableKind::kObject && PyType_Check(exception->value.get())) {
        exception = t_.Call(exception, {});
        if (exception == nullptr) return Step::kFailed;
        exception = t_.Look(exception);
      }
      if (exception->kind == VariableKind::kConst || exception->kind == VariableKind::kScalar ||
          PyType_IsSubtype(exception->type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) == 0) {
        t_.RaiseNew(PyExc_TypeError, "exceptions must derive from BaseException");
        return Step::kFailed;
      }
      if (cause != nullptr) {
        cause = t_.Look(cause);
        if (cause->kind == VariableKind::kObject && PyType_Check(cause->value.get())) {
          cause = t_.Call(cause, {});
          if (cause == nullptr) return Step::kFailed;
        }
        static PyObject* cause_name = PyUnicode_InternFromString("__cause__");
        static PyObject* suppress_name = PyUnicode_InternFromString("__suppress_context__");
        t_.NoteAttribute(exception, cause_name, cause);
        t_.NoteAttribute(exception, suppress_name, t_.Bool(true));
      }
      t_.Raise(exception);
      return Step::kFailed;
    }
    case Opcode::RERAISE: {
      Var exception = t_.Look(Pop());
      t_.Raise(exception);
      return Step::kFailed;
    }
    case Opcode::LOAD_SPECIAL: {
      static const char* const kNames[] = {"__enter__", "__exit__", "__aenter__", "__aexit__"};
      if (arg > 1) break;
      Var owner = Pop();
      Var method = t_.LookupSpecial(owner, kNames[arg]);
      if (method == nullptr) {
        if (t_.failure() != Failure::kNone) return Step::kFailed;
        bool async = t_.LookupSpecial(owner, "__aenter__") != nullptr;
        if (async || t_.failure() != Failure::kNone) {
          t_.Break("an asynchronous context manager is used without async", BreakKind::kPythonRaises);
          return Step::kFailed;
        }
        PyRef name = PyRef::Steal(PyType_GetFullyQualifiedName(t_.TypeOf(owner)));
        t_.RaiseNew(PyExc_TypeError, {"'", PyUnicode_AsUTF8(name.get()),
                                      "' object does not support the context manager protocol (missed ",
                                      kNames[arg], " method)"});
        return Step::kFailed;
      }
      return PushMethod(method);
    }
    case Opcode::WITH_EXCEPT_START: {
      Var exception = t_.Look(Peek(1));
      Var exit_self = Peek(4), exit_function = Peek(5);
      std::vector<Var> args;
      if (exit_self->kind != VariableKind::kNull) args.push_back(exit_self);
      args.push_back(t_.Fixed(reinterpret_cast<PyObject*>(exception->type)));
      args.push_back(exception);
      args.push_back(t_.New(&PyTraceBack_Type));
      return Push(t_.Call(exit_function, args));
    }
    case Opcode::GET_LEN: return Push(t_.Length(Peek(1)));
    case Opcode::MATCH_MAPPING: {
      Var v = t_.Look(Peek(1));
      return Push(
          t_.Bool(v->kind != VariableKind::kTensor && PyType_HasFeature(v->type, Py_TPFLAGS_MAPPING)));
    }
    case Opcode::MATCH_SEQUENCE: {
      Var v = t_.Look(Peek(1));
      return Push(
          t_.Bool(v->kind != VariableKind::kTensor && PyType_HasFeature(v->type, Py_TPFLAGS_SEQUENCE)));
    }
    case Opcode::MATCH_KEYS: return MatchKeys();
    case Opcode::MATCH_CLASS: return MatchClass(arg);
    default: break;
  }
  *known = false;
  return Step::kFailed;
}

}  // namespace thirdbook
