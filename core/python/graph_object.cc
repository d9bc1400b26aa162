// See graph_object.h.
#include "python/graph_object.h"

#include <algorithm>
#include <new>
#include <unordered_map>

#include "graph/resize.h"
#include "graph/serialize.h"
#include "kernel/engine.h"
#include "python/device_graph.h"
#include "python/fault_injection.h"
#include "python/frame_hook.h"
#include "python/py_ref.h"
#include "python/tensor_internal.h"
#include "python/tensor_object.h"
#include "tensor/generator.h"
#include "tensor/kernels.h"

namespace thirdbook {

namespace {

// Numbers given at a call are written into tensors that the graph object keeps: a call with numbers allocates
// nothing for them.
struct Scalar {
  Tensor tensor;
};

// The graph for one set of sizes.
struct Fitted {
  Graph graph;
  DeviceGraph device;
  bool is_planned = false;
  std::unique_ptr<Executable> executable;  // null: node by node
};

struct GraphObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Graph* graph;
  Executable* executable;                           // nullptr: node by node
  DeviceGraph* device;                              // nullptr: never on the GPU; with `fitted` those are used
  bool device_first;                                // on the GPU wherever the inputs are
  std::unordered_map<std::string, Fitted>* fitted;  // by sizes; nullptr: the sizes are those of the trace
  Backend backend;
  std::vector<Scalar>* scalars;
  std::vector<ArrayOutput>* arrays;
  bool random;
};

PyTypeObject* graph_type = nullptr;

template <typename T>
const Tensor* PutNumber(Scalar* scalar, DType dtype, T value, Tensor (*make)(T)) {
  if (!scalar->tensor.defined() || scalar->tensor.dtype() != dtype)
    scalar->tensor = make(value);
  else
    *scalar->tensor.data<T>() = value;
  return &scalar->tensor;
}

// The tensor for one argument: the object's own, or one in `scalar`. NULL with an exception set.
const Tensor* ToTensor(PyObject* o, Scalar* scalar) {
  if (IsTensor(o)) return &AsTensor(o);
  if (PyFloat_CheckExact(o))
    return PutNumber(scalar, DType::kFloat64, PyFloat_AS_DOUBLE(o), Tensor::WeakFloat);
  if (PyBool_Check(o)) return PutNumber(scalar, DType::kBool, o == Py_True, Tensor::WeakBool);
  if (PyLong_Check(o)) {
    const long long value = PyLong_AsLongLong(o);
    if (value == -1 && PyErr_Occurred() != nullptr) return nullptr;
    return PutNumber(scalar, DType::kInt64, static_cast<int64_t>(value), Tensor::WeakInt);
  }
  if (const ArrayAdapter* library = NumpyLibrary(); library != nullptr && library->borrow(o, &scalar->tensor))
    return &scalar->tensor;
  if (PyFloat_Check(o)) return PutNumber(scalar, DType::kFloat64, PyFloat_AS_DOUBLE(o), Tensor::WeakFloat);
  if (IsArray(o)) return TensorFromBuffer(o, &scalar->tensor) ? &scalar->tensor : nullptr;
  PyErr_Format(PyExc_TypeError, "a graph takes tensors and numbers, not %.100s", Py_TYPE(o)->tp_name);
  return nullptr;
}

constexpr size_t kInline = 16;  // inputs for which no memory is taken

constexpr size_t kMostSizes = 64;  // sets of sizes for which plans are kept

// The graph for the sizes of these inputs and the numbers among them.
Result<Fitted*> FitTo(GraphObject* g, const Tensor* const* inputs, size_t n) {
  std::string key;
  const auto put = [&key](int64_t v) { key.append(reinterpret_cast<const char*>(&v), sizeof v); };
  std::vector<ResizedInput> resized(n);
  for (size_t i = 0; i < n; i++) {
    const TensorMeta& traced = g->graph->meta({g->graph->inputs()[i], 0});
    resized[i].meta = inputs[i]->meta();
    resized[i].meta.weak = traced.weak;
    if (traced.weak && traced.dtype == DType::kInt64) resized[i].number = *inputs[i]->data<int64_t>();
    for (int64_t size : resized[i].meta.sizes) put(size);
  }
  for (const Node& node : g->graph->nodes()) {
    for (const SymbolicInt& s : node.symbolic) put(resized[static_cast<size_t>(s.input)].number);
  }
  auto it = g->fitted->find(key);
  if (it != g->fitted->end()) return &it->second;
  TB_ASSIGN_OR_RETURN(Graph graph, Resize(*g->graph, resized));
  if (g->fitted->size() >= kMostSizes) g->fitted->clear();
  Fitted& made = (*g->fitted)[std::move(key)];
  made.graph = std::move(graph);
  return &made;
}

bool AllToHost(const std::vector<Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.ToHost().ok(); });
}

Status RunGraph(GraphObject* g, const Tensor* const* inputs, size_t n, std::vector<Tensor>* outputs) {
  const Graph* graph = g->graph;
  Executable* executable = g->executable;
  DeviceGraph* device = g->device;
  Fitted* fitted = nullptr;
  if (g->fitted != nullptr) {
    TB_ASSIGN_OR_RETURN(fitted, FitTo(g, inputs, n));
    graph = &fitted->graph;
    device = g->device != nullptr ? &fitted->device : nullptr;
  }
  if (device != nullptr) {
    const bool there = g->device_first || AnyOnDevice(inputs, n);
    if (there || device->Gains(*graph)) {
      // What was in memory is read at once: whoever looks at it later may be unable to wait.
      if (device->Run(*graph, inputs, n, outputs) && (there || AllToHost(*outputs))) return Status::Ok();
      ++Counters().fallbacks;
    }
  }
  FaultScope faults;
  if (fitted != nullptr) {
    if (!fitted->is_planned) {
      Result<std::unique_ptr<Executable>> made = CompileGraph(Graph(*graph), g->backend);
      if (made.ok()) fitted->executable = std::move(*made);
      fitted->is_planned = true;
    }
    executable = fitted->executable.get();
  }
  if (executable != nullptr) return executable->RunInto(inputs, n, outputs);
  if (DispatchFault()) return RuntimeError("a graph's run was refused");
  std::vector<Tensor> copies;
  for (size_t i = 0; i < n; i++) copies.push_back(*inputs[i]);
  TB_ASSIGN_OR_RETURN(*outputs, RunReference(*graph, copies));
  return Status::Ok();
}

PyObject* CallGraph(PyObject* self, PyObject* const* args, size_t nargsf, PyObject*) {
  GraphObject* g = reinterpret_cast<GraphObject*>(self);
  size_t n = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  if (n != g->graph->inputs().size()) {
    PyErr_Format(PyExc_TypeError, "the graph takes %zu inputs, not %zu", g->graph->inputs().size(), n);
    return nullptr;
  }
  const Tensor* few[kInline];
  std::vector<const Tensor*> many;
  const Tensor** inputs = few;
  if (n > kInline) {
    many.resize(n);
    inputs = many.data();
  }
  for (size_t i = 0; i < n; i++) {
    inputs[i] = ToTensor(args[i], &(*g->scalars)[i]);
    if (inputs[i] == nullptr) return nullptr;
  }
  Generator saved;
  if (g->random) saved = DefaultGenerator();
  std::vector<Tensor> outputs, memories;
  std::vector<PyRef> arrays;
  for (const ArrayOutput& a : *g->arrays) {
    memories.emplace_back();
    arrays.push_back(PyRef::Steal(a.form.adapter->allocate(a.recipe.get(), a.memory, &memories.back())));
    if (!arrays.back()) return nullptr;
    outputs.resize(g->graph->outputs().size());
    outputs[a.index] = memories.back();
  }
  Status status = RunGraph(g, inputs, n, &outputs);
  for (size_t i = 0; i < arrays.size() && status.ok(); i++) {
    const Tensor& output = outputs[(*g->arrays)[i].index];
    if (output.storage() != memories[i].storage()) status = CopyInto(memories[i], output);
  }
  for (size_t i = 0; i < n; i++) {
    if (inputs[i] == &(*g->scalars)[i].tensor && IsArray(args[i]))
      (*g->scalars)[i].tensor = Tensor();  // lets the array go
  }
  if (!status.ok()) {
    if (g->random) DefaultGenerator() = saved;
    return RaiseStatus(status);
  }
  PyRef tuple = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(outputs.size())));
  if (!tuple && g->random) DefaultGenerator() = saved;
  for (size_t i = 0, next = 0; tuple && i < outputs.size(); i++) {
    PyObject* tensor;
    if (next < arrays.size() && (*g->arrays)[next].index == i) {
      const ArrayForm& form = (*g->arrays)[next].form;
      tensor = arrays[next++].release();
      if (form.scalar) tensor = form.adapter->scalar_of(tensor);
    } else {
      tensor = WrapTensor(std::move(outputs[i]));
    }
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
  delete g->device;
  delete g->fitted;
  delete g->graph;
  delete g->scalars;
  delete g->arrays;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* ReprGraph(PyObject* self) {
  std::string text = Print(*reinterpret_cast<GraphObject*>(self)->graph);
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyObject* Commit(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  Tensor target;
  const bool found = nargs == 2 && (IsTensor(args[0]) ? TensorLibrary() : NumpyLibrary()) != nullptr &&
                     (IsTensor(args[0]) ? TensorLibrary() : NumpyLibrary())->borrow(args[0], &target);
  if (!found || !IsTensor(args[1])) {
    PyErr_SetString(PyExc_TypeError, "_commit takes a tensor or an array, and a tensor");
    return nullptr;
  }
  if (IsTensor(args[0]) && CommitOnDevice(target, AsTensor(args[1]))) Py_RETURN_NONE;
  Status status = CopyInto(target, AsTensor(args[1]));
  return status.ok() ? Py_NewRef(Py_None) : RaiseStatus(status);
}

PyObject* OutputCount(PyObject* self, void*) {
  return PyLong_FromSize_t(reinterpret_cast<GraphObject*>(self)->graph->outputs().size());
}

template <typename F>
void* Slot(F* f) {
  return reinterpret_cast<void*>(f);
}

PyMemberDef graph_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(GraphObject, vectorcall), Py_READONLY, nullptr}, {}};
PyGetSetDef graph_getset[] = {
    {"output_count", OutputCount, nullptr, "How many tensors a call gives.", nullptr}, {}};
PyType_Slot graph_slots[] = {{Py_tp_dealloc, Slot(Dealloc)},        {Py_tp_repr, Slot(ReprGraph)},
                             {Py_tp_call, Slot(PyVectorcall_Call)}, {Py_tp_members, graph_members},
                             {Py_tp_getset, graph_getset},          {0, nullptr}};
PyType_Spec graph_spec = {"thirdbook._core.CompiledGraph", sizeof(GraphObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          graph_slots};

// _register_engine(instantiate, relaxed): the table index of (bytes, size) -> table index; see
// _kernel_bridge.py.
PyObject* RegisterEngine(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2) {
    PyErr_SetString(PyExc_TypeError, "_register_engine takes two arguments");
    return nullptr;
  }
  const Py_ssize_t address = PyLong_AsSsize_t(args[0]);
  if (address == -1 && PyErr_Occurred() != nullptr) return nullptr;
  const int relaxed = PyObject_IsTrue(args[1]);
  if (relaxed < 0) return nullptr;
  Engine engine;
#ifdef __EMSCRIPTEN__
  engine.instantiate = reinterpret_cast<int (*)(const uint8_t*, int)>(address);
  engine.relaxed = relaxed != 0;
#endif
  SetEngine(engine);
  Py_RETURN_NONE;
}
PyObject* EngineRegistered(PyObject*, PyObject*) {
  return PyBool_FromLong(CurrentEngine().instantiate != nullptr);
}

// _save_graph(graph object), _load_graph(bytes): graph/serialize.h.
PyObject* SaveGraphObject(PyObject*, PyObject* object) {
  const Graph* graph = GraphOf(object);
  if (graph == nullptr) {
    PyErr_SetString(PyExc_TypeError, "_save_graph takes a graph");
    return nullptr;
  }
  Result<std::vector<uint8_t>> bytes = SaveGraph(*graph);
  if (!bytes.ok()) return RaiseStatus(bytes.status());
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes->data()),
                                   static_cast<Py_ssize_t>(bytes->size()));
}
PyObject* LoadGraphObject(PyObject*, PyObject* object) {
  char* data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(object, &data, &size) < 0) return nullptr;
  Result<Graph> graph = LoadGraph(reinterpret_cast<const uint8_t*>(data), static_cast<size_t>(size));
  if (!graph.ok()) return RaiseStatus(graph.status());
  return MakeGraphObject(std::move(*graph), Backend::kWasm);
}

template <typename F>
PyCFunction Method(F* f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

PyMethodDef kMethods[] = {
    {"_commit", Method(Commit), METH_FASTCALL, "Writes a graph's final value into an input."},
    {"_register_engine", Method(RegisterEngine), METH_FASTCALL,
     "Sets the function that instantiates kernels."},
    {"_save_graph", SaveGraphObject, METH_O, "A graph as bytes."},
    {"_load_graph", LoadGraphObject, METH_O, "A graph object from such bytes."},
    {"_engine_registered", EngineRegistered, METH_NOARGS, "Whether kernels can be instantiated."},
    {nullptr, nullptr, 0, nullptr}};

// The graph with the sizes of its trace.
Graph AsTraced(Graph graph) {
  for (Node& node : graph.mutable_nodes()) node.symbolic.clear();
  return graph;
}

// Connects the engine before the first kernel is made; where that fails, kernels are interpreted.
void ConnectEngine() {
#ifdef __EMSCRIPTEN__
  static bool tried = false;
  if (tried || CurrentEngine().instantiate != nullptr) return;
  tried = true;
  PyRef bridge = PyRef::Steal(PyImport_ImportModule("thirdbook._kernel_bridge"));
  PyRef result = PyRef::Steal(bridge ? PyObject_CallMethod(bridge.get(), "connect", nullptr) : nullptr);
  if (!result) PyErr_Clear();
#endif
}

}  // namespace

PyObject* MakeGraphObject(Graph graph, Backend backend, std::vector<ArrayOutput> arrays, bool any_size) {
  for (ArrayOutput& a : arrays) {
    a.recipe = PyRef::Steal(a.form.adapter->recipe(a.layout));
    if (!a.recipe) return nullptr;
  }
  bool random = false;
  for (const Node& node : graph.nodes()) random = random || Info(node.op).op_class == OpClass::kRandom;
  if (backend != Backend::kReference) ConnectEngine();
  if (!any_size) graph = AsTraced(std::move(graph));
  // Where no executable can be made the graph runs node by node: slower, and the same.
  std::unique_ptr<Executable> executable;
  if (!MakingFault()) {
    FaultScope faults;
    Result<std::unique_ptr<Executable>> made = CompileGraph(AsTraced(graph), backend);
    if (made.ok()) executable = std::move(*made);
  }
  GraphObject* g = PyObject_New(GraphObject, graph_type);
  if (g == nullptr) return nullptr;
  g->vectorcall = CallGraph;
  g->executable = executable.release();
  // Arrays of other libraries are in memory.
  const bool anywhere =
      (backend == Backend::kWebGpu || backend == Backend::kAuto) && !random && arrays.empty();
  g->device = anywhere ? new DeviceGraph : nullptr;
  g->device_first = backend == Backend::kWebGpu;
  g->fitted = any_size ? new std::unordered_map<std::string, Fitted>() : nullptr;
  g->backend = backend;
  g->random = random;
  g->arrays = new std::vector<ArrayOutput>(std::move(arrays));
  g->scalars = new std::vector<Scalar>(graph.inputs().size());
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
  return graph_type != nullptr && PyModule_AddFunctions(module, kMethods) == 0 &&
         InitFaultInjection(module) && InitDeviceGraph(module);
}

}  // namespace thirdbook
