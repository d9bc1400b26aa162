// See policy.h.
#include "interpret/policy.h"

#include <algorithm>

namespace thirdbook {

namespace {

ReplaySettings settings;

PyObject* SetPolicy(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2) {
    PyErr_SetString(PyExc_TypeError, "_set_policy takes a number and a bool");
    return nullptr;
  }
  const long policy = PyLong_AsLong(args[0]);
  const int replay = PyObject_IsTrue(args[1]);
  if ((policy == -1 && PyErr_Occurred() != nullptr) || replay < 0) return nullptr;
  settings = ReplaySettings{static_cast<uint8_t>(policy), replay != 0};
  Py_RETURN_NONE;
}

// What only new objects hold is no effect.
bool IsEffect(const Mutation& m) {
  return m.kind != MutationKind::kValueNew && m.kind != MutationKind::kAttributeNew;
}

}  // namespace

const ReplaySettings& CurrentReplaySettings() { return settings; }

bool ApplyPolicy(const CompilationRecord& record) {
  if (settings.policy == 0 || std::none_of(record.ledger.begin(), record.ledger.end(), IsEffect)) return true;
  PyRef module = PyRef::Steal(PyImport_ImportModule("thirdbook._policy"));
  PyRef rows = PyRef::Steal(record.LedgerRows());
  if (!module || !rows) return false;
  return static_cast<bool>(
      PyRef::Steal(PyObject_CallMethod(module.get(), "announce", "isO", static_cast<int>(settings.policy),
                                       record.function.c_str(), rows.get())));
}

PyRef GraphCallable(PyObject* config, PyObject* graph_object) {
  PyRef backend = config != nullptr ? PyRef::Steal(PyObject_GetAttrString(config, "backend")) : PyRef();
  PyErr_Clear();
  if (!backend || PyUnicode_Check(backend.get()) || backend.get() == Py_None)
    return PyRef::Borrow(graph_object);
  PyRef module = PyRef::Steal(PyImport_ImportModule("thirdbook._backends"));
  if (!module) return PyRef();
  return PyRef::Steal(PyObject_CallMethod(module.get(), "graph_callable", "OO", backend.get(), graph_object));
}

bool InitPolicy(PyObject* module) {
  static PyMethodDef methods[] = {
      {"_set_policy", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(SetPolicy)), METH_FASTCALL,
       "_set_policy(policy, replay): 0 silent, 1 log, 2 warn, 3 error; whether effects are replayed."},
      {nullptr, nullptr, 0, nullptr}};
  return PyModule_AddFunctions(module, methods) == 0;
}

}  // namespace thirdbook
