// The default generator's state at the Python edge, and generator objects that take its place for one draw.
//
// In: seeds, states as bytes (PyTorch's 5056-byte layout). Out: the same. Invariant: a GeneratorScope that is
// left puts the default stream back.
#include "python/random_state.h"

#include "python/py_ref.h"
#include "python/tensor_internal.h"

namespace thirdbook {
namespace {

PyObject* StateBytes(const std::vector<uint8_t>& state) {
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(state.data()),
                                   static_cast<Py_ssize_t>(state.size()));
}

bool AsState(PyObject* object, std::vector<uint8_t>* out) {
  if (!PyBytes_Check(object)) {
    PyErr_SetString(PyExc_TypeError, "a generator's state must be bytes");
    return false;
  }
  const char* chars = PyBytes_AS_STRING(object);
  out->assign(chars, chars + PyBytes_GET_SIZE(object));
  return true;
}

PyObject* SeedGenerator(PyObject*, PyObject* seed) {
  unsigned long long value = PyLong_AsUnsignedLongLongMask(seed);
  if (PyErr_Occurred()) return nullptr;
  DefaultGenerator().Seed(value);
  Py_RETURN_NONE;
}
PyObject* InitialSeed(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(DefaultGenerator().initial_seed());
}
PyObject* GetGeneratorState(PyObject*, PyObject*) { return StateBytes(DefaultGenerator().GetState()); }
PyObject* SetGeneratorState(PyObject*, PyObject* bytes) {
  std::vector<uint8_t> state;
  if (!AsState(bytes, &state)) return nullptr;
  Status status = DefaultGenerator().SetState(state);
  if (!status.ok()) return RaiseStatus(status);
  Py_RETURN_NONE;
}
PyObject* SeededState(PyObject*, PyObject* seed) {
  unsigned long long value = PyLong_AsUnsignedLongLongMask(seed);
  if (PyErr_Occurred()) return nullptr;
  return StateBytes(Generator(value).GetState());
}

PyMethodDef module_functions[] = {
    {"_seed_generator", SeedGenerator, METH_O, nullptr},
    {"_initial_seed", InitialSeed, METH_NOARGS, nullptr},
    {"_generator_state", GetGeneratorState, METH_NOARGS, nullptr},
    {"_set_generator_state", SetGeneratorState, METH_O, nullptr},
    {"_seeded_state", SeededState, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

GeneratorScope::GeneratorScope(PyObject* generator) : generator_(generator) {
  if (generator_ == nullptr) return;
  PyRef bytes = PyRef::Steal(PyObject_GetAttrString(generator_, "_state"));
  std::vector<uint8_t> state;
  if (!bytes || !AsState(bytes.get(), &state)) return;
  saved_ = DefaultGenerator().GetState();
  Status status = DefaultGenerator().SetState(state);
  if (!status.ok()) {
    RaiseStatus(status);
    return;
  }
  entered_ = true;
}

bool GeneratorScope::Leave() {
  if (!entered_) return true;
  entered_ = false;
  PyRef bytes = PyRef::Steal(StateBytes(DefaultGenerator().GetState()));
  Status status = DefaultGenerator().SetState(saved_);
  if (!status.ok()) return RaiseStatus(status) != nullptr;
  return bytes && PyObject_SetAttrString(generator_, "_state", bytes.get()) == 0;
}

GeneratorScope::~GeneratorScope() {
  if (entered_) TB_CHECK(DefaultGenerator().SetState(saved_).ok());
}

bool InitRandomState(PyObject* module) { return PyModule_AddFunctions(module, module_functions) == 0; }

}  // namespace thirdbook
