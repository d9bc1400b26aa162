// The instruction interpreter: one symbolic frame, one instruction at a time. See run.cc and instructions.cc.
#pragma once

#include "interpret/trace.h"

namespace thirdbook {

enum class Step : uint8_t { kNext, kJumped, kReturn, kYield, kFailed };

// Interprets single instructions of a frame.
class Interpreter {
 public:
  Interpreter(Trace& trace, SymbolicFrame& frame) : t_(trace), f_(frame) {}
  Step Execute(const Instruction& i);
  // Sends the raised exception to its handler; false when the frame has none.
  bool Unwind();

 private:
  Step ExecuteStack(const Instruction& i, bool* known);    // loads, stores, moves, jumps
  Step ExecuteBuild(const Instruction& i, bool* known);    // tuples, lists, dicts, strings, functions
  Step ExecuteAccess(const Instruction& i, bool* known);   // attributes, items, operators
  Step ExecuteCall(const Instruction& i, bool* known);     // calls, imports
  Step ExecuteControl(const Instruction& i, bool* known);  // loops, exceptions, with, match, generators
  Step Push(Var v) {
    if (v == nullptr) return Step::kFailed;
    f_.stack.push_back(v);
    return Step::kNext;
  }
  Var Pop() {
    Var v = f_.stack.back();
    f_.stack.pop_back();
    return v;
  }
  Var& Peek(int32_t n) { return f_.stack[f_.stack.size() - static_cast<size_t>(n)]; }  // 1: top
  // What STORE_FAST makes of a value: NULL unbinds.
  static Var OrUnbound(Var v) { return v->kind == VariableKind::kNull ? nullptr : v; }
  std::vector<Var> PopMany(int32_t n);
  Step Jump(int32_t target) {
    f_.pc = target;
    return Step::kJumped;
  }
  PyObject* NameAt(int32_t index) { return PyList_GET_ITEM(f_.parts->names, index); }
  PyObject* ConstAt(int32_t index) { return PyList_GET_ITEM(f_.parts->consts, index); }
  Step LoadFast(int32_t slot);
  Step PushMethod(Var attribute);
  Step MatchKeys();                     // match.cc
  Step MatchClass(int32_t positional);  // match.cc
  Step UnpackExtended(int32_t arg);
  Step NotIterable(Var v, const char* before, const char* after);
  Step Import(PyObject* name);
  Var ClassOfFrame();
  bool AddToList(Var list, Var v);
  bool AddToSet(Var set, Var v);

  Trace& t_;
  SymbolicFrame& f_;
};

}  // namespace thirdbook
