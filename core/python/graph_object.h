// The callable that rewritten code calls to run a graph.
//
// In: positional arguments in the graph's input order: tensors, or Python numbers for weak inputs. Out: a
// tuple of new tensors or arrays, one per output. Errors: the exception that the kernel's Status names;
// nothing has been written then, and the random generator is as it was.
#pragma once

#include <Python.h>

#include "graph/graph.h"
#include "kernel/executable.h"
#include "python/array_adapter.h"
#include "python/py_ref.h"

namespace thirdbook {

// An output that is an array of another library: the library makes the memory, the graph writes it.
struct ArrayOutput {
  size_t index;
  ArrayForm form;
  TensorMeta layout;  // of the array
  TensorMeta memory;  // how the graph sees the same memory
  PyRef recipe;       // filled in by MakeGraphObject
};

// New reference; NULL with an exception set. Outputs that `arrays` does not name are tensors. With `any_size`
// inputs may have other sizes than while tracing, and the graph may have symbolic ints: it is optimised and
// planned anew for each set of sizes, on the same kernels.
PyObject* MakeGraphObject(Graph graph, Backend backend, std::vector<ArrayOutput> arrays = {},
                          bool any_size = false);
// The graph of a graph object; nullptr when `object` is none.
const Graph* GraphOf(PyObject* object);
Executable* ExecutableOf(PyObject* object);

bool InitGraphObject(PyObject* module);  // the type; `_commit(tensor, value)`

}  // namespace thirdbook
