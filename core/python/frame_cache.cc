// See frame_cache.h.
#include "python/frame_cache.h"

#include <algorithm>
#include <utility>

#include "python/compiled_function.h"
#include "python/region.h"
#include "python/skip_rules.h"

namespace thirdbook {
namespace {

constexpr long kDefaultRecompileLimit = 8;

Tracer tracer = nullptr;
HookCounters counters;
int tracing_depth = 0;
bool reset_pending = false;

void ResetAll() {
  RaiseEpoch();
  // Dropping entries may free code objects and so states: take them one at a time.
  static std::vector<ConfigCache> dropped;
  ForEachState([](CodeState* state) {
    for (ConfigCache& cache : state->caches) dropped.push_back(std::move(cache));
    state->caches.clear();
  });
  std::vector<ConfigCache> caches = std::move(dropped);
  dropped.clear();
  for (ConfigCache& cache : caches) {
    cache.entries.clear();
    Py_DECREF(cache.config);
  }
  DropReplacements();
}

CodeState::Kind Classify(PyCodeObject* code) {
  constexpr int kWanted = CO_OPTIMIZED | CO_NEWLOCALS;
  constexpr int kRefused = CO_GENERATOR | CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR;
  bool plain = (code->co_flags & kWanted) == kWanted && (code->co_flags & kRefused) == 0;
  return plain && !IsSkippedFile(code->co_filename) ? CodeState::Kind::kCandidate : CodeState::Kind::kSkip;
}

long RecompileLimit(PyThreadState* thread, PyObject* config) {
  DisabledRegion off(thread);
  PyRef limit = PyRef::Steal(PyObject_GetAttrString(config, "recompile_limit"));
  long value = limit ? PyLong_AsLong(limit.get()) : -1;
  DropError();
  return value > 0 ? value : kDefaultRecompileLimit;
}

void WarnLimit(PyThreadState* thread, const FrameView& frame, CacheEntry* entry, long limit) {
  std::string reason = entry->FirstMiss(frame).Text();
  DisabledRegion off(thread);
  int failed =
      PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                       "thirdbook: %U (%U:%d) has been compiled %ld times (config.recompile_limit); further "
                       "calls that no compiled version fits run as plain Python. Last guard that failed: %s",
                       frame.code->co_qualname, frame.code->co_filename, frame.code->co_firstlineno, limit,
                       reason.empty() ? "(not known)" : reason.c_str());
  if (failed != 0) PyErr_Clear();  // warnings as errors must not change what the program does
}

// A replacement must be callable with the frame's arguments and closure.
bool CheckReplacement(const FrameView& frame, PyCodeObject* replacement) {
  Py_ssize_t cells = frame.closure != nullptr ? PyTuple_GET_SIZE(frame.closure) : 0;
  bool fits = replacement->co_argcount == frame.argument_slots && replacement->co_kwonlyargcount == 0 &&
              (replacement->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) == 0 &&
              (replacement->co_nfreevars == 0 || replacement->co_nfreevars == cells);
  if (!fits) {
    PyErr_Format(PyExc_SystemError,
                 "thirdbook: replacement of %U takes %d arguments and %d cells, the frame has %d and %zd",
                 frame.code->co_qualname, replacement->co_argcount, replacement->co_nfreevars,
                 frame.argument_slots, cells);
  }
  return fits;
}

bool MarkReplacement(PyCodeObject* code) {
  CodeState* state = EnsureState(code);
  if (state == nullptr) return false;
  state->kind = CodeState::Kind::kReplacement;
  return true;
}

CompileOutcome Trace(PyThreadState* thread, const FrameView& frame, PyObject* config,
                     const EntryList& earlier, std::unique_ptr<CacheEntry>* entry) {
  ++tracing_depth;
  CompileOutcome outcome;
  {
    DisabledRegion off(thread);
    CompileOptions options;
    options.config = config;
    outcome = tracer(frame, options, earlier, entry);
  }
  --tracing_depth;
  return outcome;
}

CacheAnswer Compile(PyThreadState* thread, const FrameView& frame, CodeState* state, PyObject* config,
                    PyRef* replacement) {
  static const EntryList kNoEntries;
  if (tracer == nullptr || tracing_depth > 0) return CacheAnswer::kEager;
  ConfigCache* cache = state->FindCache(config);
  bool recompile = cache != nullptr && !cache->entries.empty();
  if (recompile) {
    if (cache->limit_reached) return CacheAnswer::kEager;
    long limit = RecompileLimit(thread, config);
    cache = state->FindCache(config);  // reading an attribute can run anything
    recompile = cache != nullptr && !cache->entries.empty();
    if (recompile && static_cast<long>(cache->entries.size()) >= limit) {
      cache->limit_reached = true;
      WarnLimit(thread, frame, cache->entries.front().get(), limit);
      return CacheAnswer::kEager;
    }
  }
  std::unique_ptr<CacheEntry> entry;
  CompileOutcome outcome = Trace(thread, frame, config, recompile ? cache->entries : kNoEntries, &entry);
  CacheAnswer answer = CacheAnswer::kEager;
  if (outcome == CompileOutcome::kError) {
    answer = CacheAnswer::kError;
  } else if (outcome == CompileOutcome::kSkip) {
    state->kind = CodeState::Kind::kSkip;
  } else if (!CheckReplacement(frame, entry->replacement()) || !MarkReplacement(entry->replacement())) {
    answer = CacheAnswer::kError;
  } else {
    *replacement = MakeReplacement(*entry, frame);
    answer = *replacement ? CacheAnswer::kReplacement : CacheAnswer::kError;
    ++counters.compilations;
    if (recompile) ++counters.recompiles;
    EntryList& entries = state->EnsureCache(config)->entries;
    entries.insert(entries.begin(), std::move(entry));
  }
  if (reset_pending && tracing_depth == 0) {
    reset_pending = false;
    ResetAll();
  }
  return answer;
}

PyObject* ResetCaches(PyObject*, PyObject*) {
  if (tracing_depth > 0) {
    reset_pending = true;
  } else {
    ResetAll();
  }
  Py_RETURN_NONE;
}

PyObject* CountersDict(PyObject*, PyObject*) {
  return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K}", "frames", static_cast<unsigned long long>(counters.frames),
                       "compilations", static_cast<unsigned long long>(counters.compilations), "recompiles",
                       static_cast<unsigned long long>(counters.recompiles), "cacheHits",
                       static_cast<unsigned long long>(counters.cache_hits), "fallbacks",
                       static_cast<unsigned long long>(counters.fallbacks));
}

PyObject* ResetCounters(PyObject*, PyObject*) {
  counters = HookCounters();
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"reset", ResetCaches, METH_NOARGS,
     "Forgets every compiled version of every function, and every decision to skip one."},
    {"_counters", CountersDict, METH_NOARGS,
     "The frame hook's counters: frames, compilations, recompiles, cacheHits, fallbacks."},
    {"_reset_counters", ResetCounters, METH_NOARGS, "Sets the frame hook's counters to zero."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

CacheEntry::CacheEntry() {
  static uint64_t next_serial = 1;
  serial_ = next_serial++;
}

PyRef MakeReplacement(const CacheEntry& entry, const FrameView& frame) {
  PyCodeObject* code = entry.replacement();
  PyRef function = PyRef::Steal(PyFunction_New(reinterpret_cast<PyObject*>(code), frame.globals));
  if (function && code->co_nfreevars > 0 && PyFunction_SetClosure(function.get(), frame.closure) < 0)
    return PyRef();
  return function;
}

void SetTracer(Tracer new_tracer) { tracer = new_tracer; }
Tracer CurrentTracer() { return tracer; }
HookCounters& Counters() { return counters; }

int ArgumentSlots(PyCodeObject* code) {
  return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
         ((code->co_flags & CO_VARKEYWORDS) != 0);
}

bool MayTrace(const CodeState* state) {
  if (state == nullptr || state->kind == CodeState::Kind::kNew) return true;
  if (state->kind == CodeState::Kind::kReplacement) return false;
  return state->kind == CodeState::Kind::kCandidate || state->epoch != RulesEpoch();
}

CodeState* ClassifiedState(PyCodeObject* code) {
  CodeState* state = EnsureState(code);
  if (state == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  // While the tracer runs (then this is another thread's frame) no entry may go away.
  bool stale = state->epoch != RulesEpoch() && tracing_depth == 0;
  if (stale && state->kind != CodeState::Kind::kReplacement) {
    state->epoch = RulesEpoch();
    state->kind = Classify(code);
    state->DropCaches();
  }
  return state;
}

bool IsTraceable(PyCodeObject* code) {
  CodeState* state = ClassifiedState(code);
  return state != nullptr && state->kind == CodeState::Kind::kCandidate;
}

CacheEntry* FindEntry(ConfigCache* cache, const FrameView& frame) {
  if (cache == nullptr) return nullptr;
  EntryList& entries = cache->entries;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i]->Check(frame)) continue;
    if (i > 0)
      std::rotate(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(i),
                  entries.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    ++counters.cache_hits;
    return entries.front().get();
  }
  return nullptr;
}

CacheAnswer FindReplacement(PyThreadState* thread, const FrameView& frame, CodeState* state, PyObject* config,
                            PyRef* replacement) {
  CacheEntry* entry = FindEntry(state->FindCache(config), frame);
  if (entry == nullptr) return Compile(thread, frame, state, config, replacement);
  *replacement = MakeReplacement(*entry, frame);
  if (*replacement) return CacheAnswer::kReplacement;
  PyErr_Clear();  // no memory for a function object: the frame itself needs none
  return CacheAnswer::kEager;
}

bool InitFrameCache(PyObject* module) { return PyModule_AddFunctions(module, kMethods) == 0; }

}  // namespace thirdbook
