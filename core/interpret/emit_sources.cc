// Code that fetches what a source names. See emit.h.
//
// In: sources. Out: instructions that push their values. Invariant: a source that is needed twice is fetched
// once and kept in a temporary.
#include "interpret/emit.h"

#include "interpret/builtins.h"
#include "python/tensor_object.h"

namespace thirdbook {

// The argument of COMPARE_OP: the operator, and in the low bits which outcomes of a three-way comparison
// (unordered 1, less 2, greater 4, equal 8) are true, which CPython's specialised forms read.
static int32_t CompareArgument(int op) {
  static const int kOutcomes[] = {2, 10, 8, 7, 4, 12};
  return op << 5 | kOutcomes[op];
}

void Emitter::EmitSource(SourceId id) {
  int32_t& slot = source_slot_[static_cast<size_t>(id.value)];
  if (slot >= 0) {
    Op(Opcode::LOAD_FAST, slot);
    return;
  }
  const Source& s = t_.sources().at(id);
  bool leaf = s.kind == SourceKind::kLocal || s.kind == SourceKind::kClosureCell ||
              s.kind == SourceKind::kObject || s.kind == SourceKind::kGraphTensor;
  EmitSourceBody(s);
  if (!leaf && source_uses_[static_cast<size_t>(id.value)] > 1) {
    slot = NewTemp();
    Op(Opcode::COPY, 1);
    Op(Opcode::STORE_FAST, slot);
  }
}

void Emitter::EmitSourceBody(const Source& s) {
  auto operand = [&](size_t i) { EmitSource(s.operands[i]); };
  static PyObject* object_getattribute =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__getattribute__");
  switch (s.kind) {
    case SourceKind::kLocal: Op(Opcode::LOAD_FAST, s.detail); break;
    case SourceKind::kClosureCell: Op(Opcode::LOAD_FAST, CodeBuilder::FreeSlot(s.detail)); break;
    case SourceKind::kObject:
      if (PyType_Check(t_.object(s.object))) {
        LoadClass(reinterpret_cast<PyTypeObject*>(t_.object(s.object)));
      } else {
        LoadConst(t_.object(s.object));
      }
      break;
    case SourceKind::kCellContents: {
      const Source& cell = t_.sources().at(s.operands[0]);
      if (cell.kind == SourceKind::kClosureCell) {
        Op(Opcode::LOAD_DEREF, CodeBuilder::FreeSlot(cell.detail));
      } else {
        operand(0);
        Op(Opcode::LOAD_ATTR, NameIndex("cell_contents") << 1);
      }
      break;
    }
    case SourceKind::kAttribute: {
      if (s.detail == 3) {  // an object whose class has attribute access of its own
        CallConst(object_getattribute);
        operand(0);
        LoadConst(t_.object(s.object));
        Op(Opcode::CALL, 2);
        break;
      }
      operand(0);
      Op(Opcode::LOAD_ATTR, NameIndex(s.name.c_str()) << 1);
      break;
    }
    case SourceKind::kTypeAttribute:
      operand(0);
      Op(Opcode::LOAD_ATTR, NameIndex(s.name.c_str()) << 1);
      break;
    case SourceKind::kItem: {
      const Source& container = t_.sources().at(s.operands[0]);
      const Source& key = t_.sources().at(s.operands[1]);
      if (container.kind == SourceKind::kObject && key.kind == SourceKind::kObject &&
          PyUnicode_CheckExact(t_.object(key.object)) &&
          (t_.object(container.object) == t_.frame_view().globals ||
           t_.object(container.object) == t_.frame_view().builtins)) {
        Op(Opcode::LOAD_GLOBAL, NameIndex(t_.object(key.object)) << 1);
        break;
      }
      PyTypeObject* type = t_.SourceType(s.operands[0]);
      PyTypeObject* base = BaseContainer(type);
      bool exact = type == nullptr || base == type || type == &PyTuple_Type || type == &PyDict_Type;
      if (!exact) {
        if (base == nullptr) base = &PyTuple_Type;
        PyRef method = PyRef::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(base), "__getitem__"));
        CallConst(method.get());
        operand(0);
        operand(1);
        Op(Opcode::CALL, 2);
        break;
      }
      operand(0);
      operand(1);
      Op(Opcode::BINARY_OP, 26);
      break;
    }
    case SourceKind::kLength: {
      PyTypeObject* type = t_.SourceType(s.operands[0]);
      PyTypeObject* base = BaseContainer(type);
      if (type != nullptr && base != type && type != &PyTuple_Type) {
        PyRef method = PyRef::Steal(PyObject_GetAttrString(
            reinterpret_cast<PyObject*>(base != nullptr ? base : &PyTuple_Type), "__len__"));
        CallConst(method.get());
      } else {
        CallConst(PyDict_GetItemString(PyEval_GetBuiltins(), "len"));
      }
      operand(0);
      Op(Opcode::CALL, 1);
      break;
    }
    case SourceKind::kFunction: {
      operand(0);
      if (s.detail >= static_cast<int32_t>(FunctionPart::kClosure)) {
        Op(Opcode::LOAD_ATTR, NameIndex("__closure__") << 1);
        LoadConst(
            PyRef::Steal(PyLong_FromLong(s.detail - static_cast<int32_t>(FunctionPart::kClosure))).get());
        Op(Opcode::BINARY_OP, 26);
      } else {
        Op(Opcode::LOAD_ATTR, NameIndex(s.name.c_str()) << 1);
      }
      break;
    }
    case SourceKind::kBinary:
      operand(0);
      operand(1);
      Op(Opcode::BINARY_OP, s.detail);
      break;
    case SourceKind::kUnary:
      operand(0);
      switch (s.detail) {
        case kUnaryNegative: Op(Opcode::UNARY_NEGATIVE); break;
        case kUnaryPositive: Op(Opcode::CALL_INTRINSIC_1, 5); break;
        case kUnaryInvert: Op(Opcode::UNARY_INVERT); break;
        default: Op(Opcode::TO_BOOL); Op(Opcode::UNARY_NOT);
      }
      break;
    case SourceKind::kCompare:
      operand(0);
      operand(1);
      Op(Opcode::COMPARE_OP, CompareArgument(s.detail));
      break;
    case SourceKind::kContains:
      operand(0);
      operand(1);
      Op(Opcode::CONTAINS_OP, 0);
      break;
    case SourceKind::kCall:
      CallConst(t_.object(s.object));
      for (size_t i = 0; i < s.operands.size(); i++) operand(i);
      Op(Opcode::CALL, static_cast<int32_t>(s.operands.size()));
      break;
    case SourceKind::kGraphTensor: {
      Var snapshot = t_.graph_scalars()[static_cast<size_t>(s.detail)];
      Emit(snapshot);
      break;
    }
    case SourceKind::kSize: {
      static PyObject* size = PyObject_GetAttrString(reinterpret_cast<PyObject*>(TensorType), "size");
      CallConst(size);
      operand(0);
      LoadConst(PyRef::Steal(PyLong_FromLong(s.detail)).get());
      Op(Opcode::CALL, 2);
      break;
    }
  }
}

Var Trace::LocalClass(PyTypeObject* type) {
  auto it = known_.find(reinterpret_cast<PyObject*>(type));
  if (it == known_.end()) return nullptr;
  const Source* root = &sources_.at(it->second->source);
  while (!root->operands.empty()) root = &sources_.at(root->operands[0]);
  return root->kind == SourceKind::kObject ? nullptr : it->second;
}

void Emitter::LoadClass(PyTypeObject* type) {
  Var v = t_.LocalClass(type);
  if (v != nullptr && seen_.contains(v)) {
    Emit(v);
  } else {
    LoadConst(reinterpret_cast<PyObject*>(type));
  }
}

// The exact type of the object behind a source, as the trace saw it; nullptr when unknown.
PyTypeObject* Trace::SourceType(SourceId id) {
  const Source& s = sources_.at(id);
  if (s.kind == SourceKind::kObject) return Py_TYPE(object(s.object));
  auto it = by_source_.find(id.value);
  return it != by_source_.end() && it->second->value ? Py_TYPE(it->second->value.get()) : nullptr;
}

}  // namespace thirdbook
