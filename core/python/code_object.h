// CPython code objects to CodeImage plus names and back.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "bytecode/instruction.h"

namespace thirdbook {

// Everything a code object holds beside its instructions; owned references.
struct CodeParts {
  CodeImage image;
  int argcount = 0, posonlyargcount = 0, kwonlyargcount = 0, flags = 0;
  PyObject* consts = nullptr;        // list (so that code generation appends)
  PyObject* names = nullptr;         // list
  std::vector<PyObject*> locals;     // localsplus names, interned str
  std::vector<uint8_t> local_kinds;  // LocalKind bits
  PyObject *filename = nullptr, *name = nullptr, *qualname = nullptr;
};

// False with an exception set.
bool ReadCode(PyCodeObject* code, CodeParts* out);
// New reference or NULL with an exception set (SystemError: the parts do not fit together). Slots must be in
// CPython's order: locals (arguments first; one that is a cell as well stays here), then other cells, then
// free variables.
PyCodeObject* MakeCode(const CodeParts& parts);
void ClearParts(CodeParts* parts);

// A function that continues `code` after a graph break. Its parameters, in this order: one for each slot in
// `bound_locals` (plain locals that are bound, by localsplus index), then one for each stack value that is
// passed, bottom first. Its free variables: all cell and free variables of `code`, in their order. It pushes
// the stack values (PUSH_NULL where `stack_is_null`), then goes on at instruction `target`.
//
// What lies on the stack for handlers that are active at the break is not passed but made again:
//   [..., lasti?, previous, current, ...]
//         │       │         └ passed: the exception being handled
//         │       └ position in handler_stack; not passed: PUSH_EXC_INFO makes the pair
//         └ position in lasti_stack; not passed: the interpreter pushes it, because the prologue raises
//         `current` into
//           a handler of its own. Always right below a pair.
struct ResumePoint {
  int32_t target = 0;  // instruction index in the image of `code`
  std::vector<int32_t> bound_locals;
  std::vector<bool> stack_is_null;     // bottom first, one for each stack position
  std::vector<int32_t> handler_stack;  // stack positions (of `previous`) of active exception pairs
  std::vector<int32_t> lasti_stack;    // stack positions of the lasti below such pairs
  friend bool operator==(const ResumePoint&, const ResumePoint&) = default;
};

// New reference, cached per (code, point); NULL with an exception set. The resume code of a resume code is
// made from the original, so that a loop with a break in it has one resume code, not one for each turn.
//   ValueError            the point is not one of `code`
//   NotImplementedError   `super()` without arguments could not find its object (see resume_code.cc)
PyCodeObject* MakeResumeCode(PyCodeObject* code, const ResumePoint& point);
// The original code object that a resume code continues (borrowed); nullptr when `code` is not one of ours.
PyCodeObject* ResumeOrigin(PyCodeObject* code);
// The instruction of the original for an instruction of a resume code, -1 for those of its prologue.
int32_t ResumeOriginIndex(PyCodeObject* code, int32_t index);

}  // namespace thirdbook
