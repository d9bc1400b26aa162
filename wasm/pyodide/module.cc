// In: nothing. Out: the extension module `_core`. Invariant: importing it changes nothing in the interpreter.
#include <Python.h>

#include "interpret/compile.h"
#include "interpret/record.h"
#include "python/frame_hook.h"
#include "python/graph_object.h"
#include "python/tensor_object.h"

namespace {

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "_core", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__core() {
  PyObject* module = PyModule_Create(&kModule);
  if (module == nullptr) return nullptr;
  if (PyModule_AddStringConstant(module, "version", THIRDBOOK_VERSION) < 0 ||
      !thirdbook::InitTensorTypes(module) || !thirdbook::InitFrameHook(module) ||
      !thirdbook::InitGraphObject(module) || !thirdbook::InitProxy(module) ||
      !thirdbook::InitRecords(module)) {
    Py_DECREF(module);
    return nullptr;
  }
  thirdbook::SetTracer(&thirdbook::CompileFrame);
  return module;
}
