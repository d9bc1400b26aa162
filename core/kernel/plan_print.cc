// A plan as text: a line for each step, with the places that it reads and writes.
#include "graph/shape.h"
#include "kernel/plan.h"

namespace thirdbook {

std::string Print(const Graph& graph, const Plan& plan) {
  const auto slot_text = [&](int slot) {
    const Slot& s = plan.slots[static_cast<size_t>(slot)];
    switch (s.kind) {
      case Slot::Kind::kInput: return "input" + std::to_string(s.index);
      case Slot::Kind::kConstant: return std::string("constant");
      case Slot::Kind::kArena: return "arena+" + std::to_string(s.offset);
      case Slot::Kind::kOutput: return "fresh" + std::to_string(slot);
      case Slot::Kind::kGiven: return "given" + std::to_string(slot);
    }
    return std::string("?");
  };
  std::string text = "plan: arena " + std::to_string(plan.arena_bytes) + " bytes\n";
  for (const Step& step : plan.steps) {
    switch (step.kind) {
      case Step::Kind::kKernel: text += "  kernel " + step.name; break;
      case Step::Kind::kProduct: {
        const ProductShape& s = step.product;
        text += Format("  product %lld x %lld x %lld", static_cast<long long>(s.m),
                       static_cast<long long>(s.n), static_cast<long long>(s.k));
        if (s.a_batch.size() > 1) text += " batch " + std::to_string(s.a_batch.size());
        text += " " + slot_text(step.a) + " " + slot_text(step.b) + " -> " + slot_text(step.c);
        if (step.kernel) text += ", then " + step.name;
        break;
      }
      case Step::Kind::kLibrary: text += "  library " + step.name; break;
      case Step::Kind::kCopy: text += "  copy"; break;
    }
    for (const Pointer& p : step.pointers) {
      const bool output = step.kernel->loops.buffers[static_cast<size_t>(p.cell)].output;
      text += (output ? " -> " : " ") + slot_text(p.slot);
    }
    for (const Place& p : step.places) text += p.slot < 0 ? " none" : " " + slot_text(p.slot);
    for (int r : step.results) text += " -> " + slot_text(r);
    text += "   #";
    for (NodeId id : step.nodes) text += " %" + std::to_string(id.value);
    text += "\n";
  }
  text += "  return";
  for (const Place& p : plan.outputs) text += " " + slot_text(p.slot);
  (void)graph;
  return text + "\n";
}

}  // namespace thirdbook
