// See skip_rules.h.
#include "python/skip_rules.h"

#include <algorithm>
#include <string>
#include <vector>

#include "python/py_ref.h"

namespace thirdbook {
namespace {

std::vector<std::string> skip_prefixes, trace_files;
uint32_t epoch = 1;

// False with an exception set when `sequence` is not one of str.
bool ReadStrings(PyObject* sequence, std::vector<std::string>* out) {
  PyRef fast = PyRef::Steal(PySequence_Fast(sequence, "expected a sequence of str"));
  if (!fast) return false;
  std::vector<std::string> strings;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
    Py_ssize_t size;
    const char* text = PyUnicode_AsUTF8AndSize(PySequence_Fast_GET_ITEM(fast.get(), i), &size);
    if (text == nullptr) return false;
    strings.emplace_back(text, static_cast<size_t>(size));
  }
  *out = std::move(strings);
  ++epoch;
  return true;
}

PyObject* SetSkipPrefixes(PyObject*, PyObject* prefixes) {
  if (!ReadStrings(prefixes, &skip_prefixes)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* SetTraceFiles(PyObject*, PyObject* files) {
  if (!ReadStrings(files, &trace_files)) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"set_skip_prefixes", SetSkipPrefixes, METH_O,
     "set_skip_prefixes(prefixes): code from files whose path begins with one of these is never traced by "
     "the hook."},
    {"set_trace_files", SetTraceFiles, METH_O,
     "set_trace_files(paths): exact paths that are traced in spite of set_skip_prefixes."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool IsSkippedFile(PyObject* filename) {
  Py_ssize_t size;
  const char* text = PyUnicode_AsUTF8AndSize(filename, &size);
  if (text == nullptr) {
    PyErr_Clear();
    return true;
  }
  std::string path(text, static_cast<size_t>(size));
  if (path.compare(0, 8, "<frozen ") == 0) return true;
  if (std::find(trace_files.begin(), trace_files.end(), path) != trace_files.end()) return false;
  return std::any_of(skip_prefixes.begin(), skip_prefixes.end(),
                     [&](const std::string& prefix) { return path.compare(0, prefix.size(), prefix) == 0; });
}

uint32_t RulesEpoch() { return epoch; }
void RaiseEpoch() { ++epoch; }

bool InitSkipRules(PyObject* module) { return PyModule_AddFunctions(module, kMethods) == 0; }

}  // namespace thirdbook
