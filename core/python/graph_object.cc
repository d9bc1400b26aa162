// See graph_object.h.
#include "python/graph_object.h"

#include <new>

#include "python/py_ref.h"
#include "python/tensor_object.h"
#include "tensor/generator.h"
#include "tensor/kernels.h"

namespace thirdbook {

namespace {

struct GraphObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Graph* graph;
  Executable* executable;  // nullptr: node by node
  bool random;
};

PyTypeObject* graph_type = nullptr;

bool ToTensor(PyObject* o, Tensor* out) {
  if (IsTensor(o)) {
    *out = AsTensor(o);
    return true;
  }
  if (PyBool_Check(o)) {
    *out = Tensor::WeakBool(o == Py_True);
    return true;
  }
  if (PyLong_Check(o)) {
    long long value = PyLong_AsLongLong(o);
    if (value == -1 && PyErr_Occurred() != nullptr) return false;
    *out = Tensor::WeakInt(value);
    return true;
  }
  if (PyFloat_Check(o)) {
    *out = Tensor::WeakFloat(PyFloat_AS_DOUBLE(o));
    return true;
  }
  PyErr_Format(PyExc_TypeError, "a graph takes tensors and numbers, not %.100s", Py_TYPE(o)->tp_name);
  return false;
}

PyObject* CallGraph(PyObject* self, PyObject* const* args, size_t nargsf, PyObject*) {
  GraphObject* g = reinterpret_cast<GraphObject*>(self);
  size_t n = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  if (n != g->graph->inputs().size()) {
    PyErr_Format(PyExc_TypeError, "the graph takes %zu inputs, not %zu", g->graph->inputs().size(), n);
    return nullptr;
  }
  std::vector<Tensor> inputs(n);
  for (size_t i = 0; i < n; i++) {
    if (!ToTensor(args[i], &inputs[i])) return nullptr;
  }
  Generator saved;
  if (g->random) saved = DefaultGenerator();
  Result<std::vector<Tensor>> outputs =
      g->executable != nullptr ? g->executable->Run(inputs) : RunReference(*g->graph, inputs);
  if (!outputs.ok()) {
    if (g->random) DefaultGenerator() = saved;
    return RaiseStatus(outputs.status());
  }
  PyRef tuple = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(outputs->size())));
  for (size_t i = 0; tuple && i < outputs->size(); i++) {
    PyObject* tensor = WrapTensor(std::move((*outputs)[i]));
    if (tensor == nullptr) {
      if (g->random) DefaultGenerator() = saved;
      return nullptr;
    }
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), tensor);
  }
  return tuple.release();
}

void Dealloc(PyObject* self) {
  GraphObject* g = reinterpret_cast<GraphObject*>(self);
  delete g->executable;
  delete g->graph;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* ReprGraph(PyObject* self) {
  std::string text = Print(*reinterpret_cast<GraphObject*>(self)->graph);
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyObject* Commit(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2 || !IsTensor(args[0]) || !IsTensor(args[1])) {
    PyErr_SetString(PyExc_TypeError, "_commit takes two tensors");
    return nullptr;
  }
  Status status = CopyInto(AsTensor(args[0]), AsTensor(args[1]));
  return status.ok() ? Py_NewRef(Py_None) : RaiseStatus(status);
}

template <typename F>
void* Slot(F* f) {
  return reinterpret_cast<void*>(f);
}

PyMemberDef graph_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(GraphObject, vectorcall), Py_READONLY, nullptr}, {}};
PyType_Slot graph_slots[] = {{Py_tp_dealloc, Slot(Dealloc)},
                             {Py_tp_repr, Slot(ReprGraph)},
                             {Py_tp_call, Slot(PyVectorcall_Call)},
                             {Py_tp_members, graph_members},
                             {0, nullptr}};
PyType_Spec graph_spec = {"thirdbook._core.CompiledGraph", sizeof(GraphObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          graph_slots};

PyMethodDef kMethods[] = {{"_commit", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(Commit)),
                           METH_FASTCALL, "Writes a graph's final value into an input."},
                          {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* MakeGraphObject(Graph graph, Backend backend) {
  (void)backend;
  GraphObject* g = PyObject_New(GraphObject, graph_type);
  if (g == nullptr) return nullptr;
  g->vectorcall = CallGraph;
  g->executable = nullptr;
  g->random = false;
  for (const Node& node : graph.nodes()) g->random = g->random || Info(node.op).op_class == OpClass::kRandom;
  g->graph = new Graph(std::move(graph));
  return reinterpret_cast<PyObject*>(g);
}

const Graph* GraphOf(PyObject* object) {
  return Py_TYPE(object) == graph_type ? reinterpret_cast<GraphObject*>(object)->graph : nullptr;
}
Executable* ExecutableOf(PyObject* object) {
  return Py_TYPE(object) == graph_type ? reinterpret_cast<GraphObject*>(object)->executable : nullptr;
}

bool InitGraphObject(PyObject* module) {
  graph_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&graph_spec));
  return graph_type != nullptr && PyModule_AddFunctions(module, kMethods) == 0;
}

}  // namespace thirdbook
