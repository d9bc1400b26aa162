// thirdbook.Tensor as a Python object, and the callables that stand for graph operations.
//
// The tracer reads these to know a tensor (metadata) and an operation (OpFunction) when it meets one.
#pragma once

#include <Python.h>

#include <vector>

#include "graph/op.h"
#include "tensor/tensor.h"

namespace thirdbook {

// A heap type (Python code of the package adds methods to it). Subclassable (Parameter).
struct TensorObject {
  PyObject_HEAD Tensor tensor;  // placement-constructed by tp_new
  bool requires_grad;
  PyObject* grad;  // Tensor.grad: NULL for None
  PyObject* dict;  // __dict__ (managed by the type's dictoffset)
  PyObject* weakrefs;
};
extern PyTypeObject* TensorType;  // set by InitTensorTypes
inline bool IsTensor(PyObject* o) { return PyObject_TypeCheck(o, TensorType); }
inline const Tensor& AsTensor(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->tensor; }
PyObject* WrapTensor(Tensor tensor);  // new reference; NULL with MemoryError

// A callable that stands for one graph op: `_core.ops.relu`, also reached as a method (`Tensor.relu`,
// `Tensor.add_`) or by an operator. It is a descriptor: on an instance it binds like a function.
struct OpFunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const OpInfo* info;
  bool inplace;    // name ends in `_`: the result is written into the first operand, which is returned
  bool reflected;  // __rsub__ and the like: the first two operands change places
  PyObject* name;
};
extern PyTypeObject* OpFunctionType;
inline bool IsOpFunction(PyObject* o) { return Py_TYPE(o) == OpFunctionType; }

// ---- Binding of arguments, shared by eager calls and the tracer
// -----------------------------------------------------------------

// How the caller represents one operand after binding: an index into whatever the resolver keeps.
using OperandHandle = int;

// Tells tensors (and symbolic numbers) from other objects. Eager calls resolve TensorObjects, NumPy arrays;
// the tracer resolves its handles.
class OperandResolver {
 public:
  virtual ~OperandResolver() = default;
  // True and *handle when `object` stands for a tensor, or for a number that only the call's run will know.
  virtual bool Resolve(PyObject* object, OperandHandle* handle) = 0;
  // The number or text itself where `object` stands for one, for a parameter whose value must be known
  // (borrowed; nullptr when it cannot be had).
  virtual PyObject* Known(PyObject* object) { return object; }
  // A Python number given where a Tensor operand is expected: a weak 0-d constant.
  virtual OperandHandle WeakConstant(PyObject* number) = 0;
  // A tensor that the binder made itself: a list used as an index.
  virtual OperandHandle Constant(Tensor tensor) = 0;
  // What is known of an operand that Resolve, WeakConstant or Constant gave. Valid until the next call of one
  // of these.
  virtual const TensorMeta& Meta(OperandHandle handle) const = 0;
};

struct BoundCall {
  Op op;
  std::vector<OperandHandle> operands;  // flattened, in schema order; -1 where an optional one is missing
  Attrs attrs;
  OperandHandle out = -1;         // `out=`
  bool requires_grad = false;     // creation ops: `requires_grad=True`
  Device device = Device::kCpu;   // creation ops: `device=`
  PyObject* generator = nullptr;  // random ops: `generator=` (borrowed); nullptr: the default one
};

// Binds positional and keyword arguments (vectorcall layout) to the op's schema. False with the TypeError
// that PyTorch would raise.
bool BindOp(const OpFunctionObject* function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
            OperandResolver& resolver, BoundCall* out);

// x[key] and x[key] = value, taken apart into ops applied one after another (select, slice, unsqueeze,
// index...). Each step's first operand is the result of the step before; `extra` are further operands (index
// tensors), as resolver handles.
struct IndexStep {
  Op op;
  std::vector<OperandHandle> extra;
  Attrs attrs;
};
// False with IndexError / TypeError set.
bool DecomposeIndex(const TensorMeta& meta, PyObject* key, OperandResolver& resolver,
                    std::vector<IndexStep>* out);

PyObject* RaiseStatus(const Status& status);  // sets the exception that the kind names, returns NULL

// The callable `_core.ops.<name>`; nullptr when there is none. In-place forms end in `_`. Borrowed.
OpFunctionObject* FindOpFunction(std::string_view name);

// What an eager call does once its arguments are bound: runs the op, then writes in place, into `out`, or
// wraps. New reference: a tensor, or a tuple.
PyObject* CallOpEagerly(const OpFunctionObject* function, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames);

// x[key] and x[key] = value on real tensors. GetItem gives a new reference; SetItem 0, or -1 with an
// exception set.
PyObject* TensorGetItem(PyObject* self, PyObject* key);
int TensorSetItem(PyObject* self, PyObject* key, PyObject* value);

// Whether gradients would be recorded (torch.is_grad_enabled); the ledger keeps it, no_grad() changes it.
extern bool grad_enabled;

bool InitTensorTypes(
    PyObject* module);  // creates the types, `ops`, dtype objects; false with an exception set

// torch.float32 and friends: singletons of type `dtype`.
PyObject* DTypeObject(DType dtype);          // borrowed
PyObject* DeviceObject(Device device);       // borrowed singleton
bool AsDType(PyObject* object, DType* out);  // false (no exception) when it is not one

}  // namespace thirdbook
