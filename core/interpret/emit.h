// Turns a finished trace into the rewritten code object: load · graph · rebuild · replay · return, or break
// and resume.
//
//   args ──load──▶ temporaries ──graph──▶ outputs ──rebuild──▶ new objects ──replay──▶ world changed
//   └──── an exception here hands the call back to the untouched frame ────┘           └─▶ return | broken op, resume
//
// In: a Trace that returned or stopped before a root instruction. Out: a code object with the argument slots
// of the original as positional parameters. Invariant: nothing outside of the function changes before the
// replay, and the replay runs no code of the user's that tracing has run already.
//
// emit.cc: the order of phases; emit_sources.cc: what sources name; emit_objects.cc and emit_containers.cc:
// new objects; emit_replay.cc: writes; emit_break.cc: broken instruction, resume.
#pragma once

#include <map>
#include <set>

#include "assemble/code_builder.h"
#include "interpret/trace.h"
#include "python/graph_object.h"

namespace thirdbook {

class Emitter {
 public:
  Emitter(Trace& trace, PyObject* graph_callable_holder);
  // False when an object cannot be made again: `retry_step()` says before which root step to break instead
  // (-1: the frame cannot be compiled, see why()).
  bool Run();
  int retry_step() const { return retry_step_; }
  const std::string& why() const { return why_; }
  BreakKind kind() const { return kind_; }  // ... of a break before that step
  PyCodeObject* TakeCode();                 // new reference or nullptr with an exception set
  const std::vector<Role>& roles() const { return roles_; }
  // The graph's outputs in order; decided while emitting. The callable is put in place of the placeholder
  // constant afterwards.
  const std::vector<ValueRef>& outputs() const { return outputs_; }
  std::vector<ArrayOutput> array_outputs() const;  // those that are arrays of other libraries
  bool needs_graph() const { return needs_graph_; }
  void SetGraphCallable(PyObject* callable);

 private:
  // --- emit.cc ---
  void Collect();
  void CollectFrom(Var v);
  // A constant that was looked up: equal ones of later calls are other objects.
  bool IsOwnCollection(Var v) const {
    return v->kind == VariableKind::kConst && v->source.defined() &&
           (v->type == &PyTuple_Type || v->type == &PyFrozenSet_Type) &&
           t_.sources().at(v->source).kind != SourceKind::kObject;
  }
  void CountSource(SourceId s);
  bool IsLate(Var v);
  bool DependsOnGraph(SourceId s);
  void EmitLoads(bool after_graph);
  void EmitGraph();
  void EmitCommits();
  bool Emit(Var v);  // pushes it
  void EmitSource(SourceId s);
  void EmitSourceBody(const Source& s);
  void LoadConst(PyObject* o);
  void LoadClass(PyTypeObject* type);
  int32_t ConstIndex(PyObject* o);
  int32_t NameIndex(PyObject* name);
  int32_t NameIndex(const char* name);
  int32_t NewTemp();
  PyObject* MethodOf(PyTypeObject* type, const char* name);  // borrowed; a constant of the code
  void Op(Opcode op, int32_t arg = 0) { code_.Emit(op, arg); }
  void CallConst(PyObject* callable) {
    LoadConst(callable);
    Op(Opcode::PUSH_NULL);
  }
  bool Fail(Var v, const std::string& why);
  bool Fail(int step, const std::string& why);
  bool FailTooDeep(Var v);

  // --- emit_objects.cc ---
  bool Build(Var v);  // pushes a new object, and remembers its slot
  bool BuildContainer(Var v);
  bool BuildInstance(Var v);
  bool BuildFunction(Var v);
  bool BuildIterator(Var v);
  void ContinueSuspended(Var v);
  bool BuildException(Var v);
  bool BuildTensor(Var v);
  bool EmitReal(PyObject* shadow_object);  // what stands in a shadow
  bool FillPending();
  bool EmitLateStates();
  bool FillContainer(Var v);
  bool FillAttributes(Var v);
  bool StoreAttribute(Var object, PyObject* name, Var value);
  bool IsSimpleElement(PyObject* shadow_object);
  void StoreSlot(Var v);

  // --- emit_replay.cc ---
  bool EmitReplay();
  bool ReplayAttribute(Write& w);
  bool ReplayDelta(Var v);
  bool ReplayShadow(Var v);
  bool ReplayList(Var v);
  bool ReplayDict(Var v);
  bool ReplayGlobals(Var v);
  bool ReplayCell(Var v);
  bool ReplayEffect(Write& w);

  // --- emit_break.cc ---
  bool EmitReturn();
  bool EmitBreak();
  bool EmitContinuation(int32_t target, int32_t depth);
  bool EmitHandler(int32_t handler, int32_t depth);
  int32_t UntouchedDepth() const;
  bool BoundAfterBreak(int32_t slot) const;
  int32_t MapSlot(const Instruction& i, int32_t slot) const;

  Trace& t_;
  SymbolicFrame& root_;
  CodeParts parts_;
  CodeBuilder code_;
  int32_t nonfree_ = 0, nfree_ = 0, temps_ = 0, argument_slots_ = 0;
  std::vector<Var> needed_;
  std::vector<Var> tried_;  // nobody needs them: only whether they can be made is seen
  Var too_deep_ = nullptr;
  std::set<Var> seen_;
  std::vector<int> source_uses_, source_slot_;
  std::vector<Var> pending_fills_;
  std::vector<std::pair<Var, PyObject*>> late_states_;  // iterators, and what __setstate__ gets; borrowed
  bool replayed_ = false;  // what the code so far emitted includes the replay, if there is any
  std::vector<ValueRef> outputs_;
  std::vector<TensorBase*> output_bases_;
  std::vector<int32_t> output_slots_;
  std::vector<Role> roles_;
  std::unordered_map<PyObject*, int32_t> const_index_;
  std::vector<PyRef> keep_;
  PyObject* placeholder_;
  bool needs_graph_ = false;
  std::map<int32_t, bool> handler_binds_;  // locals that the clean-up of a handler has bound or deleted
  bool null_on_top_ = false;               // the broken instruction leaves NULL on the stack
  int retry_step_ = -1;
  std::string why_;
  BreakKind kind_ = BreakKind::kCannotRebuild;
  std::vector<PyRef> resume_codes_;
};

}  // namespace thirdbook
