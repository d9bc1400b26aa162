// How arrays of any library enter the tracer, the graph and its kernels.
//
//   ndarray, np.float32 ──┐                         ┌── guard: the same layout again
//   thirdbook.Tensor ─────┼── ArrayAdapter (a row) ─┼── graph input: a tensor over the array's own memory
//   a third library ──────┘                         └── graph output: an array that the library owns
//
// Place: below the tracer and the graph object, which know arrays only through these rows; a row knows its
// library's objects and nothing of tracing. What the library's functions and methods mean is said apart from
// the row, in Python, in the operations of the graph (thirdbook/_numpy.py): `model`, `operation`.
//
// Invariant: a row reads only exact types whose memory it understands completely (element type, byte order,
// alignment, strides that are not negative); what it refuses is an object like any other, so the tracer
// leaves it to Python. Reading neither copies nor keeps the memory.
#pragma once

#include <Python.h>

#include "tensor/tensor.h"

namespace thirdbook {

enum ArrayFlag : int {
  kRequiresGrad = 1,
  kReadOnly = 2,
  kScalarNumber = 4,  // an immutable number with a dtype (np.float32), not an array
};

// One array as it is now. `low` and `high` bound the bytes that a write may reach.
struct ArrayView {
  TensorMeta meta;
  int flags = 0;
  const char* low = nullptr;
  const char* high = nullptr;
};

// What a graph gives at one output: an array of `library`, or its scalar. No library: a tensor.
struct ArrayForm {
  const struct ArrayAdapter* adapter = nullptr;
  bool scalar = false;
  friend bool operator==(const ArrayForm&, const ArrayForm&) = default;
};

struct ArrayAdapter {
  const char* name;
  // False without an exception: no array of this library, or one that the graph has no counterpart of.
  bool (*read)(PyObject* object, ArrayView* view);
  // Whether `read` would give the same; asked at every call.
  bool (*matches)(PyObject* object, const TensorMeta& meta, int flags);
  // A tensor over the array's memory, valid while the caller keeps the array; `reuse` may hold the one of the
  // call before.
  bool (*borrow)(PyObject* object, Tensor* reuse);
  // The type of arrays, of scalars of that element type.
  PyTypeObject* (*type)(DType dtype, bool scalar);
  bool (*is_dtype)(PyObject* object);
  // What `allocate` needs to make arrays of this layout; a new reference. Then a new array, and a tensor over
  // its memory, of the layout in which the graph writes it. Null: the tensor itself is the array.
  PyObject* (*recipe)(const TensorMeta& meta);
  PyObject* (*allocate)(PyObject* recipe, const TensorMeta& meta, Tensor* memory);
  // The scalar that a filled 0-d array holds; steals the array.
  PyObject* (*scalar_of)(PyObject* array);
  // Another array over the memory of `array`: `meta` counts from its first element.
  PyObject* (*view)(PyObject* array, const TensorMeta& meta);
  // The Python function that says what a callable or attribute of the library does; the same for an operation
  // by name ("add", "iadd", "getitem"). Borrowed; null: not modelled.
  PyObject* (*model)(PyObject* callable);
  PyObject* (*operation)(const char* name);
};

// Whether it is one of the dtype objects that a library's arrays carry: an immutable constant.
bool IsForeignDType(PyObject* object);

const ArrayAdapter* TensorLibrary();
const ArrayAdapter* NumpyLibrary();  // null as long as the program has not imported NumPy

// Looks for libraries that the program has imported since; cheap. Called before a frame is traced.
void FindArrayLibraries();

// The library of an array that can be read, or null.
const ArrayAdapter* ReadArray(PyObject* object, ArrayView* view);
bool MatchesArray(PyObject* object, const TensorMeta& meta, int flags);
// Whether a write into one may be seen through the other.
bool SharesMemory(const ArrayView& a, const ArrayView& b);
// Why an array of a known library could not be read ("a NumPy array of dtype float16"); empty: it is none.
std::string Unreadable(PyObject* object);
// `_array_view(array, shape, strides, offset)`: another array over the same memory, as the library itself
// makes views. Strides and offset count elements.
bool InitArrayAdapters(PyObject* module);

}  // namespace thirdbook
