// From a frame to a cache entry: trace, emit, guard. The list of stages is CompileFrame at the end.
//
// In: a frame at its start. Out: an entry (guards and a rewritten code object), or the decision to run the
// frame as it is. Invariant: attempts leave no trace in the world; an attempt that cannot be finished says
// before which root instruction the next one has to stop.
#include "interpret/compile.h"

#include <algorithm>
#include <set>

#include "interpret/emit.h"
#include "interpret/finalizers.h"
#include "interpret/guard_program.h"
#include "interpret/policy.h"
#include "interpret/record.h"
#include "python/graph_object.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

constexpr int kMaxAttempts = 30;

class TracedEntry : public CacheEntry {
 public:
  TracedEntry(std::shared_ptr<GuardProgram> guards, PyRef code, std::shared_ptr<CompilationRecord> record)
      : guards_(std::move(guards)), code_(std::move(code)), record_(std::move(record)) {}
  bool Check(const FrameView& frame) override {
    if (record_->has_writes && settings_ != CurrentReplaySettings()) return false;
    bool holds = guards_->Check(frame);
    if (holds && record_->has_writes) TracerCounters().replays++;
    return holds;
  }
  GuardMiss FirstMiss(const FrameView& frame) override {
    GuardMiss miss =
        record_->has_writes && settings_ != CurrentReplaySettings()
            ? GuardMiss{.guard = "thirdbook.config: the replay of side effects was set otherwise"}
            : guards_->FirstMiss(frame);
    miss.compilation = record_->id;
    return miss;
  }
  void ChangedSizes(const FrameView& frame, std::vector<std::string>* out) override {
    guards_->ChangedSizes(frame, out);
  }
  PyCodeObject* replacement() const override { return reinterpret_cast<PyCodeObject*>(code_.get()); }
  PyObject* Report() const override { return record_->ToDict(); }

 private:
  std::shared_ptr<GuardProgram> guards_;
  PyRef code_;
  std::shared_ptr<CompilationRecord> record_;
  ReplaySettings settings_ = CurrentReplaySettings();
};

PyTime_t Now() {
  PyTime_t now = 0;
  return PyTime_PerfCounterRaw(&now) == 0 ? now : 0;
}

Backend BackendOption(const CompileOptions& options) {
  PyRef value =
      options.config != nullptr ? PyRef::Steal(PyObject_GetAttrString(options.config, "backend")) : PyRef();
  DropError();
  if (value && PyUnicode_Check(value.get())) {
    const char* text = PyUnicode_AsUTF8(value.get());
    if (strcmp(text, "eager") == 0 || strcmp(text, "reference") == 0) return Backend::kReference;
    if (strcmp(text, "webgpu") == 0) return Backend::kWebGpu;
    if (strcmp(text, "wasm") == 0) return Backend::kWasm;
  }
  return Backend::kAuto;
}

// Sizes are free from the start (dynamic=True), once they have changed (None) or never (False). A backend of
// the user's is made for the inputs that it is shown.
SizePolicy SizesOf(const CompileOptions& options, const FrameView& frame, const EntryList& earlier) {
  SizePolicy policy;
  if (options.config == nullptr) return policy;
  PyRef dynamic = PyRef::Steal(PyObject_GetAttrString(options.config, "dynamic"));
  PyRef backend = PyRef::Steal(PyObject_GetAttrString(options.config, "backend"));
  DropError();
  bool own = !backend || backend.get() == Py_None || PyUnicode_Check(backend.get());
  if (!own || !dynamic || dynamic.get() == Py_False) return policy;
  policy.dynamic = dynamic.get() == Py_True;
  std::vector<std::string> changed;
  for (const auto& entry : earlier) entry->ChangedSizes(frame, &changed);
  policy.free_sizes.insert(changed.begin(), changed.end());
  return policy;
}

bool BoolOption(const CompileOptions& options, const char* name) {
  if (options.config == nullptr) return false;
  PyRef value = PyRef::Steal(PyObject_GetAttrString(options.config, name));
  if (!value) {
    DropError();
    return false;
  }
  return value.get() == Py_True;
}

// That each of these, all of one type, is no other object of the type that was reached another way.
void GuardDistinct(Trace& t, const std::vector<Var>& written) {
  constexpr size_t kMaxPairs = 64;
  std::set<Var> is_written(written.begin(), written.end());
  std::vector<Var> others;
  for (Var v : t.existing()) {
    bool other = v->forward == nullptr && v->kind == VariableKind::kObject && v->type == written[0]->type;
    if (other && is_written.count(v) == 0) others.push_back(v);
  }
  auto fixed = [&](Var v) { return t.sources().at(v->source).kind == SourceKind::kObject; };
  if (written.size() * (written.size() + others.size()) > kMaxPairs) {
    Guard g{GuardKind::kAllDistinct, {}};
    g.detail = static_cast<int32_t>(written.size());
    g.object = t.ObjectOf(reinterpret_cast<PyObject*>(written[0]->type));
    for (Var v : written) g.group.push_back(v->source);
    for (Var v : others) g.group.push_back(v->source);
    t.guards().Add(std::move(g));
    return;
  }
  for (size_t i = 0; i < written.size(); i++) {
    auto distinct = [&](Var other) {
      if (!fixed(other) || !fixed(written[i]))
        t.guards().Add(Guard{GuardKind::kDistinct, written[i]->source, other->source});
    };
    for (size_t k = i + 1; k < written.size(); k++) distinct(written[k]);
    for (Var other : others) distinct(other);
  }
}

// Aliasing premises that hold for the whole trace: what was written is no other object that was reached
// another way.
void AddAliasGuards(Trace& t) {
  if (t.uses_global_state()) {
    Guard g{GuardKind::kGlobalState, {}};
    g.detail = (grad_enabled ? 1 : 0) + 2 * static_cast<int>(DefaultDType());
    t.guards().Add(std::move(g));
  }
  if (!t.writes().empty()) t.GuardDroppedArguments();
  std::vector<Var> written;
  for (Write& w : t.writes()) {
    if (w.kind != Write::Kind::kEffect && w.target->source.defined()) written.push_back(w.target);
  }
  for (Var v : t.existing()) {  // iterators and context variables change through effects
    if (v->forward == nullptr && (v->moves > 0 || !v->attributes.empty())) written.push_back(v);
  }
  std::set<Var> grouped;
  for (Var w : written) {
    if (grouped.count(w) != 0) continue;
    std::vector<Var> same_type;
    for (Var v : written) {
      if (v->type == w->type && grouped.insert(v).second) same_type.push_back(v);
    }
    GuardDistinct(t, same_type);
  }
  for (TensorBase* base : t.WrittenInputs()) {
    for (Var other : t.existing()) {
      if (other == base->input || other->forward != nullptr || other->kind != VariableKind::kTensor ||
          !other->source.defined())
        continue;
      Guard g{GuardKind::kStorage, base->input->source, other->source};
      t.guards().Add(std::move(g));
    }
  }
}

void FillGraphRecord(CompilationRecord& record, PyObject* graph_object) {
  record.graph_object = PyRef::Borrow(graph_object);
}

PyObject* UnsupportedError() {
  static PyObject* error = nullptr;
  if (error == nullptr) {
    PyRef module = PyRef::Steal(PyImport_ImportModule("thirdbook._errors"));
    if (module) error = PyObject_GetAttrString(module.get(), "Unsupported");
    if (error == nullptr) {
      PyErr_Clear();
      error = Py_NewRef(PyExc_RuntimeError);
    }
  }
  return error;
}

void RaiseUnsupported(const BreakReason& reason) {
  std::string text = reason.reason;
  for (size_t i = reason.stack.size(); i-- > 0;) {
    text += "\n  at " + reason.functions[i] + " (" + reason.stack[i].file + ":" +
            std::to_string(reason.stack[i].line) + ")";
  }
  text = text + "\n  explanation: " + WhyOf(reason.kind) + "\n  hint: " + HintOf(reason.kind) +
         "\n  catalogue: docs/graph-breaks.md#" + CodeOf(reason.kind);
  PyErr_SetString(UnsupportedError(), text.c_str());
}

}  // namespace

TraceCounters& TracerCounters() {
  static TraceCounters counters;
  return counters;
}

std::vector<Var> Trace::GeneratorsInTry() {
  std::vector<Var> found;
  for (Variable& v : variables_) {
    if (!IsSuspended(&v)) continue;
    const CodeImage& image = v.generator->parts->image;
    const bool in_try = std::ranges::any_of(image.regions, [&](const ExceptionRegion& r) {
      const bool only_stop_iteration =
          image.instructions[static_cast<size_t>(r.handler)].op == Opcode::CALL_INTRINSIC_1;
      return !only_stop_iteration && v.generator->pc >= r.begin && v.generator->pc < r.end;
    });
    if (in_try) found.push_back(&v);
  }
  return found;
}

int Trace::LastResumableStep() const {
  constexpr int kTries = 60;
  const int last = static_cast<int>(root_pcs_.size()) - 2;
  for (int step = last; step >= 0 && step > last - kTries; step--) {
    const size_t at = static_cast<size_t>(step);
    const Instruction& i = root_.parts->image.instructions[static_cast<size_t>(root_pcs_[at])];
    // Not in the prologue of a resume function: it would come back here.
    if (ResumeOrigin(root_.code) != nullptr && ResumeOriginIndex(root_.code, root_pcs_[at]) < 0) break;
    std::vector<ResumeItem> items;
    bool goes_on = !IsUnconditional(i.op) && i.op != Opcode::SEND &&
                   ResumeStackItems(root_.code, root_pcs_[at + 1], &items);
    PyErr_Clear();
    if (goes_on) return step;
  }
  return -1;
}

RunResult Trace::RunRoot() {
  PyCodeObject* code = frame_.code;
  root_.code = code;
  root_.parts = PartsOf(code);
  root_.is_root = true;
  if (root_.parts == nullptr) {
    PyErr_Clear();
    Break("a code object that cannot be read");
    break_.skip_frame = true;
    return RunResult::kFailed;
  }
  const CodeParts& parts = *root_.parts;
  root_.locals.assign(parts.locals.size(), nullptr);
  int free_index = 0;
  for (size_t i = 0; i < parts.locals.size(); i++) {
    const char* name = PyUnicode_AsUTF8(parts.locals[i]);
    if ((parts.local_kinds[i] & kLocalFree) != 0) {
      root_.locals[i] = Lazy(PyTuple_GET_ITEM(frame_.closure, free_index),
                             Expression(SourceKind::kClosureCell, {}, -1, name, free_index));
      free_index++;
    } else if (frame_.locals[i] != nullptr) {
      root_.locals[i] =
          Lazy(frame_.locals[i], Expression(SourceKind::kLocal, {}, -1, name, static_cast<int32_t>(i)));
    }
  }
  for (size_t i = 0; i < root_.locals.size(); i++) {
    bool argument = root_.locals[i] != nullptr && (parts.local_kinds[i] & kLocalFree) == 0;
    if (argument && !DiesQuietly(frame_.locals[i])) loud_arguments_.push_back(root_.locals[i]);
  }
  root_.globals = Fixed(frame_.globals);
  frame_stack_.push_back(&root_);
  RunResult result = Run(root_);
  frame_stack_.pop_back();
  if (result == RunResult::kReturned) result_ = returned_;
  return result;
}

CompileOutcome CompileFrame(const FrameView& frame, const CompileOptions& options, const EntryList& earlier,
                            std::unique_ptr<CacheEntry>* out) {
  InitBuiltinTables();
  FindArrayLibraries();
  auto record = std::make_shared<CompilationRecord>(frame);
  for (const auto& entry : earlier) {
    GuardMiss miss = entry->FirstMiss(frame);
    if (miss.guard.empty()) continue;
    record->trigger = miss.Text();
    record->misses.push_back(std::move(miss));
  }
  bool fullgraph = BoolOption(options, "fullgraph");
  auto skip = [&](BreakReason why) {
    record->status = "skipped";
    why.skip_frame = true;
    why.leaves_by_exception = false;
    record->breaks.push_back(std::move(why));
    AddRecord(record);
    return CompileOutcome::kSkip;
  };
  PyTime_t since = Now();
  auto end_of = [&since](double* stage) {
    PyTime_t now = Now();
    *stage += static_cast<double>(now - since) * 1e-6;
    since = now;
  };
  int break_at = -1;
  BreakReason reason;
  const SizePolicy sizes = SizesOf(options, frame, earlier);
  Trace* previous = current_trace;
  for (int attempt = 0; attempt < kMaxAttempts; attempt++) {
    Trace trace(frame, break_at, sizes);
    current_trace = &trace;
    RunResult result = trace.RunRoot();
    // A C function that unwound because of a break has left its exception.
    if (trace.failure() != Failure::kFatal) PyErr_Clear();
    end_of(&record->times.trace);
    bool stopped = result != RunResult::kReturned;
    if (stopped && !trace.reached_break()) {
      // Where must the next attempt stop?
      int step = trace.root_step();
      BreakReason why = trace.break_reason();
      if (trace.failure() == Failure::kFatal) {
        current_trace = previous;
        return CompileOutcome::kError;
      }
      if (why.at_step >= 0) step = why.at_step;
      if (trace.failure() == Failure::kRaise) {
        Var raised = trace.TakeRaised();
        step = raised->raise_step;
        why = BreakReason{};
        why.leaves_by_exception = true;
        why.reason = std::string("an exception leaves the function (") + raised->type->tp_name + ")";
      }
      current_trace = previous;
      if (why.skip_frame || (break_at >= 0 && step >= break_at)) return skip(why);
      if (fullgraph && !why.leaves_by_exception) {
        RaiseUnsupported(why);
        record->status = "error";
        record->breaks.push_back(why);
        AddRecord(record);
        return CompileOutcome::kError;
      }
      reason = why;
      break_at = step;
      continue;
    }
    PyRef placeholder = PyRef::Steal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
    Emitter emitter(trace, placeholder.get());
    bool emitted = emitter.Run();
    end_of(&record->times.emit);
    if (!emitted) {
      int step = emitter.retry_step();
      BreakReason why{.reason = emitter.why()};
      why.kind = step < 0 ? BreakKind::kCannotResume : emitter.kind();
      if (step < 0 && trace.reached_break()) {
        why.reason =
            reason.reason.starts_with(why.reason) ? reason.reason : why.reason + ": " + reason.reason;
        why.stack = reason.stack;
        why.functions = reason.functions;
      }
      if (trace.failure() == Failure::kFatal) {
        current_trace = previous;
        return CompileOutcome::kError;
      }
      current_trace = previous;
      PyErr_Clear();
      if (step < 0 && trace.reached_break()) step = trace.LastResumableStep();
      if (step < 0 || (break_at >= 0 && step >= break_at) || (break_at < 0 && step > trace.root_step()))
        return skip(why);
      if (fullgraph) {
        RaiseUnsupported(why);
        return CompileOutcome::kError;
      }
      why.leaves_by_exception =
          why.kind == BreakKind::kCannotRebuild && why.reason.find("exception") != std::string::npos;
      reason = why;
      break_at = step;
      continue;
    }
    AddAliasGuards(trace);
    trace.GuardUnlooked();
    if (!emitter.array_outputs().empty()) trace.PinSizes();  // their memory is made before the graph runs
    std::shared_ptr<SizePremises> size_premises = trace.TakeSizePremises();
    Graph graph = trace.graph();
    PyRef graph_object;
    if (emitter.needs_graph()) {
      graph.set_outputs(emitter.outputs());
      graph_object = PyRef::Steal(MakeGraphObject(std::move(graph), BackendOption(options),
                                                  emitter.array_outputs(), size_premises != nullptr));
      if (!graph_object) {
        PyErr_Clear();
        current_trace = previous;
        return skip({.reason = "the graph cannot be made ready to run", .kind = BreakKind::kInternal});
      }
      PyRef callable = GraphCallable(options.config, graph_object.get());
      if (!callable) {
        current_trace = previous;
        return CompileOutcome::kError;
      }
      emitter.SetGraphCallable(callable.get());
      TracerCounters().graphs++;
    }
    end_of(&record->times.graph);
    PyRef code = PyRef::Steal(reinterpret_cast<PyObject*>(emitter.TakeCode()));
    if (!code) {
      PyRef error = PyRef::Steal(PyErr_GetRaisedException());
      PyRef text = error ? PyRef::Steal(PyObject_Str(error.get())) : PyRef();
      current_trace = previous;
      return skip({.reason = std::string("internal: the rewritten code is refused: ") +
                             (text ? PyUnicode_AsUTF8(text.get()) : "?"),
                   .kind = BreakKind::kInternal});
    }
    end_of(&record->times.emit);
    record->status = "compiled";
    record->has_writes = !trace.writes().empty();
    if (record->has_writes) TracerCounters().replays++;  // of the call that is being compiled
    if (graph_object) FillGraphRecord(*record, graph_object.get());
    std::string settled = "return";
    if (trace.reached_break()) {
      if (!reason.leaves_by_exception) TracerCounters().breaks++;
      const Instruction& i = trace.root().parts->image.instructions[static_cast<size_t>(trace.root().pc)];
      if (reason.stack.empty()) {
        Site site;
        site.file = PyUnicode_AsUTF8(frame.code->co_filename);
        site.line = i.position.line;
        reason.stack.push_back(site);
        reason.functions.push_back(PyUnicode_AsUTF8(frame.code->co_qualname));
      }
      settled = (reason.leaves_by_exception ? "exception at line " : "break at line ") +
                std::to_string(i.position.line);
      record->breaks.push_back(reason);
    }
    for (Mutation& row : trace.ledger().mutable_rows()) row.settled_at = settled;
    record->ledger = trace.ledger().rows();
    current_trace = previous;
    if (!ApplyPolicy(*record)) return CompileOutcome::kError;
    record->rewritten = code;
    record->roles = emitter.roles();
    auto guards = std::make_shared<GuardProgram>(trace.sources(), trace.GuardsOutsideOfModels(),
                                                 trace.objects(), std::move(size_premises));
    record->guards = guards;
    AddRecord(record);
    PyErr_Clear();
    *out = std::make_unique<TracedEntry>(guards, code, record);
    current_trace = previous;
    return CompileOutcome::kCompiled;
  }
  current_trace = previous;
  return skip(
      {.reason = "no end after " + std::to_string(kMaxAttempts) + " attempts", .kind = BreakKind::kLimit});
}

}  // namespace thirdbook
