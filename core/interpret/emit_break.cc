// The end of a rewritten function: return, or the broken instruction and the request to go on after it. See
// emit.h.
//
// In: the root frame before the broken instruction. Out: its locals and stack as real values, the instruction
// itself, then `return _resume(function, *values)` for each way on: after it, at its jump target, at the
// handler of an exception that it raises. Invariant: the instruction sees just what it would have seen.
#include "interpret/emit.h"

namespace thirdbook {

static PyObject* CurrentException() {
  static PyObject* exception = PySys_GetObject("exception");
  return exception;
}

bool Emitter::EmitReturn() {
  code_.SetRole(Role::kReturn);
  if (!Emit(t_.result()) || !FillPending()) return false;
  Op(Opcode::RETURN_VALUE);
  return true;
}

// A slot of the original in the rewritten function.
int32_t Emitter::MapSlot(const Instruction& i, int32_t slot) const {
  (void)i;
  return slot >= nonfree_ ? CodeBuilder::FreeSlot(slot - nonfree_) : slot;
}

bool Emitter::EmitBreak() {
  const CodeImage& image = root_.parts->image;
  const Instruction& broken = image.instructions[static_cast<size_t>(root_.pc)];
  code_.SetRole(Role::kResume);
  code_.SetPosition(broken.position);
  std::vector<ResumeItem> items;
  if (!root_.stack.empty() || !root_.handled.empty()) {
    if (!ResumeStackItems(root_.code, root_.pc, &items)) {
      PyErr_Clear();
      return Fail(-1, "the break lies in the clean-up of an exception handler");
    }
  }
  // Locals: all values first, then the stores (they may change places).
  std::vector<int32_t> stores;
  for (int32_t slot = 0; slot < nonfree_; slot++) {
    Var v = root_.locals[static_cast<size_t>(slot)];
    if (v == nullptr) continue;
    while (v->forward != nullptr) v = v->forward;
    if (v->kind != VariableKind::kNew && v->kind != VariableKind::kConst && v->source.defined()) {
      const Source& s = t_.sources().at(v->source);
      if (s.kind == SourceKind::kLocal && s.detail == slot) continue;  // still there
    }
    if (!Emit(v) || !FillPending()) return false;
    stores.push_back(slot);
  }
  for (auto it = stores.rbegin(); it != stores.rend(); ++it) Op(Opcode::STORE_FAST, *it);
  for (int32_t slot = 0; slot < argument_slots_; slot++) {
    if (root_.locals[static_cast<size_t>(slot)] == nullptr) Op(Opcode::DELETE_FAST, slot);
  }
  // The stack, and with it the exceptions being handled.
  size_t handler = 0;
  for (size_t k = 0; k < root_.stack.size(); k++) {
    ResumeItem item = k < items.size() ? items[k] : ResumeItem::kValue;
    if (item == ResumeItem::kPrevious) continue;
    bool handled = item == ResumeItem::kBareHandler || item == ResumeItem::kCurrent;
    if (item == ResumeItem::kBareHandler && handler >= root_.handled.size())
      return Fail(-1, "internal: an exception handler without its exception");
    Var value = item == ResumeItem::kBareHandler ? root_.handled[handler] : root_.stack[k];
    if (!Emit(value) || !FillPending()) return false;
    if (handled) {
      Op(Opcode::PUSH_EXC_INFO);
      if (item == ResumeItem::kBareHandler) Op(Opcode::POP_TOP);
      handler++;
    }
  }
  // Code that looks at its frame's locals must not see ours, and what dies at the instruction must not live
  // on in them.
  for (int32_t i = 0; i < temps_; i++) Op(Opcode::DELETE_FAST, nonfree_ + i);
  int32_t depth = static_cast<int32_t>(root_.stack.size());
  int32_t begin = code_.here();
  uint16_t flags = OpcodeFlags(broken.op);
  int32_t next_depth = depth + StackEffect(broken.op, broken.arg, false);
  bool jumps = IsJump(broken.op);
  if (jumps && (IsUnconditional(broken.op) || broken.op == Opcode::SEND))
    return Fail(-1, std::string("a break at ") + OpcodeName(broken.op));
  if (broken.op == Opcode::YIELD_VALUE || broken.op == Opcode::RETURN_VALUE)
    return Fail(-1, std::string("a break at ") + OpcodeName(broken.op));
  int32_t arg = broken.arg;
  if ((flags & (opcode_flag::kLocal | opcode_flag::kCell)) != 0) arg = MapSlot(broken, broken.arg);
  Label target = code_.NewLabel();
  // Instructions that push a method as a pair push it whole, and NULL: a NULL that is known now can be handed
  // on.
  bool method_pair = (broken.op == Opcode::LOAD_GLOBAL || broken.op == Opcode::LOAD_ATTR ||
                      broken.op == Opcode::LOAD_SUPER_ATTR) &&
                     (arg & 1) != 0;
  null_on_top_ = method_pair || broken.op == Opcode::PUSH_NULL;
  if (broken.op == Opcode::LOAD_SPECIAL) {
    static const char* const kNames[] = {"__enter__", "__exit__", "__aenter__", "__aexit__"};
    PyRef name = PyRef::Steal(PyUnicode_InternFromString(kNames[arg & 3]));
    PyObject* found = t_.TypeLookup(t_.TypeOf(root_.stack.back()), name.get(), false);
    if (found == nullptr || !(PyFunction_Check(found) || Py_TYPE(found) == &PyMethodDescr_Type))
      return Fail(-1, "a context manager whose methods are unusual");
  }
  if (jumps) {
    code_.EmitJump(broken.op, target);
  } else if (method_pair) {
    Op(broken.op, arg & ~1);
    Op(Opcode::PUSH_NULL);
  } else {
    Op(broken.op, arg);
  }
  int32_t end = code_.here();
  if (!IsUnconditional(broken.op) && !EmitContinuation(root_.pc + 1, next_depth)) return false;
  null_on_top_ = false;
  if (jumps) {
    code_.Bind(target);
    if (broken.op == Opcode::FOR_ITER) {
      Op(Opcode::END_FOR);
      if (!EmitContinuation(broken.arg + 1, depth)) return false;
    } else {
      if (!EmitContinuation(broken.arg, depth + StackEffect(broken.op, broken.arg, true))) return false;
    }
  }
  // An exception: to the handler that covers the instruction.
  const ExceptionRegion* region = nullptr;
  for (const ExceptionRegion& r : image.regions) {
    if (root_.pc >= r.begin && root_.pc < r.end) region = &r;
  }
  if (region != nullptr) {
    Label handler = code_.NewLabel();
    code_.AddRegion(begin, end, handler, region->depth, region->push_lasti);
    code_.Bind(handler);
    if (!EmitHandler(region->handler, region->depth + (region->push_lasti ? 1 : 0) + 1)) return false;
  }
  return true;
}

// The handler at `handler`, entered with `depth` values (the exception on top).
bool Emitter::EmitHandler(int32_t handler, int32_t depth) {
  const CodeImage& image = root_.parts->image;
  const Instruction& first = image.instructions[static_cast<size_t>(handler)];
  if (first.op == Opcode::PUSH_EXC_INFO) {
    Op(Opcode::PUSH_EXC_INFO);
    return EmitContinuation(handler + 1, depth + 1);
  }
  // Clean-up that ends by raising again: run it here, then go to the next handler outwards.
  // It may put back a local that was unbound: which of the values are NULL?
  std::vector<bool> null(static_cast<size_t>(depth));
  for (size_t k = 0; k < null.size() && k < root_.stack.size(); k++)
    null[k] = root_.stack[k]->kind == VariableKind::kNull && static_cast<int32_t>(k) < UntouchedDepth();
  int32_t begin = code_.here();
  int32_t at = handler;
  while (true) {
    const Instruction& i = image.instructions[static_cast<size_t>(at)];
    if (IsJump(i.op)) return Fail(-1, "an exception handler of an unusual shape");
    uint16_t flags = OpcodeFlags(i.op);
    code_.SetPosition(i.position);
    Op(i.op, (flags & (opcode_flag::kLocal | opcode_flag::kCell)) != 0 ? MapSlot(i, i.arg) : i.arg);
    auto from_top = [&](int32_t n) { return null[null.size() - static_cast<size_t>(n)]; };
    if (i.op == Opcode::STORE_FAST) handler_binds_[i.arg] = !from_top(1);
    if (i.op == Opcode::STORE_FAST_STORE_FAST) {
      handler_binds_[i.arg >> 4] = !from_top(1);
      handler_binds_[i.arg & 15] = !from_top(2);
    }
    if (i.op == Opcode::STORE_FAST_LOAD_FAST || i.op == Opcode::LOAD_FAST_AND_CLEAR)
      return Fail(-1, "an exception handler of an unusual shape");
    if (i.op == Opcode::DELETE_FAST) handler_binds_[i.arg] = false;
    if (i.op == Opcode::RERAISE) break;
    if (i.op == Opcode::SWAP) {
      const bool top = from_top(1);
      null[null.size() - 1] = from_top(i.arg);
      null[null.size() - static_cast<size_t>(i.arg)] = top;
    } else if (i.op == Opcode::COPY) {
      null.push_back(from_top(i.arg));
    } else {
      null.resize(null.size() - static_cast<size_t>(StackPops(i.op, i.arg)));
      null.resize(null.size() + static_cast<size_t>(StackPushes(i.op, i.arg)), false);
    }
    if (IsUnconditional(i.op) || at - handler > 40)
      return Fail(-1, "an exception handler of an unusual shape");
    at++;
  }
  int32_t end = code_.here();
  const ExceptionRegion* region = nullptr;
  for (const ExceptionRegion& r : image.regions) {
    if (at >= r.begin && at < r.end) region = &r;
  }
  if (region == nullptr) return true;
  Label outer = code_.NewLabel();
  code_.AddRegion(begin, end, outer, region->depth, region->push_lasti);
  code_.Bind(outer);
  return EmitHandler(region->handler, region->depth + (region->push_lasti ? 1 : 0) + 1);
}

// Stack of `depth` values as before original instruction `target`: hand over to the resume function.
bool Emitter::EmitContinuation(int32_t target, int32_t depth) {
  const Instruction& next = root_.parts->image.instructions[static_cast<size_t>(target)];
  if (next.op == Opcode::RETURN_VALUE && depth == 1) {  // nothing is left to do
    Op(Opcode::RETURN_VALUE);
    return true;
  }
  std::vector<ResumeItem> items;
  if (!ResumeStackItems(root_.code, target, &items) || static_cast<int32_t>(items.size()) != depth) {
    PyErr_Clear();
    return Fail(-1, "no function can go on after the break");
  }
  ResumePoint point;
  point.target = target;
  // NULLs: those of the stack below the broken instruction stay what they are.
  for (int32_t k = 0; k < depth; k++) {
    bool null = items[static_cast<size_t>(k)] == ResumeItem::kValue &&
                static_cast<size_t>(k) < root_.stack.size() &&
                root_.stack[static_cast<size_t>(k)]->kind == VariableKind::kNull && k < UntouchedDepth();
    if (k == depth - 1 && null_on_top_) null = true;
    point.stack_is_null.push_back(null);
  }
  std::vector<int32_t> temps(static_cast<size_t>(depth), -1);
  for (int32_t k = depth - 1; k >= 0; k--) {
    switch (items[static_cast<size_t>(k)]) {
      case ResumeItem::kPrevious: Op(Opcode::POP_EXCEPT); break;
      case ResumeItem::kLasti: Op(Opcode::POP_TOP); break;
      case ResumeItem::kBareHandler:  // its exception is where sys.exception() finds it
        temps[static_cast<size_t>(k)] = NewTemp();
        CallConst(CurrentException());
        Op(Opcode::CALL, 0);
        Op(Opcode::STORE_FAST, temps[static_cast<size_t>(k)]);
        Op(Opcode::POP_EXCEPT);
        break;
      default:
        if (point.stack_is_null[static_cast<size_t>(k)]) {
          Op(Opcode::POP_TOP);
        } else {
          temps[static_cast<size_t>(k)] = NewTemp();
          Op(Opcode::STORE_FAST, temps[static_cast<size_t>(k)]);
        }
    }
  }
  for (int32_t slot = 0; slot < nonfree_; slot++) {
    bool cell = (root_.parts->local_kinds[static_cast<size_t>(slot)] & kLocalCell) != 0;
    bool bound = BoundAfterBreak(slot);
    auto changed = handler_binds_.find(slot);
    if (changed != handler_binds_.end()) bound = changed->second;
    if (!cell && bound) point.bound_locals.push_back(slot);
    if (cell && !bound) return Fail(-1, "a break before the cells of the frame are made");
  }
  PyCodeObject* code = MakeResumeCode(root_.code, point);
  if (code == nullptr) {
    PyErr_Clear();
    return Fail(-1, "no function can go on after the break");
  }
  PyRef holder = PyRef::Steal(reinterpret_cast<PyObject*>(code));
  keep_.push_back(holder);
  resume_codes_.push_back(holder);
  CallConst(ResumeCallable());
  int32_t cells = 0;
  for (int32_t slot = 0; slot < nonfree_ + nfree_; slot++) {
    uint8_t kind = root_.parts->local_kinds[static_cast<size_t>(slot)];
    if ((kind & (kLocalCell | kLocalFree)) == 0) continue;
    Op(Opcode::LOAD_FAST, slot >= nonfree_ ? CodeBuilder::FreeSlot(slot - nonfree_) : slot);
    cells++;
  }
  if (cells > 0) Op(Opcode::BUILD_TUPLE, cells);
  LoadConst(holder.get());
  Op(Opcode::MAKE_FUNCTION);
  if (cells > 0) Op(Opcode::SET_FUNCTION_ATTRIBUTE, 8);
  int32_t count = 1;
  for (int32_t slot : point.bound_locals) {
    Op(Opcode::LOAD_FAST, slot);
    count++;
  }
  for (int32_t temp : temps) {
    if (temp < 0) continue;
    Op(Opcode::LOAD_FAST, temp);
    count++;
  }
  Op(Opcode::CALL, count);
  Op(Opcode::RETURN_VALUE);
  return true;
}

// Whether a local is bound after the broken instruction, which may store or clear it.
bool Emitter::BoundAfterBreak(int32_t slot) const {
  const Instruction& broken = root_.parts->image.instructions[static_cast<size_t>(root_.pc)];
  auto stores = [&](size_t from_top) {
    return root_.stack[root_.stack.size() - from_top]->kind != VariableKind::kNull;
  };
  switch (broken.op) {
    case Opcode::DELETE_FAST:
    case Opcode::LOAD_FAST_AND_CLEAR:
      if (broken.arg == slot) return false;
      break;
    case Opcode::STORE_FAST:
      if (broken.arg == slot) return stores(1);
      break;
    case Opcode::STORE_FAST_LOAD_FAST:
      if (broken.arg >> 4 == slot) return stores(1);
      break;
    case Opcode::STORE_FAST_STORE_FAST:  // the top first
      if ((broken.arg & 15) == slot) return stores(2);
      if (broken.arg >> 4 == slot) return stores(1);
      break;
    default: break;
  }
  return root_.locals[static_cast<size_t>(slot)] != nullptr;
}

// How many stack values the broken instruction leaves alone; some look deeper than they take.
int32_t Emitter::UntouchedDepth() const {
  const Instruction& broken = root_.parts->image.instructions[static_cast<size_t>(root_.pc)];
  int32_t taken = StackPops(broken.op, broken.arg);
  if (broken.op == Opcode::DICT_MERGE) taken = 1;
  if (broken.op == Opcode::WITH_EXCEPT_START || broken.op == Opcode::COPY) taken = 0;
  return static_cast<int32_t>(root_.stack.size()) - taken;
}

}  // namespace thirdbook
