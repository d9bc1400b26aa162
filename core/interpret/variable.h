// Variables: what the symbolic interpreter computes with instead of Python objects.
//
//   Lazy ─┬─▶ Scalar ──▶ Const     an int/float/bool/str of later calls; an immutable value known now
//         ├─▶ Tensor               a tensor, or an array of another library (ArrayForm)
//         └─▶ Object               any other object that was there before the call
//   New                            an object made in this trace (exists only if it escapes)
//
//   Lazy: reached by a source, not looked at yet: no guard
//
// Looking at a Lazy variable (Trace::Look) records the guards that make the look safe and turns it into one
// of the others, in place. A Scalar becomes a Const when the trace needs its value (Trace::Specialize, a
// constant guard). Invariant: one variable an object, however many sources reach it (aliases are forwarded
// and guarded).
#pragma once

#include <Python.h>

#include <memory>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "guards/source.h"
#include "python/array_adapter.h"
#include "python/code_object.h"
#include "python/py_ref.h"

namespace thirdbook {

struct Variable;
struct SymbolicFrame;
using Var = Variable*;

enum class VariableKind : uint8_t { kNull, kLazy, kConst, kScalar, kTensor, kObject, kNew };

// The memory behind tensors: the graph value that holds its contents now. In-place writes replace `current`
// and raise `version`.
struct TensorBase {
  ValueRef current;
  TensorMeta meta;  // layout of the tensor that the base was made as
  int version = 0;
  Var input = nullptr;           // the input tensor whose memory it is
  bool escapes_emitted = false;  // code generation: it is an output of the graph
  bool taken = false;            // ... and its tensor stands for a variable
  ArrayForm form;                // what it is made as when it escapes: an array of a library,
  TensorMeta made;               // ... in this layout
};

struct TensorState {
  TensorBase* base;
  TensorMeta meta;  // where in the base it lies
  ValueRef value;   // its graph value as of `version`
  ValueRef layout;  // a view: the value that it was made as, whose metadata are `meta`
  int version = 0;
  bool requires_grad = false;
  ArrayForm form;                   // no library: a tensor
  std::vector<int32_t> free_sizes;  // of an input, a dimension: its symbol (sizes.h) or -1; empty: all fixed
};

// A call that changes a container and reads nothing of it; replayed as it is, or applied to the shadow when
// the trace reads.
struct DeltaCall {
  PyObject* method;  // a method descriptor of the base type; borrowed (types keep it)
  std::vector<Var> args;
};

struct FunctionState {
  PyCodeObject* code;
  Var globals;
  Var defaults, kwdefaults, annotate, annotations, name, qualname, doc, type_params;  // may be null
  std::vector<Var> closure;
};

struct Variable {
  VariableKind kind = VariableKind::kNull;
  PyTypeObject* type = nullptr;  // exact Python type; null while Lazy
  PyRef value;  // Const, Scalar (absent: known only after the graph), Lazy, Object; New: a real iterator over
                // shadows
  SourceId source;        // Lazy, Scalar, Object, input Tensor
  Var forward = nullptr;  // an alias: use that one

  // --- state, for New and for written Objects ---
  std::vector<Var> items;  // New tuple's items, slice's parts, method (function, self), cell (contents),
                           // exception args, super
  PyRef shadow;            // container contents: a real list/dict/set/deque... of constants and handles
  PyRef initial;           // Object: the shadow's elements when it was made (tuple)
  std::vector<DeltaCall> delta;  // Object whose contents were only added to
  std::vector<DeltaCall> log;    // Object of type set: every change, since the order of a set is its history
  std::vector<std::pair<PyRef, Var>> attributes;  // written ones in order; null Var: deleted
  std::unique_ptr<FunctionState> function;
  std::unique_ptr<SymbolicFrame> generator;
  std::unique_ptr<TensorState> tensor;
  Var construct_callable = nullptr;  // New, opaque: how to make it again when it escapes untouched
  std::vector<Var> construct_args;
  std::vector<std::pair<PyRef, Var>> construct_kwargs;
  std::vector<PyObject*>
      reordered;                // attributes that were deleted and stored again (names; the pairs own them)
  bool contents_noted = false;  // Object: its contents are a write of the trace
  int overwritten = 0;          // Object: how many of its elements were, each guarded to die quietly
  bool by_code = false;         // a function that was only called: guarded by its code, not by its identity
  Py_ssize_t moves =
      0;  // Object: an iterator that was there, how often it was moved; a lock, how often it was taken
  Py_ssize_t moves_noted = 0;   // ... and how often by the ledger itself
  bool advanced = false;        // an iterator that has been moved, or that C code may have moved
  int edits = 0;                // a container: how often it was changed
  bool reshaped = false;        // ... otherwise than by setting items or (a dict) adding them
  int edits_seen = 0;           // an iterator: edits of what it goes through when it was made
  bool finished = false;        // a generator or iterator that has ended
  bool made_by_effect = false;  // New: what an effect of the replay gives
  bool raised = false;          // an exception that was raised
  int raise_step = -1;          // the root step at which that was
  Var context = nullptr;        // an exception's __context__
  Var dict_of = nullptr;        // New: the __dict__ of that object, seen as a mapping
  PyObject* handle = nullptr;   // the proxy that stands for it in shadows (owned)
  int step = 0;                 // root instruction count when it was made
  int emitted_slot = -1;        // code generation: the local that holds it
  int emitting = 0;

  bool IsConst(PyObject* o) const { return kind == VariableKind::kConst && value.get() == o; }
  Var FindAttribute(PyObject* name, bool* deleted) const;
  bool HasAttributeWrite(PyObject* name) const;
};

// Whether it is a number or text, now or of each call.
inline bool IsValue(const Variable* v) {
  return v->kind == VariableKind::kConst || v->kind == VariableKind::kScalar;
}

}  // namespace thirdbook
