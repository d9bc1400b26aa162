// The row of NumPy: numpy.ndarray and its scalars, exact types of the six element types that graphs know.
//
// In: the objects, read through the layout that NumPy's ABI promises to compiled extensions, without its
// headers. Out: see array_adapter.h. Invariant: the layout is compared once with what NumPy itself says of
// arrays and scalars made for that; where it differs there is no row, and NumPy is left to Python.
#include <cstddef>
#include <cstring>

#include "python/array_adapter.h"
#include "python/numpy_array.h"
#include "python/py_ref.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

struct NdArray {
  PyObject_HEAD char* data;
  int rank;
  Py_ssize_t* sizes;
  Py_ssize_t* strides;  // bytes
  PyObject* base;       // who owns the memory; null: the array itself
  PyObject* dtype;
  int flags;
};
constexpr int kAligned = 0x0100, kWriteable = 0x0400;

// NumPy's names of the element types, in the order of DType.
constexpr const char* kNames[kNumDTypes] = {"bool", "uint8", "int32", "int64", "float32", "float64"};

struct Numpy {
  PyTypeObject* array_type;
  PyObject* dtypes[kNumDTypes];  // the singletons that arrays carry
  PyTypeObject* scalar_types[kNumDTypes];
  PyObject* models;      // {callable or descriptor: function}
  PyObject* operations;  // {name: function}
};
Numpy numpy;

const NdArray* AsArray(PyObject* o) {
  return Py_TYPE(o) == numpy.array_type ? reinterpret_cast<const NdArray*>(o) : nullptr;
}

int ElementType(PyObject* dtype) {
  for (int i = 0; i < kNumDTypes; i++) {
    if (numpy.dtypes[i] == dtype) return i;
  }
  return -1;
}

int ScalarType(PyTypeObject* type) {
  for (int i = 0; i < kNumDTypes; i++) {
    if (numpy.scalar_types[i] == type) return i;
  }
  return -1;
}

const char* ScalarData(PyObject* o) { return reinterpret_cast<const char*>(o) + sizeof(PyObject); }

bool Read(PyObject* o, ArrayView* view) {
  TensorMeta& meta = view->meta;
  meta.offset = 0;
  if (const NdArray* a = AsArray(o)) {
    const int element = ElementType(a->dtype);
    if (element < 0 || (a->flags & kAligned) == 0) return false;
    meta.dtype = static_cast<DType>(element);
    const Py_ssize_t item = ItemSize(meta.dtype);
    Py_ssize_t reach = item;
    for (int i = 0; i < a->rank; i++) {
      if (a->strides[i] < 0 || a->strides[i] % item != 0) return false;
      meta.sizes.push_back(a->sizes[i]);
      meta.strides.push_back(a->strides[i] / item);
      reach = a->sizes[i] == 0 || reach == 0 ? 0 : reach + (a->sizes[i] - 1) * a->strides[i];
    }
    view->low = a->data;
    view->high = a->data + reach;
    if ((a->flags & kWriteable) == 0) view->flags |= kReadOnly;
    return true;
  }
  const int element = ScalarType(Py_TYPE(o));
  if (element < 0) return false;
  meta.dtype = static_cast<DType>(element);
  view->low = view->high = ScalarData(o);
  view->flags = kReadOnly | kScalarNumber;
  return true;
}

bool Matches(PyObject* o, const TensorMeta& meta, int flags) {
  if ((flags & kScalarNumber) != 0) return Py_TYPE(o) == numpy.scalar_types[static_cast<int>(meta.dtype)];
  const NdArray* a = AsArray(o);
  if (a == nullptr || a->dtype != numpy.dtypes[static_cast<int>(meta.dtype)] ||
      static_cast<size_t>(a->rank) != meta.sizes.size() || (a->flags & kAligned) == 0 ||
      ((a->flags & kWriteable) == 0) != ((flags & kReadOnly) != 0))
    return false;
  const Py_ssize_t item = ItemSize(meta.dtype);
  for (size_t i = 0; i < meta.sizes.size(); i++) {
    if (a->sizes[i] != meta.sizes[i] || a->strides[i] != meta.strides[i] * item) return false;
  }
  return true;
}

bool Borrow(PyObject* o, Tensor* reuse) {
  ArrayView view;
  if (!Read(o, &view)) return false;
  if (reuse->defined() && reuse->storage()->data() == view.low && reuse->meta() == view.meta) return true;
  if (view.meta.numel() ==
      0) {  // loops may look at a first element even where there is none; NumPy has one byte there
    static int64_t nothing[2] = {0, 0};
    *reuse = Tensor(Storage::Wrap(reinterpret_cast<char*>(nothing), sizeof nothing, nullptr), view.meta);
    return true;
  }
  const int64_t bytes = (view.flags & kScalarNumber) != 0 ? ItemSize(view.meta.dtype) : view.high - view.low;
  *reuse = Tensor(Storage::Wrap(const_cast<char*>(view.low), static_cast<size_t>(bytes), nullptr), view.meta);
  return true;
}

PyTypeObject* Type(DType dtype, bool scalar) {
  return scalar ? numpy.scalar_types[static_cast<int>(dtype)] : numpy.array_type;
}

bool IsDType(PyObject* o) { return ElementType(o) >= 0; }

PyObject* TupleOf(const Sizes& values, int64_t factor = 1) {
  PyRef tuple = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; tuple && i < values.size(); i++) {
    PyObject* number = PyLong_FromLongLong(values[i] * factor);
    if (number == nullptr) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), number);
  }
  return tuple.release();
}

// The arguments of numpy.ndarray(shape, dtype[, buffer, offset, strides]).
PyObject* Recipe(const TensorMeta& meta) {
  PyObject* dtype = numpy.dtypes[static_cast<int>(meta.dtype)];
  PyRef shape = PyRef::Steal(TupleOf(meta.sizes));
  if (!shape || meta.IsContiguous()) return shape ? PyTuple_Pack(2, shape.get(), dtype) : nullptr;
  PyRef strides = PyRef::Steal(TupleOf(meta.strides, ItemSize(meta.dtype)));
  PyRef zero = PyRef::Steal(PyLong_FromLong(0));
  if (!strides || !zero) return nullptr;
  return PyTuple_Pack(5, shape.get(), dtype, Py_None, zero.get(), strides.get());
}

PyObject* Allocate(PyObject* recipe, const TensorMeta& meta, Tensor* memory) {
  PyObject* array = PyObject_CallObject(reinterpret_cast<PyObject*>(numpy.array_type), recipe);
  if (array == nullptr) return nullptr;
  const size_t bytes = static_cast<size_t>(meta.numel() * ItemSize(meta.dtype));
  *memory = Tensor(Storage::Wrap(AsArray(array)->data, bytes, nullptr), meta);
  return array;
}

PyObject* ScalarOf(PyObject* array_stolen) {
  PyRef array = PyRef::Steal(array_stolen), key = PyRef::Steal(PyTuple_New(0));
  return key ? PyObject_GetItem(array.get(), key.get()) : nullptr;
}

PyObject* View(PyObject* array, const TensorMeta& meta) {
  const NdArray* a = AsArray(array);
  if (a == nullptr) {
    PyErr_SetString(PyExc_TypeError, "a view of a scalar");
    return nullptr;
  }
  PyRef shape = PyRef::Steal(TupleOf(meta.sizes));
  PyRef strides = PyRef::Steal(TupleOf(meta.strides, ItemSize(meta.dtype)));
  if (!shape || !strides) return nullptr;
  return PyObject_CallFunction(reinterpret_cast<PyObject*>(numpy.array_type), "OOOLO", shape.get(), a->dtype,
                               array, static_cast<long long>(meta.offset * ItemSize(meta.dtype)),
                               strides.get());
}

PyObject* Find(PyObject* dict, PyObject* key) {
  if (PyObject_Hash(key) == -1) {
    PyErr_Clear();
    return nullptr;
  }
  PyObject* found = PyDict_GetItemWithError(dict, key);
  PyErr_Clear();
  return found;
}

PyObject* Model(PyObject* callable) { return Find(numpy.models, callable); }
PyObject* Operation(const char* name) { return PyDict_GetItemString(numpy.operations, name); }

const ArrayAdapter kNumpy = {"NumPy", Read,     Matches,  Borrow, Type,  IsDType,
                             Recipe,  Allocate, ScalarOf, View,   Model, Operation};

bool SameNumber(PyObject* object, const char* name, Py_ssize_t value) {
  PyRef said = PyRef::Steal(PyObject_GetAttrString(object, name));
  return said && PyLong_AsSsize_t(said.get()) == value;
}

// The samples are arrays and scalars whose numbers NumPy tells in Python: [(array, sizes, strides, address,
// base)], [(scalar, bytes)].
bool LayoutHolds(PyObject* arrays, PyObject* scalars) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(arrays); i++) {
    PyObject* row = PyList_GET_ITEM(arrays, i);
    PyObject* array = PyTuple_GET_ITEM(row, 0);
    const NdArray* a = AsArray(array);
    if (a == nullptr || a->rank < 0 || a->rank > 64 || !SameNumber(array, "ndim", a->rank)) return false;
    Sizes sizes(a->sizes, a->sizes + a->rank), strides(a->strides, a->strides + a->rank);
    PyRef said_sizes = PyRef::Steal(TupleOf(sizes)), said_strides = PyRef::Steal(TupleOf(strides));
    PyRef address = PyRef::Steal(PyLong_FromVoidPtr(a->data));
    PyRef flags = PyRef::Steal(PyObject_GetAttrString(array, "flags"));
    PyObject* base = a->base != nullptr ? a->base : Py_None;
    if (!said_sizes || !said_strides || !address || !flags ||
        PyObject_RichCompareBool(said_sizes.get(), PyTuple_GET_ITEM(row, 1), Py_EQ) != 1 ||
        PyObject_RichCompareBool(said_strides.get(), PyTuple_GET_ITEM(row, 2), Py_EQ) != 1 ||
        PyObject_RichCompareBool(address.get(), PyTuple_GET_ITEM(row, 3), Py_EQ) != 1 ||
        base != PyTuple_GET_ITEM(row, 4) || !SameNumber(flags.get(), "num", a->flags))
      return false;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(scalars); i++) {
    PyObject* row = PyList_GET_ITEM(scalars, i);
    PyObject* bytes = PyTuple_GET_ITEM(row, 1);
    if (std::memcmp(ScalarData(PyTuple_GET_ITEM(row, 0)), PyBytes_AS_STRING(bytes),
                    static_cast<size_t>(PyBytes_GET_SIZE(bytes))) != 0)
      return false;
  }
  return true;
}

bool Connect(PyObject* module) {
  PyRef ndarray = PyRef::Steal(PyObject_GetAttrString(module, "ndarray"));
  PyRef dtypes = PyRef::Steal(PyObject_GetAttrString(module, "DTYPES"));
  PyRef models = PyRef::Steal(PyObject_GetAttrString(module, "MODELS"));
  PyRef operations = PyRef::Steal(PyObject_GetAttrString(module, "OPERATIONS"));
  PyRef samples = PyRef::Steal(PyObject_CallMethod(module, "samples", nullptr));
  if (!ndarray || !dtypes || !models || !operations || !samples || !PyTuple_Check(samples.get()))
    return false;
  for (int i = 0; i < kNumDTypes; i++) {
    PyObject* dtype = PyDict_GetItemString(dtypes.get(), kNames[i]);
    PyRef type = PyRef::Steal(dtype != nullptr ? PyObject_GetAttrString(dtype, "type") : nullptr);
    if (!type) return false;
    numpy.dtypes[i] = Py_NewRef(dtype);
    numpy.scalar_types[i] = reinterpret_cast<PyTypeObject*>(type.release());
  }
  numpy.models = models.release();
  numpy.operations = operations.release();
  numpy.array_type = reinterpret_cast<PyTypeObject*>(ndarray.release());
  return LayoutHolds(PyTuple_GET_ITEM(samples.get(), 0), PyTuple_GET_ITEM(samples.get(), 1));
}

}  // namespace

const ArrayAdapter* ConnectNumpy() {
  PyRef module = PyRef::Steal(PyImport_ImportModule("thirdbook._numpy"));
  const bool connected = module && Connect(module.get());
  PyErr_Clear();
  return connected ? &kNumpy : nullptr;
}

}  // namespace thirdbook
