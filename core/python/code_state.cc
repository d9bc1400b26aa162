// See code_state.h.
#include "python/code_state.h"

#include <utility>

namespace thirdbook {
namespace {

CodeState* all_states = nullptr;
Py_ssize_t extra_index = -1;

void FreeState(void* extra) { delete static_cast<CodeState*>(extra); }

}  // namespace

CodeState::~CodeState() {
  if (previous != nullptr) previous->next = next;
  if (next != nullptr) next->previous = previous;
  if (all_states == this) all_states = next;
  for (ResumeCode& resume : resumes) {
    CodeState* state = FindState(resume.code);
    if (state != nullptr) state->origin = nullptr;
    Py_DECREF(resume.code);
  }
  DropCaches();
}

ConfigCache* CodeState::FindCache(PyObject* config) {
  for (ConfigCache& cache : caches) {
    if (cache.config == config) return &cache;
  }
  return nullptr;
}

ConfigCache* CodeState::EnsureCache(PyObject* config) {
  if (ConfigCache* cache = FindCache(config)) return cache;
  caches.push_back({Py_NewRef(config), {}});
  return &caches.back();
}

void CodeState::DropCaches() {
  std::vector<ConfigCache> dropped = std::move(caches);
  caches.clear();
  for (ConfigCache& cache : dropped) {
    cache.entries.clear();
    Py_DECREF(cache.config);
  }
}

CodeState* FindState(PyCodeObject* code) {
  void* extra = nullptr;
  if (extra_index < 0 || code->co_extra == nullptr) return nullptr;
  PyUnstable_Code_GetExtra(reinterpret_cast<PyObject*>(code), extra_index, &extra);
  return static_cast<CodeState*>(extra);
}

CodeState* EnsureState(PyCodeObject* code) {
  if (CodeState* state = FindState(code)) return state;
  if (extra_index < 0) {
    extra_index = PyUnstable_Eval_RequestCodeExtraIndex(FreeState);
    if (extra_index < 0) {
      PyErr_SetString(PyExc_RuntimeError, "thirdbook: CPython has no extra slot for code objects left");
      return nullptr;
    }
  }
  CodeState* state = new CodeState();
  if (PyUnstable_Code_SetExtra(reinterpret_cast<PyObject*>(code), extra_index, state) < 0) {
    delete state;
    return nullptr;
  }
  state->next = all_states;
  if (all_states != nullptr) all_states->previous = state;
  all_states = state;
  return state;
}

void ForEachState(void (*visit)(CodeState*)) {
  for (CodeState *state = all_states, *next; state != nullptr; state = next) {
    next = state->next;
    visit(state);
  }
}

}  // namespace thirdbook
