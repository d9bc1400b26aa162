// One attempt to trace a frame: the state that all parts of the interpreter share, and the operations of
// Python on variables.
//
// In: a frame at its start. Out: how far tracing came (a return value, or a break before a root instruction),
// the graph, the guards and the writes that replay must make. Invariant: tracing runs no user code and
// changes nothing outside the Trace; an operation that fails gives nullptr and says why in `failure()`.
//
// The operations live by theme:
//
//   attributes     attributes.cc (reading), descriptors.cc, attribute_writes.cc, instance_dict.cc
//   calls          calls.cc, callables.cc, cached_calls.cc, refused_call.cc, method_descriptors.cc,
//                  real_calls.cc, construct.cc, standard_models.cc;
//                  built-in functions: builtin_table.cc, builtins.cc
//   values         operators.cc, comparison.cc, text.cc, match.cc, plain_values.cc
//   containers     containers.cc, container_methods.cc, shadows.cc; iteration.cc, handed_in.cc
//   tensors        tensors.cc, tensor_methods.cc, tensor_items.cc, sizes.cc, arrays.cc (of other libraries)
//   changes        writes.cc, outputs.cc, thread_state.cc, finalizers.cc
//   ends           failures.cc: breaks and exceptions
//
// run.cc and instructions.cc interpret instructions; proxy.cc lets C functions of CPython work on variables;
// emit.h turns the result into code.
#pragma once

#include <Python.h>

#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "guards/guard.h"
#include "interpret/break_kind.h"
#include "interpret/sizes.h"
#include "interpret/variable.h"
#include "ledger/mutation.h"
#include "python/frame_hook.h"
#include "python/tensor_object.h"

namespace thirdbook {

struct SymbolicFrame {
  PyCodeObject* code = nullptr;
  const CodeParts* parts = nullptr;
  Var function = nullptr;
  Var globals = nullptr;
  std::vector<Var> locals;   // localsplus: plain locals, cells
  std::vector<Var> stack;    // kNull variable for CPython's NULL
  std::vector<Var> handled;  // exceptions being handled, innermost last
  int pc = 0;
  bool is_root = false;
  bool is_generator = false;
  Var class_cell = nullptr;
  SymbolicFrame* caller = nullptr;
};

enum class Failure : uint8_t { kNone, kRaise, kBreak, kFatal };

struct BreakReason {
  std::string reason;
  BreakKind kind = BreakKind::kNoModel;
  std::vector<Site> stack;             // user frames, root first
  std::vector<std::string> functions;  // their names
  bool leaves_by_exception = false;    // not a graph break: the exception is raised by the real instruction
  int at_step = -1;                    // break before this root step instead of the current one
  bool skip_frame = false;             // cannot resume: the whole frame runs as it is
};

// A change to be replayed, in the order of its first write.
struct Write {
  enum class Kind : uint8_t { kAttribute, kContents, kCell, kEffect } kind;
  Var target;             // effect: the callable
  PyRef name;             // attribute
  std::vector<Var> args;  // effect
  std::vector<std::pair<PyRef, Var>> kwargs;
  size_t row;            // in the ledger
  Var result = nullptr;  // effect: the variable that stands for what it gives
};

enum class RunResult : uint8_t { kReturned, kYielded, kFailed };

// One level of a recursion that follows the user's data; Deep: it must not go on (a wasm stack is small, and
// its end is the end of the interpreter).
class Nesting {
 public:
  Nesting() { depth_++; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  ~Nesting() { depth_--; }
  static bool Deep(int limit = 100) { return depth_ > limit; }

 private:
  static inline int depth_ = 0;
};

// Which sizes of inputs are free, and which ints that operations on tensors take.
struct SizePolicy {
  bool dynamic = false;                        // all of them
  std::unordered_set<std::string> free_sizes;  // "L['t'].0", "L['self'].position"
};

class Trace {
 public:
  // `break_at`: root step before which to stop (from an earlier attempt); -1: run on.
  Trace(const FrameView& frame, int break_at, const SizePolicy& policy);
  ~Trace();

  // Interprets the root frame. kReturned: `result`; kFailed: break_reason() with the root's state before the
  // instruction.
  RunResult RunRoot();

  // --- state the code generator reads ---
  SymbolicFrame& root() { return root_; }
  Var result() const { return result_; }
  int break_step() const { return root_step_; }
  bool reached_break() const { return reached_break_; }
  BreakReason& break_reason() { return break_; }
  Failure failure() const { return failure_; }
  Graph& graph() { return graph_; }
  const std::vector<Var>& graph_inputs() const { return graph_inputs_; }
  std::vector<TensorBase*> WrittenInputs();
  SourceTable& sources() { return sources_; }
  GuardSet& guards() { return guards_; }
  Ledger& ledger() { return ledger_; }
  std::vector<Write>& writes() { return writes_; }
  const std::vector<PyRef>& objects() const { return objects_; }
  PyObject* object(ObjectIndex i) const { return objects_[static_cast<size_t>(i)].get(); }
  const FrameView& frame_view() const { return frame_; }
  const std::vector<Var>& existing() const { return existing_; }
  // The variable of a class that the traced code reached through its own locals; nullptr for others.
  // Rewritten code loads it from there: as a constant it would never die.
  Var LocalClass(PyTypeObject* type);
  bool uses_global_state() const { return uses_global_state_ || !graph_.nodes().empty(); }
  int instruction_count() const { return instructions_; }
  std::vector<Var>& graph_scalars() {
    return graph_scalars_;
  }  // tensors whose single element is read after the graph (GraphItem)
  PyTypeObject* SourceType(SourceId source);
  ObjectIndex ObjectOf(PyObject* object);
  SourceId ObjectSource(PyObject* object);

  // --- premises ---
  SourceId Expression(SourceKind kind, std::initializer_list<SourceId> operands, ObjectIndex object = -1,
                      std::string_view name = {}, int32_t detail = 0);
  // `object` may be null; `fact` is printed.
  void AddGuard(GuardKind kind, SourceId source, PyObject* object = nullptr, std::string_view fact = {},
                SourceId other = {});
  void GuardTruth(SourceId source, bool truth, std::string_view fact);
  void GuardLength(SourceId source, Py_ssize_t length);

  // --- making and looking at variables ---
  Var Null() { return &null_; }
  Var None() { return Const(Py_None); }
  Var Const(PyObject* value);       // borrowed; immutable
  Var ConstSteal(PyObject* value);  // null-safe: nullptr turns the Python exception into kRaise
  Var Bool(bool b) { return Const(b ? Py_True : Py_False); }
  Var Lazy(PyObject* value, SourceId source);
  Var Fixed(PyObject* object);  // reached through guarded facts or code constants: needs no guard
  Var New(PyTypeObject* type);
  Var NewTuple(std::vector<Var> items);
  Var NewContainer(PyTypeObject* type, PyObject* shadow_stolen);
  Var NewMethod(Var function, Var self);
  Var Scalar(PyTypeObject* type, SourceId source,
             PyObject* value_stolen);  // value may be null: known after the graph
  Var Look(Var v);                     // realises Lazy, follows aliases; never null
  Var LookCallable(Var v);             // the same for what is only called
  PyTypeObject* TypeOf(Var v) { return Look(v)->type; }
  bool Specialize(Var v);  // Scalar → Const by a guard; false: break
  PyObject* ConstValue(
      Var v);  // borrowed concrete immutable value, specialising scalars and tuples; null: failure set
  PyObject* TryConst(Var v);  // the same without failing or specialising scalars; null when not constant
  SourceId SourceOf(Var v);   // of Const (an object source), Scalar, Object; undefined for New
  Var FromShadow(PyObject* object);  // what stands in a shadow → variable
  PyObject* ElementShadow(Var v);    // variable → what stands in a shadow (new reference; null on failure)
  PyObject* ArgumentShadow(Var v);   // the same for a C function's argument: containers as real containers

  // --- failures ---
  // Texts of several parts are given as a list of them.
  std::nullptr_t Break(std::initializer_list<std::string_view> reason, BreakKind kind = BreakKind::kNoModel);
  std::nullptr_t Break(const char* reason, BreakKind kind = BreakKind::kNoModel) {
    return Break(std::initializer_list<std::string_view>{reason}, kind);
  }
  std::nullptr_t Raise(Var exception);
  std::nullptr_t RaiseNew(PyObject* type, std::initializer_list<std::string_view> message);
  std::nullptr_t RaiseNew(PyObject* type, const char* message) {
    return RaiseNew(type, std::initializer_list<std::string_view>{message});
  }
  std::nullptr_t RaiseTwiceGiven(Var callable, PyObject* keyword);  // refused_call.cc
  std::nullptr_t
  RaiseFromPython();  // the exception set in the interpreter → kRaise, kBreak (a proxy gave up) or kFatal
  Var TakeRaised();   // clears kRaise
  bool RaisedMatches(PyObject* type);  // kRaise of that class
  void ClearFailure() {
    failure_ = Failure::kNone;
    raised_ = nullptr;
  }
  // Sets a Python exception for the current failure so that a C function that called back unwinds.
  void FailureToPython();

  // --- operations (nullptr on failure) ---
  Var GetAttr(Var object, PyObject* name);
  Var GetAttrGeneric(Var object, PyObject* name);              // object.__getattribute__
  Var TypeGetAttr(Var type, PyObject* name);                   // type.__getattribute__
  bool SetAttr(Var object, PyObject* name, Var value);         // null value: delete
  bool SetAttrGeneric(Var object, PyObject* name, Var value);  // object.__setattr__ / __delattr__
  bool AcceptsObjectSetattr(Var object);                       // else breaks
  Var SuperGetAttr(Var cls, Var self, PyObject* name);
  // Looks up a special method on the type; null without failure when there is none. `bound` binds it.
  Var LookupSpecial(Var object, const char* name);
  PyObject* TypeLookup(PyTypeObject* type, PyObject* name, bool guard);  // borrowed; null: none
  bool IsName(PyObject* name);  // text with a UTF-8 form, as sources and messages need; else breaks
  Var Call(Var callable, const std::vector<Var>& args, PyObject* kwnames = nullptr);
  Var CallFunction(Var function, const std::vector<Var>& args, PyObject* kwnames);
  Var CallMethodDescriptor(PyObject* descriptor, const std::vector<Var>& args, PyObject* kwnames);
  std::pair<Var, Var> MethodParts(Var method);
  Var CallMethod(Var object, const char* name, const std::vector<Var>& args);
  Var Construct(Var type, const std::vector<Var>& args, PyObject* kwnames, bool skip_metaclass = false);
  // Those that are suspended inside a `try` of their own: when they are dropped, code runs.
  std::vector<Var> GeneratorsInTry();
  Var ObjectDict(Var object);            // its __dict__ as a mapping
  Var BinaryOp(int code, Var a, Var b);  // NB_*, in-place forms and subscription included
  Var UnaryOp(int code, Var a);
  Var Compare(int op, Var a, Var b);
  Var IsSame(Var a, Var b);
  Var Contains(Var container, Var item);
  int Truth(Var v);   // -1: failure
  Var ToBool(Var v);  // may stay symbolic
  Var Length(Var v);
  Var GetItem(Var object, Var key);
  bool SetItem(Var object, Var key, Var value);  // null value: delete
  Var GetIter(Var v);
  Var Next(Var iterator);  // nullptr without failure: exhausted
  bool Iterate(Var iterable, std::vector<Var>* out);
  void MarkMoved(Var v);         // C code had it: iterators that it is or holds may have been moved
  int EditsBelow(Var iterator);  // changes of the containers that notice a change under their iterator; -1:
                                 // cannot be told
  Var ViewedDict(Var view);
  Var CurrentView(Var v);
  static bool IsHandedInIterator(Var v);  // handed_in.cc
  Var NextHandedIn(Var iterator, bool note);
  Var Str(Var v);
  Var Repr(Var v);
  Var Format(Var v, Var spec);
  Var IsInstance(Var object, Var classes);
  Var IsSubclass(Var cls, Var classes);
  Var TextExpression(PyObject* function, Var v, PyObject* spec);
  SourceId TensorSnapshot(Var tensor);  // the tensor as it is now, available after the graph has run
  // The constant that a number or text of a class of the program's, a date, a pattern... computes as; null
  // without failure: it is no such object.
  Var PlainValue(Var v, bool converts);  // only where C code that wants a number takes that one too
  Var PlainValue(Var v);
  Var IndexOf(Var v);
  Var NewValue(Var cls, PyTypeObject* base, const std::vector<Var>& args, PyObject* kwnames);
  Var CallPure(PyObject* function, const std::vector<Var>& args, PyObject* kwnames,
               bool symbolic);  // real call on constants
  Var CallReal(PyObject* function, const std::vector<Var>& args, PyObject* kwnames);  // real call on shadows
  Var SendGenerator(Var generator, Var value,
                    Var exception);  // nullptr without failure: finished (generator_result)
  Var generator_result() const { return generator_result_; }
  Var TensorCall(PyObject* op_function, const std::vector<Var>& args, PyObject* kwnames);
  // --- free_numbers.cc; null without failure: there is no number that varies, or it has to be fixed ---
  Var CallWithFreeNumber(PyObject* op_function, const std::vector<Var>& args, PyObject* kwnames);
  Var TensorOfFreeNumbers(const std::vector<Var>& args, PyObject* kwnames);  // of tensor(data, *, dtype)
  bool ListNumbers(Var data, std::vector<Var>* numbers, bool* free);
  Var StackNumbers(Var data, Var dtype, Var common);
  Var ApplyOp(Op op, const std::vector<ValueRef>& operands, const Attrs& attrs, Var self,
              std::vector<SymbolicInt> symbolic = {});
  Var ShapeOf(Var tensor);
  Var SizeAt(Var tensor, size_t dim);
  Var NumelOf(Var tensor);
  Var SymbolicPart(ValueRef value, int32_t part);
  bool IsWhole(Var tensor);
  std::vector<Var> LayoutOf(Var tensor);
  Attrs LayoutAttrs(Var tensor, std::vector<SymbolicInt>* symbolic);
  bool HasFreeSizes() const;
  bool HasSizeSymbols() const { return !symbols_.empty(); }
  void PinSizes();
  Var ItemAt(Var container, Var key, PyObject* item);
  void GuardUnlooked();  // that what was reached and never looked at is there
  bool BoundSize(Var v, int64_t* out);
  bool IsBinding() const { return world_ >= 0; }
  std::shared_ptr<SizePremises> TakeSizePremises();  // null: no size is free
  Var TensorMethod(PyObject* descriptor, const char* name, const std::vector<Var>& args, PyObject* kwnames);
  PyRef IndexShadow(Var key);
  std::nullptr_t BreakOnError(const std::string& what);  // the Python exception's text becomes a break
  ValueRef ScalarInput(Var scalar);
  Var TensorGetAttr(Var tensor, PyObject* name);
  Var TensorGetItem(Var tensor, Var key);
  bool TensorSetItem(Var tensor, Var key, Var value);
  // --- arrays of other libraries (arrays.cc) ---
  static bool IsForeign(Var v) {
    return v->kind == VariableKind::kTensor && v->tensor->form.adapter != nullptr;
  }
  static bool HasArray(Var v);  // a foreign array, or an object that is an array which cannot be read
  Var ArrayOperation(const char* name, const std::vector<Var>& args);
  static PyObject* PercentModel();                                           // of text % values
  static PyObject* StandardModel(PyObject* callable, bool* takes_callable);  // standard_models.cc; borrowed
  static PyObject* ArrayModel(PyObject* callable);  // borrowed; null: not modelled, or no library's
  Var CallModel(PyObject* model, const std::vector<Var>& args, PyObject* kwnames);
  Var ArrayGetAttr(Var array, PyObject* name);
  Var ArrayMethod(PyObject* descriptor, const std::vector<Var>& args, PyObject* kwnames);
  Var ArrayIntrinsic(PyObject* function, const std::vector<Var>& args);  // what the models are written in
  std::vector<Guard> GuardsOutsideOfModels();                            // the models themselves never change
  ValueRef condition() const { return condition_; }  // must be true for the replay; undefined: none
  Var ReadNumber(Var tensor, PyTypeObject* type);    // item(), float(), int(), bool(): known after the graph
  ValueRef TensorValue(Var tensor);                  // its value in the graph now
  Var ReadList(Var tensor, PyObject* tolist);        // tolist(), the same
  Var MakeException(PyObject* type, std::vector<Var> args);
  Var ExceptionWithFields(Var type, const std::vector<Var>& args, PyObject* kwnames);
  Var NewInstance(PyTypeObject* type,
                  size_t refused = 0);  // object.__new__(cls); `refused`: arguments too many
  Var CallStaticNew(PyObject* function, const std::vector<Var>& args, PyObject* kwnames, bool* handled);
  Var ExceptionText(Var exception, bool repr);
  Var CloseGenerator(Var generator);
  RunResult ThrowInto(SymbolicFrame& frame, Var exception);
  RunResult Run(SymbolicFrame& frame);  // until it returns (result in returned_), yields or fails
  Var returned() const { return returned_; }

  Var BuiltinGetItem(Var container, Var key);  // the base type's own methods
  bool BuiltinSetItem(Var container, Var key, Var value);
  bool DeleteKey(Var dict, Var key, PyObject* constant);
  Var BuiltinContains(Var container, Var item);
  Var BuiltinLength(Var container);
  Var DictLookup(Var dict, Var key);
  Var ShadowGet(Var container, Var key);
  Var RaiseKeyError(Var key);
  PyRef SliceOrShadow(Var key);
  Var FieldOfContainer(Var container, const char* name);
  bool DictOfShadow(Var view);
  Var DictOfMethod(Var view, const char* name, const std::vector<Var>& args, PyObject* kwnames);

  // --- writes ---
  Var Snapshot(Var container);
  void GuardSetLayout(Var set);
  bool EnsureShadow(Var container);  // contents become a shadow (guards length, keys...)
  bool IsContainer(Var v);
  void NoteContents(Var container, const std::string& operation, const std::string& after);
  void NoteAttribute(Var object, PyObject* name, Var value);
  // Before a value that was there before the call is overwritten or removed: false with a break when its
  // death may run code. `source` says where it lies, for the calls to come.
  bool DropsQuietly(PyObject* old, SourceId source);
  bool LosesElementsQuietly(Var container);
  void AddQuietGuard(SourceId source);
  // Numbers and texts whose making may raise for other values, in the order of their making.
  const std::vector<Var>& fallible() const { return fallible_; }
  const std::vector<Var>& loud_arguments() const { return loud_arguments_; }
  void GuardDroppedArguments();
  static bool IsTextStream(Var v);  // an io object whose writes are effects
  Var StreamMethod(PyObject* descriptor, const char* name,
                   const std::vector<Var>& args);  // null without failure: no model
  Var LockMethod(PyTypeObject* owner, const char* name, const std::vector<Var>& args);  // the same
  static bool IsThreadLocal(Var v);                                                     // thread_state.cc
  Var ThreadLocalDict(Var local);
  Var ThreadLocalGetAttr(Var local, PyObject* name);
  bool ThreadLocalSetAttr(Var local, PyObject* name, Var value);
  Var ContextVarMethod(PyObject* descriptor, const char* method, const std::vector<Var>& args);
  Var OldContextValue(Var token);
  void GuardEmptySlot(Var object, PyObject* descriptor, PyObject* name);
  std::nullptr_t RaiseMissingAttribute(Var object, PyObject* name, const char* more = "",
                                       const char* class_name = nullptr);
  Var WarnCall(const std::vector<Var>& args, PyObject* kwnames);  // the same
  void AddEffect(Var callable, std::vector<Var> args, std::vector<std::pair<PyRef, Var>> kwargs,
                 const std::string& operation);
  Var CellContents(Var cell, PyObject* name);
  bool SetCell(Var cell, Var value);
  Var GlobalLookup(Var globals, PyObject* name);  // nullptr without failure: missing
  std::string Describe(Var v);                    // short text for the ledger
  int CurrentLine();
  Site CurrentSite();
  // The innermost frame whose file is neither this package's nor `other_than`; null: none.
  SymbolicFrame* UserFrame(PyObject* other_than = nullptr);
  bool HandlesExceptions() const;  // whether a frame of the traced code would see one that is raised here
  SymbolicFrame* current_frame() { return frame_stack_.empty() ? nullptr : frame_stack_.back(); }
  int root_step() const { return root_step_; }
  int LastResumableStep()
      const;  // the last root step before this one after which a function can go on; -1: none

 private:
  friend bool BindArguments(Trace&, Var, const std::vector<Var>&, PyObject*, SymbolicFrame*);

  bool RootHolds(Var wanted) const;
  bool KeepsLoudArguments();
  Var LookAtObject(Var v);
  Var AttributeValue(PyObject* found, PyTypeObject* type, PyObject* name);
  SourceId TypeAttributeSource(PyTypeObject* type, PyObject* name);  // found in the MRO, unbound
  Var BindDescriptor(PyObject* descriptor, Var object, PyTypeObject* type, PyObject* name);
  PyObject* OwnerOf(PyTypeObject* type, PyObject* name);
  bool InstanceLookup(Var object, PyObject* name, bool guard_absence, Var* out);
  bool HeldByObject(Var object, PyObject* name, bool guard_absence, Var* out);
  bool GuardPresence(Var object, PyObject* name);
  SourceId SlotSource(Var object, PyObject* descriptor, PyObject* name);
  Var CallBuiltin(Var callable, PyObject* function, std::vector<Var> args, PyObject* kwnames, bool* handled);
  Var ContainerMethod(PyObject* descriptor, PyObject* name, const std::vector<Var>& args, PyObject* kwnames);
  Var MakeCallable(Var type, const std::vector<Var>& args, PyObject* kwnames);
  Var CallCallable(Var callable, const std::vector<Var>& args, PyObject* kwnames, bool* handled);
  Var CallCached(Var wrapper, const std::vector<Var>& args, PyObject* kwnames);
  Var CacheInfoNow(Var wrapper, PyRef* info);
  Var CacheMethod(Var wrapper, PyObject* descriptor, const char* name);  // null without failure: no model
  bool PartialParts(Var partial, std::vector<Var>* args, std::vector<std::pair<PyRef, Var>>* kwargs);
  static void AddKeywords(std::vector<std::pair<PyRef, Var>>* to,
                          const std::vector<std::pair<PyRef, Var>>& more);
  PyObject* ConcreteContainer(Var v);
  Var ReprOfSymbolic(PyObject* shadow);
  Var JoinText(Var separator, Var iterable);
  Var GetDotted(Var object, PyObject* path);
  std::nullptr_t RaiseRefusedCall(PyCodeObject* code, PyObject* qualname, size_t ndefaults,
                                  PyObject* kwdefaults, size_t positional, PyObject* kwnames);
  Var CallUser(Var callable, const std::vector<Var>& args, PyObject* kwnames);
  void AddIdentityGuard(SourceId source, PyObject* object);
  SourceId PartOfFunction(SourceId function, FunctionPart part, std::string name);
  bool PowerResult(Var a, Var b, PyTypeObject** type);
  Var ScalarBinary(int code, Var a, Var b);
  Var DispatchBinary(int code, Var a, Var b, bool* done);
  std::nullptr_t BreakAtOperator(int base, Var a, Var b);
  Var NoOperator(int code, Var a, Var b);
  Var NewTensor(ValueRef value);
  Var NewView(Var of, TensorMeta meta, ValueRef value);
  Var ArrayOf(Var tensor, ArrayForm form);
  std::nullptr_t NotAnArray(Var v);
  bool Require(Var flag);
  bool ReadsModelsOnly(SourceId source, bool* model);
  bool WriteTensor(Var target, ValueRef value);
  void FreeSizes(Var v, Guard* guard);
  void FreeInts(SourceId id);
  bool IsFree(SourceId id, std::vector<SourceId>* found);
  bool Reads(SourceId id, SourceId part) const;
  bool ReadsInts(SourceId id) const;
  bool IsInt(const SizeSymbol& symbol) const;
  bool PinBoundInts();
  void PinSize(size_t symbol);
  bool ValueInWorld(SourceId id, int world, int64_t* out);
  Var SizeOf(const WorldValues& values, bool premise);
  ResizedInput InputInWorld(Var input, const TensorMeta& meta, int world);
  const TensorMeta& MetaInWorld(ValueRef value, int world);
  bool SameInWorlds(ValueRef a, ValueRef b);
  bool SameSizeAt(Var a, Var b, size_t dim);
  bool NoteSymbolic(Var size, int32_t attr, int32_t element, std::vector<SymbolicInt>* out);
  bool FindSymbolic(const Attrs* const in_worlds[kWorlds], std::vector<SymbolicInt>* out);
  bool DecomposeKey(Var tensor, PyObject* key, class TraceResolver& resolver,
                    std::vector<struct IndexStep>* steps, std::vector<std::vector<SymbolicInt>>* symbolic);
  SourceId IteratorPartSource(Var iterator, long which);
  Var IteratorPartOf(Var iterator, long which);
  Var ElementOf(Var sequence, Var at, bool backwards);
  Var RestElement(Var iterator, bool items);
  Var RangeElement(Var iterator);
  void NoteAdvance(Var iterator);

  FrameView frame_;
  int break_at_;
  const SizePolicy& policy_;
  std::deque<Variable> variables_;
  std::deque<TensorBase> bases_;
  std::deque<SymbolicFrame> dead_frames_;
  Variable null_;
  SymbolicFrame root_;
  std::vector<SymbolicFrame*> frame_stack_;
  Graph graph_;
  ValueRef condition_;
  std::vector<Var> graph_inputs_;
  std::vector<Var> graph_scalars_;
  std::unordered_map<int32_t, ValueRef> scalar_inputs_;
  std::vector<SizeSymbol> symbols_;
  NodeMetas world_metas_[kWorlds - 1];
  std::vector<SizePremise> size_premises_;
  std::vector<std::pair<ValueRef, ValueRef>> size_same_;
  std::vector<Guard> late_size_guards_;  // sizes that share a symbol
  int world_ = -1;                       // the world for which an operation is being bound
  std::vector<SourceId> bound_;          // ... the symbolic sizes and free ints that were read for it
  SourceTable sources_;
  GuardSet guards_;
  Ledger ledger_;
  std::vector<Write> writes_;
  std::vector<PyRef> objects_;
  std::unordered_map<PyObject*, ObjectIndex> object_index_;
  std::unordered_map<PyObject*, Var> known_;    // existing objects
  std::unordered_map<PyObject*, Var> shadows_;  // raw containers that stand in shadows
  std::unordered_map<PyObject*, Var> consts_;
  std::unordered_map<int32_t, Var> by_source_;
  std::unordered_map<PyObject*, Var> dict_owner_;  // __dict__ of an object that was looked at
  std::vector<Var> existing_;
  std::vector<Var> fallible_, items_reached_;
  std::vector<Var> loud_arguments_;  // of the root frame, see finalizers.h
  std::vector<PyRef> keep_alive_;
  // What the trace has done to a cache of lru_cache's: the keys that it asked for with their results, oldest
  // use first.
  struct CacheUse {
    PyRef recent;
    Py_ssize_t hits = 0, misses = 0, added = 0, evicted = 0, found = 0;
    bool open = false;     // it was asked for a number or text of later calls
    bool cleared = false;  // what was there before is gone
  };
  std::unordered_map<PyObject*, CacheUse> cached_;  // by wrapper
  Failure failure_ = Failure::kNone;
  Var raised_ = nullptr;
  BreakReason break_;
  Var result_ = nullptr, returned_ = nullptr, generator_result_ = nullptr;
  int root_step_ = 0, instructions_ = 0, depth_ = 0;
  std::vector<int> root_pcs_;  // where each root step began
  bool reached_break_ = false;
  bool grad_ = grad_enabled;  // gradient mode as the traced code has set it
  bool uses_global_state_ = false;
};

// The types of callables.cc.
PyTypeObject* PartialType();
bool IsGetterType(PyTypeObject* type);
bool IsCacheWrapperType(PyTypeObject* type);  // cached_calls.cc

// The trace under way; proxies find it here. Null outside of tracing.
extern Trace* current_trace;

// Decoded code, kept per code object for the life of the process (codes are few).
const CodeParts* PartsOf(PyCodeObject* code);

PyObject* MroOf(PyTypeObject* type);  // borrowed

// The base type whose methods keep a container's contents (list for a subclass of list); null: not a
// container.
PyTypeObject* BaseContainer(PyTypeObject* type);
inline bool IsContainerType(PyTypeObject* type) { return BaseContainer(type) != nullptr; }
// Whether copies and sums of an instance of a subclass are of that subclass.
bool CopiesAsSubclass(PyTypeObject* base);

// `_core.ops.<name>`; borrowed, nullptr when there is none.
PyObject* TensorOperation(const char* name);

// The intrinsics of array models and `_core._check(flag)`, which raises unless the flag is true.
bool InitArrayIntrinsics(PyObject* module);
bool IsArrayIntrinsic(PyObject* function);
PyObject* CheckFunction();

// `_core._commit(tensor, value)`: writes the graph's final value into an input.
PyObject* CommitFunction();
bool IsLibraryValueType(PyTypeObject* type);  // plain_values.cc: dates, patterns...
bool IsLibraryValue(PyObject* o);
bool ReadsTheWorld(PyTypeObject* type, const char* method);
bool IsConstant(PyObject* o, int depth = 0);  // immutable through and through, and equal to any copy
bool IsSuspended(Var v);                      // a generator that has been started and has not ended
bool IsMadeByCall(
    Var v);  // by its construct_callable; an iterator that was moved is made of its state instead
bool IsUnique(PyObject* o);  // a constant that no other object equals

// How many of the arguments have no name.
inline size_t PositionalCount(const std::vector<Var>& args, PyObject* kwnames) {
  return args.size() - (kwnames != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
}

bool InitProxy(PyObject* module);
void DetachProxy(PyObject* proxy);
bool IsProxy(PyObject* o);
Var ProxyVariable(PyObject* o);
PyObject* MakeProxy(Var v);
extern PyObject* UntraceableError;

// The built-ins that may be called for real on shadows or on constants; filled once.
bool InitBuiltinTables();

}  // namespace thirdbook
