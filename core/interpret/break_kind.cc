#include "interpret/break_kind.h"

#include <Python.h>

#include <cstddef>
#include <cstring>

#include "python/py_ref.h"

namespace thirdbook {

const char* CodeOf(BreakKind kind) {
  static constexpr const char* kCodes[] = {
#define TB_BREAK(name, code, title, why, hint) code,
#include "interpret/breaks.def"
#undef TB_BREAK
  };
  return kCodes[static_cast<size_t>(kind)];
}

static std::string TextOf(BreakKind kind, Py_ssize_t which) {
  PyRef module = PyRef::Steal(PyImport_ImportModule("thirdbook._break_texts"));
  PyRef texts = module ? PyRef::Steal(PyObject_GetAttrString(module.get(), "TEXTS")) : PyRef();
  PyObject* pair = texts ? PyDict_GetItemString(texts.get(), CodeOf(kind)) : nullptr;
  const char* text = pair != nullptr ? PyUnicode_AsUTF8(PyTuple_GetItem(pair, which)) : nullptr;
  PyErr_Clear();
  return text != nullptr ? text : "";
}

std::string WhyOf(BreakKind kind) { return TextOf(kind, 0); }
std::string HintOf(BreakKind kind) { return TextOf(kind, 1); }

BreakKind BreakKindOf(const char* code) {
  for (int i = 0; i < static_cast<int>(BreakKind::kInternal); i++) {
    if (std::strcmp(CodeOf(static_cast<BreakKind>(i)), code) == 0) return static_cast<BreakKind>(i);
  }
  return BreakKind::kInternal;
}

}  // namespace thirdbook
