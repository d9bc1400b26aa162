// Phases of code generation, constants and sources. See emit.h.
#include "interpret/emit.h"

#include "graph/passes.h"
#include "interpret/builtins.h"
#include "interpret/policy.h"
#include "python/tensor_object.h"

namespace thirdbook {

Emitter::Emitter(Trace& trace, PyObject* placeholder)
    : t_(trace), root_(trace.root()), placeholder_(placeholder) {
  const CodeParts& original = *root_.parts;
  parts_.consts = PySequence_List(original.consts);
  parts_.names = PySequence_List(original.names);
  PyCodeObject* code = root_.code;
  argument_slots_ = code->co_argcount + code->co_kwonlyargcount +
                    ((code->co_flags & CO_VARARGS) != 0 ? 1 : 0) +
                    ((code->co_flags & CO_VARKEYWORDS) != 0 ? 1 : 0);
  for (uint8_t kind : original.local_kinds) {
    if ((kind & kLocalFree) != 0) {
      nfree_++;
    } else {
      nonfree_++;
    }
  }
}

bool Emitter::Fail(Var v, const std::string& why) {
  return Fail(v->raised && v->raise_step >= 0 ? v->raise_step : v->step, why);
}

bool Emitter::Fail(int step, const std::string& why) {
  retry_step_ = step;
  why_ = why;
  return false;
}

// Half way back: a chain that grows in a loop is cut in a few attempts.
bool Emitter::FailTooDeep(Var v) { return Fail(v->step / 2, "objects are nested too deep to be made again"); }

// ---- constants, names, temporaries
// -------------------------------------------------------------------------------------------

int32_t Emitter::ConstIndex(PyObject* o) {
  auto it = const_index_.find(o);
  if (it != const_index_.end()) return it->second;
  int32_t index = static_cast<int32_t>(PyList_GET_SIZE(parts_.consts));
  PyList_Append(parts_.consts, o);
  const_index_[o] = index;
  return index;
}

void Emitter::LoadConst(PyObject* o) { Op(Opcode::LOAD_CONST, ConstIndex(o)); }

int32_t Emitter::NameIndex(PyObject* name) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(parts_.names); i++) {
    if (PyUnicode_Compare(PyList_GET_ITEM(parts_.names, i), name) == 0) return static_cast<int32_t>(i);
  }
  PyObject* interned = Py_NewRef(name);
  PyUnicode_InternInPlace(&interned);
  PyList_Append(parts_.names, interned);
  Py_DECREF(interned);
  return static_cast<int32_t>(PyList_GET_SIZE(parts_.names)) - 1;
}

int32_t Emitter::NameIndex(const char* name) {
  return NameIndex(PyRef::Steal(PyUnicode_InternFromString(name)).get());
}

PyObject* Emitter::MethodOf(PyTypeObject* type, const char* name) {
  PyRef o = PyRef::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name));
  PyErr_Clear();
  keep_.push_back(o);
  return o.get();
}

int32_t Emitter::NewTemp() { return nonfree_ + temps_++; }

// ---- what is needed
// ----------------------------------------------------------------------------------------------------------

void Emitter::CountSource(SourceId s) {
  if (static_cast<size_t>(t_.sources().size()) > source_uses_.size()) {
    source_uses_.resize(static_cast<size_t>(t_.sources().size()), 0);
    source_slot_.resize(static_cast<size_t>(t_.sources().size()), -1);
  }
  if (source_uses_[static_cast<size_t>(s.value)]++ > 0) return;
  const Source& source = t_.sources().at(s);
  if (source.kind == SourceKind::kObject && PyType_Check(t_.object(source.object)))
    CollectFrom(t_.LocalClass(reinterpret_cast<PyTypeObject*>(t_.object(source.object))));
  for (SourceId operand : source.operands) CountSource(operand);
}

bool Emitter::DependsOnGraph(SourceId s) {
  const Source& source = t_.sources().at(s);
  if (source.kind == SourceKind::kGraphTensor) return true;
  for (SourceId operand : source.operands) {
    if (DependsOnGraph(operand)) return true;
  }
  // Text and numbers of input tensors are read after the graph has accepted its inputs, before anything is
  // written.
  return false;
}

bool Emitter::IsLate(Var v) {
  return DependsOnGraph(v->source) || (v->kind == VariableKind::kScalar && !v->value);
}

void Emitter::CollectFrom(Var v) {
  if (v == nullptr) return;
  while (v->forward != nullptr) v = v->forward;
  bool plain = v->kind == VariableKind::kNull || (v->kind == VariableKind::kConst && !IsOwnCollection(v));
  if (plain || !seen_.insert(v).second) return;
  Nesting nesting;
  if (Nesting::Deep(400)) {
    if (too_deep_ == nullptr) too_deep_ = v;
    return;
  }
  needed_.push_back(v);
  switch (v->kind) {
    case VariableKind::kLazy:
    case VariableKind::kConst:
    case VariableKind::kScalar:
    case VariableKind::kObject: CountSource(v->source); return;
    case VariableKind::kTensor: {
      TensorBase* base = v->tensor->base;
      if (v->source.defined()) CountSource(v->source);
      if (base->input != nullptr) {
        if (base->input != v) CollectFrom(base->input);
      } else if (!base->escapes_emitted) {
        base->escapes_emitted = true;
        output_bases_.push_back(base);
        outputs_.push_back(base->current);
      }
      return;
    }
    default: break;
  }
  auto shadow_items = [&](PyObject* shadow) {
    if (shadow == nullptr) return;
    if (PyDict_Check(shadow)) {
      PyRef items = PyRef::Steal(PyDict_Items(shadow));
      for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); i++) {
        PyObject* pair = PyList_GET_ITEM(items.get(), i);
        CollectFrom(t_.FromShadow(PyTuple_GET_ITEM(pair, 0)));
        CollectFrom(t_.FromShadow(PyTuple_GET_ITEM(pair, 1)));
      }
      return;
    }
    PyRef items = PyRef::Steal(PySequence_Tuple(shadow));
    for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items.get()); i++)
      CollectFrom(t_.FromShadow(PyTuple_GET_ITEM(items.get(), i)));
    PyErr_Clear();
  };
  CollectFrom(t_.LocalClass(v->type));
  for (Var item : v->items) CollectFrom(item);
  if (v->shadow && v->type != &PyTuple_Type) shadow_items(v->shadow.get());
  for (auto& [name, value] : v->attributes) CollectFrom(value);
  if (v->function != nullptr) {
    FunctionState& f = *v->function;
    for (Var part : {f.globals, f.defaults, f.kwdefaults, f.annotate, f.annotations, f.type_params})
      CollectFrom(part);
    for (Var cell : f.closure) CollectFrom(cell);
  }
  CollectFrom(v->dict_of);
  if (IsSuspended(v)) ContinueSuspended(v);
  if (IsMadeByCall(v)) {
    CollectFrom(v->construct_callable);
    for (Var arg : v->construct_args) CollectFrom(arg);
    for (auto& [name, arg] : v->construct_kwargs) CollectFrom(arg);
  } else if (v->value && PyIter_Check(v->value.get())) {
    PyRef reduced = PyRef::Steal(PyObject_CallMethod(v->value.get(), "__reduce__", nullptr));
    PyErr_Clear();
    if (reduced && PyTuple_Check(reduced.get()) && PyTuple_GET_SIZE(reduced.get()) >= 2) {
      keep_.push_back(reduced);
      PyObject* args = PyTuple_GET_ITEM(reduced.get(), 1);
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        CollectFrom(t_.FromShadow(PyTuple_GET_ITEM(args, i)));
      t_.ClearFailure();
    }
  }
}

void Emitter::Collect() {
  for (Var snapshot : t_.graph_scalars()) CollectFrom(snapshot);
  for (Write& w : t_.writes()) {
    CollectFrom(w.target);
    switch (w.kind) {
      case Write::Kind::kAttribute: {
        bool deleted;
        CollectFrom(w.target->FindAttribute(w.name.get(), &deleted));
        break;
      }
      case Write::Kind::kCell: {
        for (auto& [name, value] : w.target->attributes) CollectFrom(value);
        break;
      }
      case Write::Kind::kContents:
        for (std::vector<DeltaCall>* calls : {&w.target->delta, &w.target->log}) {
          for (DeltaCall& call : *calls) {
            for (Var arg : call.args) CollectFrom(arg);
          }
        }
        if (w.target->shadow) {
          PyObject* shadow = w.target->shadow.get();
          PyRef items = PyRef::Steal(PyDict_Check(shadow) ? PyDict_Values(shadow) : PySequence_List(shadow));
          for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); i++)
            CollectFrom(t_.FromShadow(PyList_GET_ITEM(items.get(), i)));
          if (PyDict_Check(shadow)) {
            PyRef keys = PyRef::Steal(PyDict_Keys(shadow));
            for (Py_ssize_t i = 0; keys && i < PyList_GET_SIZE(keys.get()); i++)
              CollectFrom(t_.FromShadow(PyList_GET_ITEM(keys.get(), i)));
          }
        }
        break;
      case Write::Kind::kEffect:
        for (Var arg : w.args) CollectFrom(arg);
        for (auto& [name, arg] : w.kwargs) CollectFrom(arg);
        break;
    }
  }
  if (t_.reached_break()) {
    for (Var v : root_.stack) CollectFrom(v);
    for (Var v : root_.locals) CollectFrom(v);
    for (Var v : root_.handled) CollectFrom(v);
  } else {
    CollectFrom(t_.result());
  }
  // The latest first: they are made of earlier ones.
  for (auto it = t_.fallible().rbegin(); it != t_.fallible().rend(); ++it) {
    const size_t source = static_cast<size_t>((*it)->source.value);
    if (source < source_uses_.size() && source_uses_[source] > 0) continue;
    CountSource((*it)->source);
    tried_.push_back(*it);
  }
}

// ---- values
// ----------------------------------------------------------------------------------------------------------------------

bool Emitter::Emit(Var v) {
  while (v->forward != nullptr) v = v->forward;
  if (v->emitted_slot >= 0) {
    Op(Opcode::LOAD_FAST, v->emitted_slot);
    return true;
  }
  switch (v->kind) {
    case VariableKind::kNull: Op(Opcode::PUSH_NULL); return true;
    case VariableKind::kConst:
      if (IsOwnCollection(v) && seen_.contains(v)) {
        EmitSource(v->source);
      } else {
        LoadConst(v->value.get());
      }
      return true;
    case VariableKind::kLazy:
    case VariableKind::kScalar:
    case VariableKind::kObject: EmitSource(v->source); return true;
    case VariableKind::kTensor:
      if (v->source.defined()) {
        EmitSource(v->source);
        return true;
      }
      return BuildTensor(v);
    case VariableKind::kNew: return Build(v);
  }
  return false;
}

// Reads every input that is used after the graph into a temporary, so that the replay cannot change what it
// means.
void Emitter::EmitLoads(bool after_graph) {
  code_.SetRole(Role::kLoad);
  bool stable = t_.writes().empty() && t_.WrittenInputs().empty();
  for (Var v : needed_) {
    bool sourced = v->kind == VariableKind::kLazy || v->kind == VariableKind::kScalar ||
                   v->kind == VariableKind::kObject || IsOwnCollection(v) ||
                   (v->kind == VariableKind::kTensor && v->source.defined());
    if (!sourced || v->emitted_slot >= 0) continue;
    const Source& s = t_.sources().at(v->source);
    // A slot that will hold another value at the break.
    bool overwritten = false;
    if (s.kind == SourceKind::kLocal && t_.reached_break()) {
      Var now = root_.locals[static_cast<size_t>(s.detail)];
      while (now != nullptr && now->forward != nullptr) now = now->forward;
      overwritten = now != v;
    }
    if (!overwritten &&
        (s.kind == SourceKind::kLocal || s.kind == SourceKind::kObject || s.kind == SourceKind::kClosureCell))
      continue;
    if (IsLate(v) != after_graph) continue;
    if (stable && !after_graph && !t_.reached_break()) continue;
    EmitSource(v->source);
    v->emitted_slot = NewTemp();
    Op(Opcode::STORE_FAST, v->emitted_slot);
  }
  // Where one of these raises, the call is handed back: the exception comes where it comes in plain Python.
  for (Var v : tried_) {
    if (IsLate(v) != after_graph) continue;
    EmitSource(v->source);
    Op(Opcode::POP_TOP);
  }
}

void Emitter::EmitGraph() {
  code_.SetRole(Role::kGraph);
  bool must_run = false;
  for (const Node& node : t_.graph().nodes())
    must_run = must_run || Info(node.op).op_class == OpClass::kRandom || MayFail(node);
  const size_t condition = outputs_.size();
  if (t_.condition().defined()) outputs_.push_back(t_.condition());
  for (TensorBase* base : t_.WrittenInputs()) outputs_.push_back(base->current);
  needs_graph_ = !outputs_.empty() || must_run;
  if (!needs_graph_) return;
  CallConst(placeholder_);
  for (Var input : t_.graph_inputs()) {
    if (input->emitted_slot >= 0) {
      Op(Opcode::LOAD_FAST, input->emitted_slot);
    } else {
      if (static_cast<size_t>(t_.sources().size()) > source_uses_.size()) CountSource(input->source);
      EmitSource(input->kind == VariableKind::kConst ? t_.SourceOf(input) : input->source);
    }
  }
  Op(Opcode::CALL, static_cast<int32_t>(t_.graph_inputs().size()));
  if (outputs_.empty()) {
    Op(Opcode::POP_TOP);
    return;
  }
  Op(Opcode::UNPACK_SEQUENCE, static_cast<int32_t>(outputs_.size()));
  for (size_t i = 0; i < outputs_.size(); i++) {
    output_slots_.push_back(NewTemp());
    Op(Opcode::STORE_FAST, output_slots_.back());
  }
  if (t_.condition().defined()) {
    CallConst(CheckFunction());
    Op(Opcode::LOAD_FAST, output_slots_[condition]);
    Op(Opcode::CALL, 1);
    Op(Opcode::POP_TOP);
  }
}

std::vector<ArrayOutput> Emitter::array_outputs() const {
  std::vector<ArrayOutput> found;
  for (size_t i = 0; i < output_bases_.size(); i++) {
    const TensorBase& base = *output_bases_[i];
    if (base.form.adapter != nullptr) found.push_back({i, base.form, base.made, base.meta, {}});
  }
  return found;
}

void Emitter::EmitCommits() {
  code_.SetRole(Role::kReplay);
  std::vector<TensorBase*> written = t_.WrittenInputs();
  size_t first = outputs_.size() - written.size();
  for (size_t i = 0; i < written.size(); i++) {
    CallConst(CommitFunction());
    Emit(written[i]->input);
    Op(Opcode::LOAD_FAST, output_slots_[first + i]);
    Op(Opcode::CALL, 2);
    Op(Opcode::POP_TOP);
  }
}

bool Emitter::Run() {
  Collect();
  if (too_deep_ != nullptr) return FailTooDeep(too_deep_);
  for (Var generator : t_.GeneratorsInTry()) {
    if (seen_.contains(generator)) continue;
    kind_ = BreakKind::kFinalizer;
    return Fail(generator, "a generator is dropped inside a try of its own");
  }
  for (Var input : t_.graph_inputs()) {
    SourceId s = t_.SourceOf(input);
    CountSource(s);
  }
  const Instruction& first = root_.parts->image.instructions[0];
  code_.SetPosition(first.position);
  code_.SetRole(Role::kLoad);
  if (nfree_ > 0) Op(Opcode::COPY_FREE_VARS, nfree_);
  Op(Opcode::RESUME, 0);
  int32_t pure_begin = code_.here();
  EmitLoads(false);
  EmitGraph();
  EmitLoads(true);
  code_.SetRole(Role::kRebuild);
  for (Var v : needed_) {
    // Tensors first, then the new objects that writes, the result or the stack reach.
    if (v->kind == VariableKind::kTensor && !v->source.defined() && v->emitted_slot < 0) {
      if (!BuildTensor(v)) return false;
      Op(Opcode::POP_TOP);
    }
  }
  if (!FillPending()) return false;
  const bool plain_return = t_.writes().empty() && t_.WrittenInputs().empty() && !t_.reached_break();
  replayed_ = plain_return;
  if (!plain_return) {
    for (Var v : needed_) {
      if (v->kind != VariableKind::kNew || v->emitted_slot >= 0 || v->made_by_effect) continue;
      if (!Build(v)) return false;
      Op(Opcode::POP_TOP);
      if (!FillPending()) return false;
    }
  }
  Label fallback = code_.NewLabel();
  int32_t pure_end = code_.here();
  if (!plain_return && !t_.loud_arguments().empty()) {
    CallConst(ReleaseCallable());
    Op(Opcode::CALL, 0);
    Op(Opcode::POP_TOP);
  }
  if (CurrentReplaySettings().replay) {
    EmitCommits();
    if (!EmitReplay()) return false;
  }
  replayed_ = true;
  if (!EmitLateStates()) return false;
  if (plain_return) {
    code_.SetRole(Role::kReturn);
    if (!Emit(t_.result()) || !FillPending()) return false;
    pure_end = code_.here();
    Op(Opcode::RETURN_VALUE);
  } else if (t_.reached_break()) {
    if (!EmitBreak()) return false;
  } else {
    if (!EmitReturn()) return false;
  }
  // Whatever fails before the replay hands the call back; KeyboardInterrupt and its like leave.
  code_.SetRole(Role::kGuard);
  code_.SetPosition(Position{});
  code_.AddRegion(pure_begin, pure_end, fallback, 0, false);
  code_.Bind(fallback);
  Label leave = code_.NewLabel();
  Op(Opcode::PUSH_EXC_INFO);
  LoadConst(PyExc_Exception);
  Op(Opcode::CHECK_EXC_MATCH);
  code_.EmitJump(Opcode::POP_JUMP_IF_FALSE, leave);
  Op(Opcode::POP_TOP);
  Op(Opcode::POP_EXCEPT);
  LoadConst(kFallback);
  Op(Opcode::RETURN_VALUE);
  code_.Bind(leave);
  Op(Opcode::SWAP, 2);
  Op(Opcode::POP_EXCEPT);
  Op(Opcode::RERAISE, 0);
  return true;
}

void Emitter::SetGraphCallable(PyObject* callable) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(parts_.consts); i++) {
    if (PyList_GET_ITEM(parts_.consts, i) == placeholder_)
      PyList_SetItem(parts_.consts, i, Py_NewRef(callable));
  }
}

PyCodeObject* Emitter::TakeCode() {
  const CodeParts& original = *root_.parts;
  CodeImage image = code_.Finish(original.image.first_line, nonfree_ + temps_);
  roles_ = code_.roles();
  parts_.image = std::move(image);
  parts_.argcount = argument_slots_;
  parts_.flags = CO_OPTIMIZED | CO_NEWLOCALS;
  for (int32_t i = 0; i < nonfree_; i++) {
    parts_.locals.push_back(Py_NewRef(original.locals[static_cast<size_t>(i)]));
    // Slots of cells hold cells at a break: locals() and super() of the broken instruction look into them.
    parts_.local_kinds.push_back(static_cast<uint8_t>(
        kLocalLocal | (original.local_kinds[static_cast<size_t>(i)] & (kLocalCell | kLocalHidden))));
  }
  for (int32_t i = 0; i < temps_; i++) {
    PyObject* name = PyUnicode_FromFormat("_tb%d", i);
    PyUnicode_InternInPlace(&name);
    parts_.locals.push_back(name);
    parts_.local_kinds.push_back(kLocalLocal);
  }
  for (int32_t i = nonfree_; i < nonfree_ + nfree_; i++) {
    parts_.locals.push_back(Py_NewRef(original.locals[static_cast<size_t>(i)]));
    parts_.local_kinds.push_back(kLocalFree);
  }
  parts_.filename = Py_NewRef(original.filename);
  parts_.name = Py_NewRef(original.name);
  parts_.qualname = Py_NewRef(original.qualname);
  PyCodeObject* code = MakeCode(parts_);
  ClearParts(&parts_);
  return code;
}

}  // namespace thirdbook
