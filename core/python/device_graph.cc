#include "python/device_graph.h"

#include "graph/serialize.h"
#include "python/region.h"
#include "python/tensor_internal.h"
#include "python/tensor_object.h"
#include "tensor/convert.h"

namespace thirdbook {
namespace {

PyRef Gpu(const char* name) {
  PyRef module = PyRef::Steal(PyImport_ImportModule("thirdbook._gpu"));
  return PyRef::Steal(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
}

// Nothing of the device's may be seen as the program's own error.
bool Forget() {
  PyErr_Clear();
  return false;
}

PyRef View(void* data, size_t bytes) {
  return PyRef::Steal(
      PyMemoryView_FromMemory(static_cast<char*>(data), static_cast<Py_ssize_t>(bytes), PyBUF_WRITE));
}

// Calls of Python that nothing traces.
class Untraced {
 public:
  Untraced() : token_(EnterRegion(PyThreadState_Get(), nullptr)) {}
  ~Untraced() { LeaveRegion(token_); }
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;

 private:
  RegionToken token_;
};

// And that do not disturb an exception on its way: a storage may die while one is.
class Undisturbed {
 public:
  Undisturbed() : error_(PyErr_GetRaisedException()) {}
  ~Undisturbed() { PyErr_SetRaisedException(error_); }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  PyObject* error_;
  Untraced untraced_;
};

Status ReadDevice(int id, void* to, size_t bytes) {
  const Undisturbed keep;
  PyRef read = Gpu("read"), view = View(to, bytes);
  PyRef done = PyRef::Steal(read && view ? PyObject_CallFunction(read.get(), "iO", id, view.get()) : nullptr);
  if (done) return Status::Ok();
  PyRef error = PyRef::Steal(PyErr_GetRaisedException());
  PyRef text = PyRef::Steal(error ? PyObject_Str(error.get()) : nullptr);
  const char* message = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  PyErr_Clear();
  return RuntimeError(message ? message : "a tensor's elements could not be read from the GPU");
}

void ReleaseDevice(int id) {
  const Undisturbed keep;
  PyRef release = Gpu("release");
  PyRef done = PyRef::Steal(release ? PyObject_CallFunction(release.get(), "i", id) : nullptr);
  if (!done) PyErr_Clear();
}

int NumberFrom(const PyRef& number) {
  if (!number || number.get() == Py_None) return -1;
  return static_cast<int>(PyLong_AsLong(number.get()));
}

// Moves the elements of a tensor that belongs to the device to it, where they may leave memory.
void MoveToDevice(const Tensor& tensor) {
  Storage& storage = *tensor.storage();
  if (storage.device_id() >= 0 || tensor.meta().device == Device::kCpu || !storage.can_leave_memory()) return;
  PyRef upload = Gpu("upload"), view = View(storage.data(), storage.bytes());
  if (!upload || !view) return PyErr_Clear();
  const std::string dtype(DTypeName(tensor.dtype()));
  const int id =
      NumberFrom(PyRef::Steal(PyObject_CallFunction(upload.get(), "Os", view.get(), dtype.c_str())));
  if (id < 0) return PyErr_Clear();
  // Meanwhile someone may have taken a view of the memory, or moved it.
  if (storage.device_id() < 0 && storage.can_leave_memory())
    storage.ToDevice(id);
  else
    ReleaseDevice(id);
}

PyRef Tuple(const Sizes& sizes) {
  PyRef tuple = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(sizes.size())));
  for (size_t i = 0; tuple && i < sizes.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  return tuple;
}

bool SizesFrom(PyObject* tuple, Sizes* sizes) {
  sizes->clear();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    sizes->push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i)));
  return PyErr_Occurred() == nullptr;
}

// (view or None, layout or None), as _gpu.run takes it. `kept` holds a contiguous copy of what is scattered.
PyRef Described(const Tensor& tensor, std::vector<Tensor>* kept) {
  const TensorMeta& meta = tensor.meta();
  const int64_t item = ItemSize(meta.dtype);
  if (tensor.storage()->device_id() >= 0) {
    PyRef shape = Tuple(meta.sizes), strides = Tuple(meta.strides);
    if (!shape || !strides) return {};
    return PyRef::Steal(
        Py_BuildValue("O{sisOsOsLsL}", Py_None, "id", tensor.storage()->device_id(), "shape", shape.get(),
                      "strides", strides.get(), "offset", static_cast<long long>(meta.offset), "elements",
                      static_cast<long long>(static_cast<int64_t>(tensor.storage()->bytes()) / item)));
  }
  Result<Tensor> dense = AsContiguous(tensor, meta.dtype);
  if (!dense.ok()) return {};
  kept->push_back(*dense);
  PyRef view = View(dense->data(), static_cast<size_t>(meta.numel() * item));
  if (!view || meta.weak) return PyRef::Steal(view ? Py_BuildValue("OO", view.get(), Py_None) : nullptr);
  PyRef shape = Tuple(meta.sizes);
  return PyRef::Steal(shape ? Py_BuildValue("O{sO}", view.get(), "shape", shape.get()) : nullptr);
}

PyObject* DeviceId(PyObject*, PyObject* object) {
  if (!IsTensor(object)) return PyErr_Format(PyExc_TypeError, "_device_id takes a tensor");
  return PyLong_FromLong(AsTensor(object).storage()->device_id());
}

// A copy that belongs to a device: its elements go there with the first graph that runs there.
PyObject* WithDevice(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  Device device;
  if (nargs != 2 || !IsTensor(args[0]))
    return PyErr_Format(PyExc_TypeError, "_with_device takes a tensor and a device");
  if (!AsDevice(args[1], &device)) return nullptr;
  Result<Tensor> copy = CopyLayout(AsTensor(args[0]));
  if (!copy.ok()) return RaiseStatus(copy.status());
  TensorMeta meta = copy->meta();
  meta.device = device;
  return WrapTensor(copy->WithMeta(std::move(meta)));
}

PyMethodDef kMethods[] = {{"_device_id", DeviceId, METH_O,
                           "The number of a tensor's elements on the device; -1: they are in memory."},
                          {"_with_device", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(WithDevice)),
                           METH_FASTCALL, "A copy of a tensor that belongs to a device."},
                          {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool DeviceGraph::Gains(const Graph& graph) {
  constexpr double kLeast = 10e6;  // less is done on the CPU before any GPU has answered
  if (gain_ == Gain::kUnknown) {
    work_ = WorkOf(graph);
    gain_ = work_.products + work_.elements < kLeast ? Gain::kNever : Gain::kPerhaps;
  }
  if (gain_ == Gain::kNever) return false;
  const Untraced untraced;
  PyRef module = PyRef::Steal(PyImport_ImportModule("thirdbook._device_choice"));
  PyRef answer = PyRef::Steal(
      module ? PyObject_CallMethod(module.get(), "gains", "ddd", work_.products, work_.elements, work_.bytes)
             : nullptr);
  if (!answer || answer.get() == Py_False) gain_ = Gain::kNever;
  return answer ? answer.get() == Py_True : Forget();
}

bool DeviceGraph::Run(const Graph& graph, const Tensor* const* inputs, size_t n,
                      std::vector<Tensor>* outputs) {
  const Untraced untraced;
  if (!program_) {
    Result<std::vector<uint8_t>> bytes = SaveGraph(graph);
    PyRef compile = Gpu("compile");
    PyRef view = bytes.ok() ? View(bytes->data(), bytes->size()) : PyRef();
    program_ = PyRef::Steal(compile && view ? PyObject_CallOneArg(compile.get(), view.get()) : nullptr);
    if (!program_ || program_.get() == Py_None) {
      program_ = PyRef();
      return Forget();
    }
  }
  // What waits comes first: another task may call this graph meanwhile and write its numbers.
  Device device = Device::kCpu;
  for (size_t i = 0; i < n; ++i) {
    if (inputs[i]->meta().device != Device::kCpu) device = inputs[i]->meta().device;
    MoveToDevice(*inputs[i]);
  }
  std::vector<Tensor> kept;
  PyRef list = PyRef::Steal(PyList_New(0));
  for (size_t i = 0; list && i < n; ++i) {
    PyRef item = Described(*inputs[i], &kept);
    if (!item || PyList_Append(list.get(), item.get()) != 0) return Forget();
  }
  PyRef run = Gpu("run");
  PyRef rows = PyRef::Steal(
      run && list ? PyObject_CallFunctionObjArgs(run.get(), program_.get(), list.get(), nullptr) : nullptr);
  if (!rows || !PyList_Check(rows.get())) return Forget();
  outputs->clear();
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    TensorMeta meta;
    int id;
    long long elements, offset;
    PyObject *shape, *strides;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(rows.get(), static_cast<Py_ssize_t>(i)), "iLOOL", &id, &elements,
                          &shape, &strides, &offset))
      return Forget();
    meta.dtype = graph.meta(graph.outputs()[i]).dtype;
    meta.offset = offset;
    meta.device = device;
    const size_t bytes = static_cast<size_t>(elements * ItemSize(meta.dtype));
    std::shared_ptr<Storage> storage = Storage::OnDevice(id, bytes);
    if (!SizesFrom(shape, &meta.sizes) || !SizesFrom(strides, &meta.strides)) return Forget();
    outputs->emplace_back(std::move(storage), std::move(meta));
  }
  return true;
}

bool AnyOnDevice(const Tensor* const* inputs, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (inputs[i]->storage()->device_id() >= 0 || inputs[i]->meta().device != Device::kCpu) return true;
  }
  return false;
}

bool CommitOnDevice(const Tensor& target, const Tensor& value) {
  const TensorMeta &to = target.meta(), &from = value.meta();
  const auto whole = [](const Tensor& t) {
    return t.meta().IsContiguous() && t.meta().offset == 0 &&
           t.meta().numel() * ItemSize(t.dtype()) == static_cast<int64_t>(t.storage()->bytes());
  };
  if (value.storage()->device_id() < 0 || to.device == Device::kCpu || to.dtype != from.dtype ||
      to.sizes != from.sizes || !whole(target) || !whole(value))
    return false;
  Storage& storage = *target.storage();
  if (storage.device_id() < 0 && !storage.can_leave_memory()) return false;
  const Untraced untraced;
  PyRef duplicate = Gpu("duplicate");
  const int id = NumberFrom(PyRef::Steal(
      duplicate ? PyObject_CallFunction(duplicate.get(), "i", value.storage()->device_id()) : nullptr));
  if (id < 0) return Forget();
  storage.ToDevice(id);
  return true;
}

bool InitDeviceGraph(PyObject* module) {
  SetDeviceAccess({ReadDevice, ReleaseDevice});
  return PyModule_AddFunctions(module, kMethods) == 0;
}

}  // namespace thirdbook
