// See fault_injection.h. The tensor and kernel folders count by themselves while they are armed; a scope arms
// them on entry with what is left until the fault, and takes their counts on leaving.
#include "python/fault_injection.h"

#include <cstring>

#include "kernel/engine.h"
#include "tensor/tensor.h"

namespace thirdbook {

bool fault_armed = false;

namespace {

struct Kind {
  const char* name;
  bool armed = false;
  long long left = -1;  // events until the one that fails; negative: it has been, or none is asked for
  long long counted = 0;

  int Left() const { return left > 0x7fffffff ? -1 : static_cast<int>(left); }
  void Take(long long events) {
    counted += events;
    if (left >= 0) left -= events;  // below zero: it has struck
  }
};

Kind kinds[] = {{"allocation"}, {"kernel"}, {"dispatch"}};
Kind& allocation = kinds[0];
Kind& kernel = kinds[1];
Kind& dispatch = kinds[2];
int depth = 0;

PyObject* InjectFault(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  const char* name = nargs == 2 ? PyUnicode_AsUTF8(args[0]) : nullptr;
  if (nargs != 2) PyErr_SetString(PyExc_TypeError, "inject_fault takes a kind and a number");
  if (name == nullptr) return nullptr;
  const long long nth = PyLong_AsLongLong(args[1]);
  if (nth == -1 && PyErr_Occurred() != nullptr) return nullptr;
  for (Kind& kind : kinds) {
    if (std::strcmp(kind.name, name) != 0) continue;
    const long long before = kind.counted;
    kind.armed = nth >= 0;
    kind.left = nth;
    kind.counted = 0;
    fault_armed = allocation.armed || kernel.armed || dispatch.armed;
    return PyLong_FromLongLong(before);
  }
  PyErr_Format(PyExc_ValueError, "unknown kind of fault '%s'; there are allocation, kernel, dispatch", name);
  return nullptr;
}

}  // namespace

void FaultScope::Enter() {
  if (depth++ > 0) return;
  SetAllocationFault(allocation.armed ? allocation.Left() : -1);
  SetInstantiationFault(kernel.armed ? kernel.Left() : -1);
  SetDispatchFault(dispatch.armed ? dispatch.Left() : -1);
}

void FaultScope::Leave() {
  if (--depth > 0) return;
  if (allocation.armed) allocation.Take(AllocationCount());
  SetAllocationFault(-1);
  const int kernels = SetInstantiationFault(-1);
  if (kernel.armed) kernel.Take(kernels);
  const int steps = SetDispatchFault(-1);
  if (dispatch.armed) dispatch.Take(steps);
}

bool MakingFault() {
  if (!kernel.armed) return false;
  const bool strikes = kernel.left == 0;
  kernel.Take(1);
  return strikes;
}

bool InitFaultInjection(PyObject* module) {
  static PyMethodDef methods[] = {
      {"inject_fault", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(InjectFault)), METH_FASTCALL,
       "inject_fault(kind, nth): the nth (from 0) event of kind \"allocation\", \"kernel\" or \"dispatch\" "
       "in compiled graphs fails once; "
       "nth < 0 disarms. Gives the number of such events since the last arming. For tests."},
      {nullptr, nullptr, 0, nullptr}};
  return PyModule_AddFunctions(module, methods) == 0;
}

}  // namespace thirdbook
