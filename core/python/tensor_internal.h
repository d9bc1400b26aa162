// Shared by the files that make up the Python side of tensors; nobody else includes it.
//
//   dtype_object.cc   dtype, Size, device              tensor_object.cc    the type, its number slots
//   op_binding.cc     arguments -> BoundCall           tensor_members.cc   its properties and methods
//   op_function.cc    OpFunction, eager calls          tensor_data.cc      Python data <-> elements
//   indexing.cc       x[key], x[key] = value           buffer.cc           buffer protocol, both ways
//   fast_binary.cc    + - * / the short way
//   in_place.cc       x += y, out=                     random_state.cc     the generator's state
//
// Conventions of the C API edge: NULL / -1 / false with an exception set; PyRef owns.
#pragma once

#include "python/tensor_object.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "python/py_ref.h"

namespace thirdbook {

// ---- dtype_object.cc
bool InitDTypeObjects(PyObject* module);
PyObject* MakeSize(const Sizes& sizes);  // torch.Size; new reference
bool AsDevice(PyObject* object,
              Device* out);  // a device object, "cpu", None (the default); false with an exception set
// A dtype object, or one of the Python types bool, int, float; false (no exception) for anything else.
bool AsDTypeOrPythonType(PyObject* object, DType* out);

// ---- tensor_data.cc
bool IsNumber(PyObject* object);  // bool, int, float, or a NumPy scalar
// A weak 0-d tensor for a Python number; false with an exception set.
bool WeakFromNumber(PyObject* number, Tensor* out);
PyObject* ElementToPython(const Tensor& tensor,
                          int64_t element);  // `element` counts from the storage's start
PyObject* ItemOf(const Tensor& tensor);      // the only element, RuntimeError otherwise
PyObject* ToList(const Tensor& tensor);      // nested lists; a number for a 0-d tensor
// A fresh tensor from a number, nested sequences, tensors in them, an array; dtype as PyTorch infers it where
// none is given.
bool TensorFromData(PyObject* data, std::optional<DType> dtype, Tensor* out);
bool InitTensorData(PyObject* module);

// ---- buffer.cc
bool IsArray(PyObject* object);  // a NumPy array (or a subclass)
// Shares the memory of an object with the buffer protocol; keeps the buffer (and so the object) alive.
bool TensorFromBuffer(PyObject* object, Tensor* out);
extern PyType_Slot buffer_slots[2];
bool InitBuffer(PyObject* module);

// ---- op_function.cc
bool InitOpFunctions(PyObject* module);
// Sets every op that PyTorch has as a method into the type's dict.
bool AddOpMethods(PyTypeObject* type);
// Resolves real tensors, numbers and arrays; the handles index `tensors`.
class EagerResolver final : public OperandResolver {
 public:
  bool Resolve(PyObject* object, OperandHandle* handle) override;
  OperandHandle WeakConstant(PyObject* number) override;
  OperandHandle Constant(Tensor tensor) override;
  const TensorMeta& Meta(OperandHandle handle) const override {
    return tensors[static_cast<size_t>(handle)].meta();
  }
  std::vector<Tensor> tensors;
};
const Attrs& DefaultAttrs(Op op);
// The outputs as Python objects: one tensor, or a tuple.
PyObject* WrapOutputs(std::vector<Tensor> outputs);
// ---- fast_binary.cc
// Computes + - * / and comparisons where that needs no checks, into *out or (in_place; not for comparisons)
// into the tensor `a`, which may be written. False (no exception, nothing written) where it does not apply.
bool TryFastBinary(Op op, PyObject* a, PyObject* b, bool in_place, Tensor* out);

// ---- in_place.cc
// Writes `result` into the tensor object as an in-place op does (dtype, sizes, leaf checks); false with an
// exception set.
bool WriteInPlace(PyObject* target, const Tensor& result);
// The same for `out=`; an `out` of other sizes gets memory of its own.
bool WriteOut(PyObject* target, const Tensor& result);
// Refuses a target whose elements share memory, or that shares part of its memory with an operand.
bool CheckOverlap(const Tensor& target, const std::vector<Tensor>& operands);
// Complains where a leaf that requires grad would be written while gradients are on.
bool CheckWritable(PyObject* target);

// ---- op_binding.cc
bool AsSizes(PyObject* object, Sizes* out);  // list or tuple of ints; false, no exception, when it is not one
bool AsInt(PyObject* object, int64_t* out);  // int-like but not bool; false, no exception, when it is not one

// ---- indexing.cc, tensor_members.cc
extern PyMethodDef tensor_methods[];
extern PyGetSetDef tensor_getset[];

}  // namespace thirdbook
