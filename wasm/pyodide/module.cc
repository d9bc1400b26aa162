// In: nothing. Out: the extension module `_core`. Invariant: importing it changes nothing in the interpreter.
#include <Python.h>

namespace thirdbook {
void* FrameClearAndPopAddress();
void* SetEvalFrameAddress();
}  // namespace thirdbook

namespace {

PyObject* HasHook(PyObject*, PyObject*) {
  return PyBool_FromLong(thirdbook::FrameClearAndPopAddress() && thirdbook::SetEvalFrameAddress());
}

PyMethodDef kMethods[] = {
    {"has_hook", HasHook, METH_NOARGS, "Whether CPython's frame hook can be reached."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "_core", nullptr, -1, kMethods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__core() {
  PyObject* module = PyModule_Create(&kModule);
  if (module != nullptr) PyModule_AddStringConstant(module, "version", THIRDBOOK_VERSION);
  return module;
}
