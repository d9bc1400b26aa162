// Resume code: the rest of a function after a graph break, as a function of its own.
//
// In: a code object and the point where it was left. Out: a code object with a prologue in front of the
// original's instructions:
//
//   COPY_FREE_VARS n · RESUME · push what was on the stack · JUMP_FORWARD target · (the original, as far as
//   reachable)
//
// A generator's has RETURN_GENERATOR · POP_TOP before RESUME: what goes on is a generator again.
//
// Slots of the original are renumbered: bound locals become parameters, further parameters carry stack values
// (named
// `.stackN`, emptied as they are pushed), other locals follow, every cell and free variable becomes a free
// variable. Invariant: name, file, positions and handlers are the original's, so that tracebacks look as if
// it had never stopped.
//
// super() without arguments looks for its object in slot 0 of the frame and for __class__ among the free
// variables. So where a method calls it in that form, slot 0 must be the first bound local; when it is a cell
// there is no such slot.
#include <cstdint>
#include <cstdio>
#include <utility>

#include "bytecode/flow.h"
#include "bytecode/stack_shape.h"
#include "python/code_object.h"
#include "python/code_state.h"
#include "python/py_ref.h"

namespace thirdbook {
namespace {

// CodeParts that clears itself.
struct OwnedParts : CodeParts {
  OwnedParts() = default;
  OwnedParts(const OwnedParts&) = delete;
  OwnedParts& operator=(const OwnedParts&) = delete;
  ~OwnedParts() { ClearParts(this); }
};

// False when no function can go on with this shape.
bool ItemsOfShape(const StackShape& shape, std::vector<ResumeItem>* out) {
  for (size_t i = 0; i < shape.size(); ++i) {
    auto above = [&](size_t by) { return i + by < shape.size() ? shape[i + by] : StackKind::kValue; };
    switch (shape[i]) {
      case StackKind::kValue: out->push_back(ResumeItem::kValue); break;
      case StackKind::kCurrent:
        if (i == 0 || shape[i - 1] != StackKind::kPrevious) return false;
        out->push_back(ResumeItem::kCurrent);
        break;
      case StackKind::kGroup: return false;
      case StackKind::kPrevious:
        if (above(1) == StackKind::kLasti && above(2) != StackKind::kPrevious)
          return false;  // in the clean-up
        out->push_back(above(1) == StackKind::kCurrent ? ResumeItem::kPrevious : ResumeItem::kBareHandler);
        break;
      case StackKind::kLasti:
        if (above(1) != StackKind::kPrevious) return false;
        out->push_back(ResumeItem::kLasti);
        break;
    }
  }
  return true;
}

bool HasName(PyObject* list, const char* name) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    if (PyUnicode_EqualToUTF8(PyList_GET_ITEM(list, i), name)) return true;
  }
  return false;
}

class ResumeBuilder {
 public:
  explicit ResumeBuilder(const ResumePoint& point) : point_(point) {}

  PyCodeObject* Build(PyCodeObject* code) {
    if (!ReadCode(code, &parts_)) return nullptr;
    original_size_ = static_cast<int32_t>(parts_.image.instructions.size());
    if (!CheckPoint()) return nullptr;
    if (!AssignSlots()) return nullptr;
    Status status = Rewrite();
    if (!status.ok()) {
      PyErr_SetString(PyExc_SystemError, status.message().c_str());
      return nullptr;
    }
    parts_.argcount = static_cast<int>(point_.bound_locals.size() + stack_slots_);
    parts_.posonlyargcount = 0;
    parts_.kwonlyargcount = 0;
    parts_.flags &= ~(CO_VARARGS | CO_VARKEYWORDS);
    parts_.image.stack_size = 0;
    return MakeCode(parts_);
  }

  std::vector<int32_t> TakeOriginIndex() { return std::move(origin_index_); }
  std::vector<int32_t> TakeOriginSlot() { return std::move(origin_slot_); }

 private:
  bool IsPassed(size_t position) const {
    switch (items_[position]) {
      case ResumeItem::kValue: return !point_.stack_is_null[position];
      case ResumeItem::kCurrent:
      case ResumeItem::kBareHandler: return true;
      case ResumeItem::kPrevious:
      case ResumeItem::kLasti: return false;
    }
    return false;
  }

  bool Fail(const char* what) {
    PyErr_Format(PyExc_ValueError, "resume point of %U: %s", parts_.qualname, what);
    return false;
  }

  bool CheckPoint() {
    if (point_.target < 0 || point_.target >= original_size_) return Fail("target out of range");
    for (int32_t slot : point_.bound_locals) {
      if (slot < 0 || slot >= static_cast<int32_t>(parts_.locals.size())) return Fail("local out of range");
      if ((parts_.local_kinds[static_cast<size_t>(slot)] & (kLocalCell | kLocalFree)) != 0) {
        return Fail("a cell or free variable is not a bound local");
      }
    }
    Result<std::vector<StackShape>> shapes = ComputeStackShapes(parts_.image);
    if (!shapes.ok()) return Fail(shapes.status().message().c_str());
    const StackShape& shape = (*shapes)[static_cast<size_t>(point_.target)];
    if (shape.size() != point_.stack_is_null.size()) return Fail("stack depth differs from the target's");
    if (!ItemsOfShape(shape, &items_)) return Fail("no function can go on there");
    return CheckSuper();
  }

  bool CheckSuper() {
    bool method = parts_.argcount > 0 && HasName(parts_.names, "super");
    bool has_class = false;
    for (PyObject* name : parts_.locals) has_class |= PyUnicode_EqualToUTF8(name, "__class__") != 0;
    if (!method || !has_class) return true;
    if (!CallsBareSuper()) return true;
    if ((parts_.local_kinds[0] & kLocalCell) == 0 && !point_.bound_locals.empty() &&
        point_.bound_locals[0] == 0) {
      return true;
    }
    PyErr_Format(PyExc_NotImplementedError, "%U calls super() without arguments, and its first argument %s",
                 parts_.qualname,
                 (parts_.local_kinds[0] & kLocalCell) != 0 ? "is captured by a closure"
                                                           : "is not the first local of the resume point");
    return false;
  }

  // `super().name` is compiled to LOAD_SUPER_ATTR, which is given class and object; only other uses look at
  // the frame.
  bool CallsBareSuper() const {
    const std::vector<Instruction>& code = parts_.image.instructions;
    for (size_t i = 0; i < code.size(); ++i) {
      if (code[i].op != Opcode::LOAD_GLOBAL) continue;
      PyObject* name = PyList_GetItem(parts_.names, code[i].arg >> 1);
      if (name == nullptr) {
        PyErr_Clear();
        continue;
      }
      if (!PyUnicode_EqualToUTF8(name, "super")) continue;
      size_t j = i + 1;
      while (j < code.size() && (code[j].op == Opcode::LOAD_DEREF || code[j].op == Opcode::LOAD_FAST ||
                                 code[j].op == Opcode::LOAD_FAST_BORROW)) {
        ++j;
      }
      if (j >= code.size() || code[j].op != Opcode::LOAD_SUPER_ATTR) return true;
    }
    return false;
  }

  // Fills parts_.locals/local_kinds anew, new_slot_ (old → new) and origin_slot_ (new → old).
  bool AssignSlots() {
    std::vector<PyObject*> old_names = std::exchange(parts_.locals, {});
    std::vector<uint8_t> old_kinds = std::exchange(parts_.local_kinds, {});
    new_slot_.assign(old_names.size(), -1);
    auto take = [&](size_t slot, uint8_t kind) {
      new_slot_[slot] = static_cast<int32_t>(parts_.locals.size());
      origin_slot_.push_back(static_cast<int32_t>(slot));
      parts_.locals.push_back(old_names[slot]);
      parts_.local_kinds.push_back(kind);
    };
    bool ok = true;
    for (int32_t slot : point_.bound_locals) {
      if (new_slot_[static_cast<size_t>(slot)] >= 0) {
        ok = Fail("a local is named twice");
        break;
      }
      take(static_cast<size_t>(slot), kLocalLocal);
    }
    first_stack_slot_ = static_cast<int32_t>(parts_.locals.size());
    for (size_t i = 0; ok && i < items_.size(); ++i) {
      if (!IsPassed(i)) continue;
      char text[32];
      std::snprintf(text, sizeof text, ".stack%zu", i);
      PyObject* name = PyUnicode_InternFromString(text);
      if (name == nullptr) {
        ok = false;
        break;
      }
      origin_slot_.push_back(-1);
      parts_.locals.push_back(name);
      parts_.local_kinds.push_back(kLocalLocal);
      ++stack_slots_;
    }
    for (size_t slot = 0; slot < old_names.size(); ++slot) {
      if (new_slot_[slot] < 0 && (old_kinds[slot] & (kLocalCell | kLocalFree)) == 0)
        take(slot, old_kinds[slot]);
    }
    for (size_t slot = 0; slot < old_names.size(); ++slot) {
      if (new_slot_[slot] < 0) {
        take(slot, kLocalFree);
        ++free_count_;
      }
    }
    return ok;
  }

  void Emit(Opcode op, int32_t arg, const Position& position) {
    prologue_.push_back({op, arg, position, -1});
  }

  // Raises the exception on the stack into a handler right below, for the lasti that the interpreter pushes
  // then.
  void EmitRaise(size_t depth, const Position& at) {
    int32_t raise = static_cast<int32_t>(prologue_.size());
    Emit(Opcode::RERAISE, 0, at);
    prologue_regions_.push_back({raise, raise + 1, raise + 1, static_cast<int32_t>(depth), true});
  }

  void EmitPrologue(const Position& at) {
    Position start{parts_.image.first_line, parts_.image.first_line, 0, 0};
    if (free_count_ > 0) Emit(Opcode::COPY_FREE_VARS, free_count_, Position());
    if ((parts_.flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0) {
      Emit(Opcode::RETURN_GENERATOR, 0, start);
      Emit(Opcode::POP_TOP, 0, start);
    }
    Emit(Opcode::RESUME, 0, start);
    int32_t slot = first_stack_slot_;
    for (size_t i = 0; i < items_.size(); ++i) {
      switch (items_[i]) {
        case ResumeItem::kValue:
          if (IsPassed(i)) {
            Emit(Opcode::LOAD_FAST_AND_CLEAR, slot++, at);
          } else {
            Emit(Opcode::PUSH_NULL, 0, at);
          }
          break;
        case ResumeItem::kCurrent:
        case ResumeItem::kBareHandler: {
          Emit(Opcode::LOAD_FAST_AND_CLEAR, slot++, at);
          bool bare = items_[i] == ResumeItem::kBareHandler;
          size_t previous = bare ? i : i - 1;
          if (previous > 0 && items_[previous - 1] == ResumeItem::kLasti) EmitRaise(previous - 1, at);
          Emit(Opcode::PUSH_EXC_INFO, 0, at);
          if (bare) Emit(Opcode::POP_TOP, 0, at);
          break;
        }
        case ResumeItem::kPrevious:
        case ResumeItem::kLasti: break;  // made with the exception above
      }
    }
    Emit(Opcode::JUMP_FORWARD, 0, at);
  }

  Status Rewrite() {
    CodeImage& image = parts_.image;
    std::vector<int32_t> renumbered;
    TB_RETURN_IF_ERROR(RenumberLocals(&image, new_slot_, &renumbered));
    int32_t target = renumbered[static_cast<size_t>(point_.target)];
    EmitPrologue(image.instructions[static_cast<size_t>(target)].position);

    int32_t shift = static_cast<int32_t>(prologue_.size());
    prologue_.back().arg = target + shift;
    for (Instruction& instruction : image.instructions) {
      if (IsJump(instruction.op)) instruction.arg += shift;
    }
    image.instructions.insert(image.instructions.begin(), prologue_.begin(), prologue_.end());
    for (ExceptionRegion& region : image.regions) {
      region.begin += shift;
      region.end += shift;
      region.handler += shift;
    }
    image.regions.insert(image.regions.begin(), prologue_regions_.begin(), prologue_regions_.end());

    std::vector<int32_t> kept;
    TB_RETURN_IF_ERROR(RemoveUnreachable(&image, &kept));
    origin_index_.assign(image.instructions.size(), -1);
    for (int32_t i = 0; i < original_size_; ++i) {
      size_t place = static_cast<size_t>(renumbered[static_cast<size_t>(i)] + shift);
      if (kept[place + 1] > kept[place]) origin_index_[static_cast<size_t>(kept[place])] = i;
    }
    return Status::Ok();
  }

  const ResumePoint& point_;
  OwnedParts parts_;
  int32_t original_size_ = 0;
  std::vector<ResumeItem> items_;
  int32_t first_stack_slot_ = 0, free_count_ = 0;
  size_t stack_slots_ = 0;
  std::vector<int32_t> new_slot_, origin_slot_, origin_index_;
  std::vector<Instruction> prologue_;
  std::vector<ExceptionRegion> prologue_regions_;
};

// The same point as seen from the original. False when it has none (inside a prologue or a split
// instruction).
bool PointInOrigin(const CodeState& state, const ResumePoint& point, ResumePoint* out) {
  *out = point;
  size_t target = static_cast<size_t>(point.target);
  if (point.target < 0 || target >= state.origin_index.size() || state.origin_index[target] < 0) return false;
  out->target = state.origin_index[target];
  for (int32_t& slot : out->bound_locals) {
    if (slot < 0 || static_cast<size_t>(slot) >= state.origin_slot.size()) return false;
    slot = state.origin_slot[static_cast<size_t>(slot)];
    if (slot < 0) return false;
  }
  return true;
}

}  // namespace

bool ResumeStackItems(PyCodeObject* code, int32_t target, std::vector<ResumeItem>* out) {
  out->clear();
  OwnedParts parts;
  if (!ReadCode(code, &parts)) return false;
  Result<std::vector<StackShape>> shapes = ComputeStackShapes(parts.image);
  bool fits = shapes.ok() && target >= 0 && static_cast<size_t>(target) < shapes->size() &&
              ItemsOfShape((*shapes)[static_cast<size_t>(target)], out);
  if (!fits)
    PyErr_Format(PyExc_ValueError, "%U: no function can go on at instruction %d", code->co_qualname, target);
  return fits;
}

constexpr int kMaxResumeDepth = 6;

PyCodeObject* MakeResumeCode(PyCodeObject* code, const ResumePoint& point) {
  CodeState* state = EnsureState(code);
  if (state == nullptr) return nullptr;
  ResumePoint in_origin;
  if (state->origin != nullptr && PointInOrigin(*state, point, &in_origin)) {
    return MakeResumeCode(state->origin, in_origin);
  }
  // Resume codes of resume codes are made where the origin cannot express the stack, as inside of handlers.
  // Each puts more on it; a chain that goes on is going round in circles.
  int depth = 0;
  for (CodeState* s = state; s != nullptr && s->origin != nullptr; s = FindState(s->origin)) depth++;
  if (depth >= kMaxResumeDepth) {
    PyErr_SetString(PyExc_RuntimeError, "resume codes are nested too deep");
    return nullptr;
  }
  for (const ResumeCode& known : state->resumes) {
    if (known.point == point) return reinterpret_cast<PyCodeObject*>(Py_NewRef(known.code));
  }
  ResumeBuilder builder(point);
  PyRef made = PyRef::Steal(reinterpret_cast<PyObject*>(builder.Build(code)));
  if (!made) return nullptr;
  PyCodeObject* resume = reinterpret_cast<PyCodeObject*>(made.get());
  CodeState* resume_state = EnsureState(resume);
  if (resume_state == nullptr) return nullptr;
  resume_state->origin = code;
  resume_state->origin_index = builder.TakeOriginIndex();
  resume_state->origin_slot = builder.TakeOriginSlot();
  state->resumes.push_back({point, reinterpret_cast<PyCodeObject*>(Py_NewRef(resume))});
  return reinterpret_cast<PyCodeObject*>(made.release());
}

PyCodeObject* ResumeOrigin(PyCodeObject* code) {
  CodeState* state = FindState(code);
  return state != nullptr ? state->origin : nullptr;
}

int32_t ResumeOriginIndex(PyCodeObject* code, int32_t index) {
  CodeState* state = FindState(code);
  if (state == nullptr || index < 0 || static_cast<size_t>(index) >= state->origin_index.size()) return -1;
  return state->origin_index[static_cast<size_t>(index)];
}

}  // namespace thirdbook
