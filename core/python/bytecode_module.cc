// See bytecode_module.h.
#include "python/bytecode_module.h"

#include <string>

#include "bytecode/flow.h"
#include "python/code_object.h"
#include "python/cpython_internal.h"
#include "python/py_ref.h"

namespace thirdbook {
namespace {

PyCodeObject* AsCode(PyObject* object) {
  if (!PyCode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "expected a code object, got %T", object);
    return nullptr;
  }
  return reinterpret_cast<PyCodeObject*>(object);
}

bool Append(PyObject* list, PyObject* item) {  // steals
  PyRef owner = PyRef::Steal(item);
  return item != nullptr && PyList_Append(list, item) == 0;
}

PyObject* OpcodeTable(PyObject*, PyObject*) {
  PyRef list = PyRef::Steal(PyList_New(0));
  if (!list) return nullptr;
  using namespace opcode_flag;
#define TB_OPCODE(name, number, caches, pops, pushes, flags)                                        \
  if (!Append(list.get(), Py_BuildValue("(siii)", #name, number, caches, static_cast<int>(flags)))) \
    return nullptr;
#define TB_PSEUDO_OPCODE(name, number)                                                          \
  if (!Append(list.get(), Py_BuildValue("(siii)", #name, number, 0, static_cast<int>(kNever)))) \
    return nullptr;
#include "bytecode/opcodes.def"
  return list.release();
}

PyObject* StackEffectOf(PyObject*, PyObject* args) {
  int op, arg, jump = 0;
  if (!PyArg_ParseTuple(args, "ii|p", &op, &arg, &jump)) return nullptr;
  if (op < 0 || op > 255) {
    PyErr_SetString(PyExc_ValueError, "no such opcode");
    return nullptr;
  }
  return PyLong_FromLong(StackEffect(static_cast<Opcode>(op), arg, jump != 0));
}

PyObject* OptionalInt(int32_t value) { return value < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(value); }

PyObject* InstructionTuple(const Instruction& i, int32_t depth) {
  const Position& p = i.position;
  return Py_BuildValue("(sii(NNNN)i)", OpcodeName(i.op), i.arg, i.offset, OptionalInt(p.line),
                       OptionalInt(p.end_line), OptionalInt(p.column), OptionalInt(p.end_column), depth);
}

PyObject* PartsDict(const CodeParts& parts) {
  Result<StackDepths> depths = ComputeStackDepths(parts.image);
  if (!depths.ok()) {
    PyErr_SetString(PyExc_SystemError, depths.status().message().c_str());
    return nullptr;
  }
  PyRef instructions = PyRef::Steal(PyList_New(0)), regions = PyRef::Steal(PyList_New(0)),
        locals = PyRef::Steal(PyList_New(0));
  if (!instructions || !regions || !locals) return nullptr;
  for (size_t i = 0; i < parts.image.instructions.size(); ++i) {
    if (!Append(instructions.get(), InstructionTuple(parts.image.instructions[i], depths->before[i])))
      return nullptr;
  }
  for (const ExceptionRegion& r : parts.image.regions) {
    PyObject* lasti = PyBool_FromLong(r.push_lasti);
    if (!Append(regions.get(), Py_BuildValue("(iiiiN)", r.begin, r.end, r.handler, r.depth, lasti)))
      return nullptr;
  }
  for (size_t i = 0; i < parts.locals.size(); ++i) {
    if (!Append(locals.get(), Py_BuildValue("(Oi)", parts.locals[i], parts.local_kinds[i]))) return nullptr;
  }
  return Py_BuildValue("{s:O,s:O,s:O,s:i,s:i}", "instructions", instructions.get(), "regions", regions.get(),
                       "locals", locals.get(), "stack_size", depths->max, "flags", parts.flags);
}

PyObject* ReadCodeDict(PyObject*, PyObject* object) {
  PyCodeObject* code = AsCode(object);
  CodeParts parts;
  if (code == nullptr || !ReadCode(code, &parts)) return nullptr;
  PyObject* dict = PartsDict(parts);
  ClearParts(&parts);
  return dict;
}

PyObject* MakeCodeAnew(PyObject*, PyObject* object) {
  PyCodeObject* code = AsCode(object);
  CodeParts parts;
  if (code == nullptr || !ReadCode(code, &parts)) return nullptr;
  parts.image.stack_size = 0;
  PyCodeObject* made = MakeCode(parts);
  ClearParts(&parts);
  return reinterpret_cast<PyObject*>(made);
}

// The name, constant or variable that an instruction's argument stands for.
std::string Annotate(const CodeParts& parts, const Instruction& instruction) {
  uint16_t flags = OpcodeFlags(instruction.op);
  PyRef text;
  auto item = [](PyObject* list, int32_t index) -> PyObject* {
    return index < PyList_GET_SIZE(list) ? PyList_GET_ITEM(list, index) : nullptr;
  };
  auto local = [&](int32_t slot) -> PyObject* {
    return static_cast<size_t>(slot) < parts.locals.size() ? parts.locals[static_cast<size_t>(slot)]
                                                           : nullptr;
  };
  if ((flags & opcode_flag::kConst) != 0) {
    PyObject* value = item(parts.consts, instruction.arg);
    if (value != nullptr)
      text = PyRef::Steal(
          PyCode_Check(value)
              ? PyUnicode_FromFormat("code %U", reinterpret_cast<PyCodeObject*>(value)->co_qualname)
              : PyObject_Repr(value));
  } else if ((flags & opcode_flag::kName) != 0) {
    text = PyRef::Borrow(item(parts.names, instruction.arg));
  } else if ((flags & opcode_flag::kNameShift1) != 0) {
    text = PyRef::Borrow(item(parts.names, instruction.arg >> 1));
  } else if ((flags & opcode_flag::kNameShift2) != 0) {
    text = PyRef::Borrow(item(parts.names, instruction.arg >> 2));
  } else if ((flags & (opcode_flag::kLocal | opcode_flag::kCell)) != 0) {
    text = PyRef::Borrow(local(instruction.arg));
  } else if ((flags & opcode_flag::kLocalPair) != 0) {
    PyObject *first = local(instruction.arg >> 4), *second = local(instruction.arg & 15);
    if (first != nullptr && second != nullptr)
      text = PyRef::Steal(PyUnicode_FromFormat("%U, %U", first, second));
  }
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (utf8 == nullptr) PyErr_Clear();
  std::string out = utf8 != nullptr ? utf8 : "";
  if (out.size() > 60) out = out.substr(0, 57) + "...";
  return out;
}

PyObject* PrintCode(PyObject*, PyObject* object) {
  PyCodeObject* code = AsCode(object);
  CodeParts parts;
  if (code == nullptr || !ReadCode(code, &parts)) return nullptr;
  std::string text = Print(parts.image, [&](const Instruction& i) { return Annotate(parts, i); });
  ClearParts(&parts);
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

// Appends the ints (or truth values) of a sequence.
template <typename T>
bool ReadInts(PyObject* sequence, std::vector<T>* out) {
  PyRef fast = PyRef::Steal(PySequence_Fast(sequence, "expected a sequence"));
  if (!fast) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
    long value = PyLong_AsLong(PySequence_Fast_GET_ITEM(fast.get(), i));
    if (value == -1 && PyErr_Occurred()) return false;
    out->push_back(static_cast<T>(value));
  }
  return true;
}

PyObject* ResumeCodeOf(PyObject*, PyObject* args) {
  PyObject *object, *bound, *nulls;
  int target;
  if (!PyArg_ParseTuple(args, "OiOO", &object, &target, &bound, &nulls)) return nullptr;
  PyCodeObject* code = AsCode(object);
  if (code == nullptr) return nullptr;
  ResumePoint point;
  point.target = target;
  if (!ReadInts(bound, &point.bound_locals) || !ReadInts(nulls, &point.stack_is_null)) return nullptr;
  return reinterpret_cast<PyObject*>(MakeResumeCode(code, point));
}

PyObject* ResumeItemsOf(PyObject*, PyObject* args) {
  static const char* const kNames[] = {"value", "previous", "current", "bare", "lasti"};
  PyObject* object;
  int target;
  if (!PyArg_ParseTuple(args, "Oi", &object, &target)) return nullptr;
  PyCodeObject* code = AsCode(object);
  std::vector<ResumeItem> items;
  if (code == nullptr || !ResumeStackItems(code, target, &items)) return nullptr;
  PyRef list = PyRef::Steal(PyList_New(0));
  for (ResumeItem item : items) {
    if (!list || !Append(list.get(), PyUnicode_FromString(kNames[static_cast<int>(item)]))) return nullptr;
  }
  return list.release();
}

PyObject* ResumeOriginOf(PyObject*, PyObject* args) {
  PyObject* object;
  int index = -1;
  if (!PyArg_ParseTuple(args, "O|i", &object, &index)) return nullptr;
  PyCodeObject* code = AsCode(object);
  if (code == nullptr) return nullptr;
  PyCodeObject* origin = ResumeOrigin(code);
  if (origin == nullptr) Py_RETURN_NONE;
  return Py_BuildValue("(Oi)", origin, ResumeOriginIndex(code, index));
}

// One raw slot of a frame. Tagged integers are the interpreter's own lasti.
PyObject* SlotTuple(const FrameSlot& slot) {
  if (slot.is_int) return Py_BuildValue("(sO)", "int", Py_None);
  if (slot.value == nullptr) return Py_BuildValue("(sO)", "null", Py_None);
  return Py_BuildValue("(sO)", "value", slot.value);
}

PyObject* FrameStackOf(PyObject*, PyObject* frame) {
  if (!PyFrame_Check(frame)) {
    PyErr_Format(PyExc_TypeError, "expected a frame, got %T", frame);
    return nullptr;
  }
  int slots = 0;
  std::vector<FrameSlot> all = FrameSlots(reinterpret_cast<PyFrameObject*>(frame), &slots);
  PyRef locals = PyRef::Steal(PyList_New(0)), stack = PyRef::Steal(PyList_New(0));
  if (!locals || !stack) return nullptr;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!Append(static_cast<int>(i) < slots ? locals.get() : stack.get(), SlotTuple(all[i]))) return nullptr;
  }
  return Py_BuildValue("(OO)", locals.get(), stack.get());
}

PyMethodDef kMethods[] = {
    {"_opcode_table", OpcodeTable, METH_NOARGS, "[(name, number, caches, flag bits)] of opcodes.def."},
    {"_stack_effect", StackEffectOf, METH_VARARGS,
     "_stack_effect(opcode, arg, jump=False): pushes minus pops."},
    {"_read_code", ReadCodeDict, METH_O,
     "_read_code(code): {instructions: [(name, arg, offset, position, stack depth before, -1: unreachable)], "
     "regions: "
     "[(begin, end, handler, depth, lasti)], locals: [(name, kind)], stack_size, flags}; jumps as "
     "instruction indices."},
    {"_make_code", MakeCodeAnew, METH_O, "_make_code(code): the code object decoded and encoded again."},
    {"_print_code", PrintCode, METH_O, "_print_code(code): its instructions and handlers as text."},
    {"_resume_code", ResumeCodeOf, METH_VARARGS,
     "_resume_code(code, target, bound_locals, stack_is_null): code that goes on there; see ResumePoint."},
    {"_resume_items", ResumeItemsOf, METH_VARARGS,
     "_resume_items(code, target): what each stack position holds: value, previous, current, bare or lasti."},
    {"_frame_stack", FrameStackOf, METH_O,
     "_frame_stack(frame): (slots of localsplus, stack) of a suspended frame; (kind, value) each, kind one "
     "of null, "
     "value, int. For tests that cut running functions in two."},
    {"_resume_origin", ResumeOriginOf, METH_VARARGS,
     "_resume_origin(code, index=-1): (original code, its instruction for instruction `index`), None if not "
     "resumed."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool InitBytecodeModule(PyObject* module) { return PyModule_AddFunctions(module, kMethods) == 0; }

}  // namespace thirdbook
