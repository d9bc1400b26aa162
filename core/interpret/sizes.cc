// See sizes.h.
#include "interpret/sizes.h"

#include <algorithm>

#include "interpret/trace.h"
#include "python/tensor_object.h"

namespace thirdbook {

namespace {

// How much larger a symbol is in the other worlds. Multiples, so that what divides a size divides it there;
// different ones, so that sizes do not take each other's values.
const int kFactors[][kWorlds] = {{1, 2, 3}, {1, 3, 2}, {1, 3, 5}, {1, 5, 3}, {1, 2, 5},
                                 {1, 5, 2}, {1, 4, 3}, {1, 3, 4}, {1, 5, 7}, {1, 7, 5}};

// What a free int is more in the other worlds: little, since it may be an index. No two are proportional, nor
// are they to what sizes grow by.
const int kSteps[][kWorlds] = {{0, 1, -1}, {0, 2, -1}, {0, 1, -2}, {0, 3, -1},
                               {0, 1, -3}, {0, 3, -2}, {0, 2, -3}};
constexpr int64_t kLargestInt = int64_t{1} << 40;

bool Equal(const WorldValues& a, const WorldValues& b) {
  for (int w = 0; w < kWorlds; w++) {
    if (a[w] != b[w]) return false;
  }
  return true;
}

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

}  // namespace

// Marks the free dimensions of an input in its guard and gives each a symbol; dimensions of equal size share
// one. Sizes 0 and 1 are never free: broadcasting and layouts treat them in their own way.
void Trace::FreeSizes(Var v, Guard* guard) {
  const TensorMeta& meta = v->tensor->meta;
  bool any = policy_.dynamic && Py_TYPE(v->value.get()) == TensorType;
  if ((!any && policy_.free_sizes.empty()) || meta.strides != ContiguousStrides(meta.sizes) ||
      meta.device != Device::kCpu)
    return;
  std::string text = sources_.Print(v->source);
  for (size_t d = 0; d < meta.sizes.size(); d++) {
    if (meta.sizes[d] < 2 || (!any && policy_.free_sizes.count(text + "." + std::to_string(d)) == 0))
      continue;
    SourceId source = Expression(SourceKind::kSize, {v->source}, -1, "", static_cast<int32_t>(d));
    size_t k = 0;
    while (k < symbols_.size() && symbols_[k].values[0] != meta.sizes[d]) k++;
    if (k == symbols_.size()) {
      SizeSymbol symbol{source, {}, false};
      for (int w = 0; w < kWorlds; w++)
        symbol.values[w] = meta.sizes[d] * kFactors[k % std::size(kFactors)][w];
      symbols_.push_back(symbol);
    } else {
      Guard g{GuardKind::kTruth,
              Expression(SourceKind::kCompare, {source, symbols_[k].source}, -1, "", Py_EQ)};
      g.detail = 1;
      g.line = CurrentLine();
      late_size_guards_.push_back(std::move(g));
    }
    guard->dynamic[d] = true;
    v->tensor->free_sizes.resize(meta.sizes.size(), -1);
    v->tensor->free_sizes[d] = static_cast<int32_t>(k);
  }
}

// Whether `id` is an expression of free ints and sizes; `found` gets the ints that have no symbol yet.
bool Trace::IsFree(SourceId id, std::vector<SourceId>* found) {
  const Source& s = sources_.at(id);
  if (std::ranges::any_of(symbols_, [&](const SizeSymbol& symbol) { return symbol.source == id; }))
    return true;
  if (s.kind == SourceKind::kObject) return true;
  if (s.kind == SourceKind::kUnary || s.kind == SourceKind::kBinary)
    return std::ranges::all_of(s.operands, [&](SourceId operand) { return IsFree(operand, found); });
  const auto it = by_source_.find(id.value);
  Var v = it != by_source_.end() ? it->second : nullptr;
  if (v == nullptr || v->kind != VariableKind::kScalar || v->type != &PyLong_Type || !v->value) return false;
  if (!policy_.dynamic && policy_.free_sizes.count(sources_.Print(id)) == 0) return false;
  found->push_back(id);
  return true;
}

// Gives the ints of an expression symbols, where all of them may be free: they were other ones in an earlier
// call. Zero is not: it is an end, or means that there is nothing.
void Trace::FreeInts(SourceId id) {
  std::vector<SourceId> found;
  if (!IsFree(id, &found)) return;
  for (SourceId source : found) {
    const int64_t now = PyLong_AsLongLong(by_source_.at(source.value)->value.get());
    if (PyErr_Occurred() != nullptr) PyErr_Clear();
    if (now < 1 || now > kLargestInt) continue;
    auto unused = [&](const int* steps) {
      return now + std::min(steps[1], steps[2]) >= 0 &&
             std::ranges::none_of(symbols_, [&](const SizeSymbol& symbol) {
               return IsInt(symbol) && symbol.values[1] - symbol.values[0] == steps[1] &&
                      symbol.values[2] - symbol.values[0] == steps[2];
             });
    };
    for (const auto& steps : kSteps) {
      if (!unused(steps)) continue;
      symbols_.push_back({source, {now, now + steps[1], now + steps[2]}, false});
      break;
    }
  }
}

bool Trace::ReadsInts(SourceId id) const {
  return std::ranges::any_of(
      symbols_, [&](const SizeSymbol& symbol) { return IsInt(symbol) && Reads(id, symbol.source); });
}

// Fixes the free ints that the operation at hand has read; false when there are none.
bool Trace::PinBoundInts() {
  bool any = false;
  for (size_t k = 0; k < symbols_.size(); k++) {
    if (symbols_[k].pinned || !IsInt(symbols_[k]) ||
        std::ranges::none_of(bound_, [&](SourceId read) { return Reads(read, symbols_[k].source); }))
      continue;
    PinSize(k);
    any = true;
  }
  return any;
}

// A free int, not the size of an input.
bool Trace::IsInt(const SizeSymbol& symbol) const {
  return sources_.at(symbol.source).kind != SourceKind::kSize;
}

bool Trace::Reads(SourceId id, SourceId part) const {
  return id == part || std::ranges::any_of(sources_.at(id).operands,
                                           [&](SourceId operand) { return Reads(operand, part); });
}

bool Trace::HasFreeSizes() const {
  for (const SizeSymbol& symbol : symbols_) {
    if (!symbol.pinned) return true;
  }
  return false;
}

void Trace::PinSizes() {
  for (size_t k = 0; k < symbols_.size(); k++) PinSize(k);
}

void Trace::PinSize(size_t k) {
  SizeSymbol& symbol = symbols_[k];
  if (symbol.pinned) return;
  symbol.pinned = true;
  for (int64_t& value : symbol.values) value = symbol.values[0];
  PyRef size = PyRef::Steal(PyLong_FromLongLong(symbol.values[0]));
  AddGuard(GuardKind::kConstant, symbol.source, size.get(), "== " + std::to_string(symbol.values[0]));
  for (NodeMetas& metas : world_metas_) metas.clear();
}

// The value of an expression over symbols and constants; false when it reads anything else.
bool Trace::ValueInWorld(SourceId id, int world, int64_t* out) {
  for (const SizeSymbol& symbol : symbols_) {
    if (symbol.source == id) return *out = symbol.values[world], true;
  }
  const Source& s = sources_.at(id);
  int64_t a = 0, b = 0;
  switch (s.kind) {
    case SourceKind::kObject: {
      PyObject* value = object(s.object);
      int overflow = 0;
      if (!PyLong_CheckExact(value)) return false;
      *out = PyLong_AsLongLongAndOverflow(value, &overflow);
      return overflow == 0;
    }
    case SourceKind::kUnary:
      if (s.detail != kUnaryNegative || !ValueInWorld(s.operands[0], world, &a)) return false;
      *out = -a;
      return true;
    case SourceKind::kBinary:
      if (!ValueInWorld(s.operands[0], world, &a) || !ValueInWorld(s.operands[1], world, &b)) return false;
      switch (s.detail) {
        case 0: return !__builtin_add_overflow(a, b, out);
        case 5: return !__builtin_mul_overflow(a, b, out);
        case 10: return !__builtin_sub_overflow(a, b, out);
        case 2:
        case 6:
          if (b == 0 || b == -1) return false;
          *out = s.detail == 2 ? FloorDivide(a, b) : a - FloorDivide(a, b) * b;
          return true;
        default: return false;
      }
    default: return false;
  }
}

// While an operation is bound: the number that `v` is in the world at hand. False when it is no symbolic
// size or free int.
bool Trace::BoundSize(Var v, int64_t* out) {
  if (world_ < 0 || v->kind != VariableKind::kScalar || v->type != &PyLong_Type) return false;
  if (world_ == 0) FreeInts(v->source);
  if (!ValueInWorld(v->source, world_, out)) return false;
  bound_.push_back(v->source);
  return true;
}

// A symbolic int with these values in the worlds: a constant, a symbol, or an expression of symbols that the
// program has formed or that is simple. Null (no failure) when there is none. Of free ints, which may be
// anything in a later call, only what the operation at hand was given, unless the `premise` is checked that
// it is this.
Var Trace::SizeOf(const WorldValues& values, bool premise) {
  if (values[0] == values[1] && values[0] == values[2]) return ConstSteal(PyLong_FromLongLong(values[0]));
  auto scalar = [&](SourceId source) { return Scalar(&PyLong_Type, source, PyLong_FromLongLong(values[0])); };
  auto constant = [&](int64_t n) {
    return ObjectSource(Const(PyRef::Steal(PyLong_FromLongLong(n)).get())->value.get());
  };
  auto binary = [&](int code, SourceId a, SourceId b) {
    return Expression(SourceKind::kBinary, {a, b}, -1, "", code);
  };
  // Symbols, then what the program has computed of them.
  auto allowed = [&](SourceId id) {
    return premise || !ReadsInts(id) || std::ranges::find(bound_, id) != bound_.end();
  };
  std::vector<SizeSymbol> simple, known;
  for (const SizeSymbol& symbol : symbols_) {
    if (allowed(symbol.source)) known.push_back(symbol);
    if (premise || !ReadsInts(symbol.source)) simple.push_back(symbol);
  }
  for (int32_t i = 0; i < sources_.size(); i++) {
    SizeSymbol made{SourceId{i}, {}, false};
    const SourceKind kind = sources_.at(made.source).kind;
    bool all = (kind == SourceKind::kBinary || kind == SourceKind::kUnary) && allowed(made.source);
    for (int w = 0; all && w < kWorlds; w++) all = ValueInWorld(made.source, w, &made.values[w]);
    if (all) known.push_back(made);
  }
  for (const SizeSymbol& one : known) {
    if (Equal(one.values, values)) return scalar(one.source);
  }
  for (const SizeSymbol& symbol : simple) {
    const int64_t step = symbol.values[1] - symbol.values[0];
    if (step == 0 || (values[1] - values[0]) % step != 0) continue;
    const int64_t factor = (values[1] - values[0]) / step, rest = values[0] - factor * symbol.values[0];
    if (factor * symbol.values[2] + rest != values[2]) continue;
    SourceId product = factor == 1 ? symbol.source : binary(5, symbol.source, constant(factor));
    return scalar(rest == 0 ? product
                            : binary(rest < 0 ? 10 : 0, product, constant(rest < 0 ? -rest : rest)));
  }
  for (const SizeSymbol& a : known) {
    if (!premise && ReadsInts(a.source)) continue;
    for (const SizeSymbol& b : simple) {
      const int64_t rest = values[0] - a.values[0] - b.values[0];
      if (!(a.source == b.source) && values[1] - a.values[1] - b.values[1] == rest &&
          values[2] - a.values[2] - b.values[2] == rest) {
        SourceId sum = binary(0, a.source, b.source);
        return scalar(rest == 0 ? sum : binary(0, sum, constant(rest)));
      }
      const int64_t whole = a.values[0] * b.values[0];
      if (whole == 0 || values[0] % whole != 0) continue;
      const int64_t factor = values[0] / whole;
      bool all = true;
      for (int w = 1; w < kWorlds; w++) all = all && values[w] == factor * a.values[w] * b.values[w];
      if (!all) continue;
      SourceId product = binary(5, a.source, b.source);
      return scalar(factor == 1 ? product : binary(5, product, constant(factor)));
    }
  }
  return nullptr;
}

// ---- metadata in the worlds
// -------------------------------------------------------------------------------------------------

ResizedInput Trace::InputInWorld(Var input, const TensorMeta& meta, int world) {
  ResizedInput out;
  out.meta = meta;
  if (input->tensor == nullptr) {
    if (input->value && PyLong_CheckExact(input->value.get()) &&
        !ValueInWorld(input->source, world, &out.number))
      out.number = PyLong_AsLongLong(input->value.get());
    return out;
  }
  const std::vector<int32_t>& free_sizes = input->tensor->free_sizes;
  if (free_sizes.empty()) return out;
  for (size_t d = 0; d < free_sizes.size(); d++) {
    if (free_sizes[d] >= 0) out.meta.sizes[d] = symbols_[static_cast<size_t>(free_sizes[d])].values[world];
  }
  out.meta.strides = ContiguousStrides(out.meta.sizes);
  return out;
}

const TensorMeta& Trace::MetaInWorld(ValueRef value, int world) {
  if (world == 0) return graph_.meta(value);
  NodeMetas& metas = world_metas_[world - 1];
  if (metas.size() < graph_.nodes().size()) {
    std::vector<ResizedInput> inputs;
    for (size_t i = 0; i < graph_inputs_.size(); i++)
      inputs.push_back(InputInWorld(graph_inputs_[i], graph_.meta({graph_.inputs()[i], 0}), world));
    if (!InferResized(graph_, inputs, &metas).ok()) {  // it holds for the sizes at hand only
      PinSizes();
      return graph_.meta(value);
    }
  }
  return metas[static_cast<size_t>(value.node.value)][static_cast<size_t>(value.output)];
}

// Part of a value's metadata as a symbolic int, under a premise. Pins all sizes when it follows from them in
// no simple way. Never null.
Var Trace::SymbolicPart(ValueRef value, int32_t part) {
  WorldValues values;
  for (int w = kWorlds; w-- > 0;) values[w] = MetaPart(MetaInWorld(value, w), part);
  Var size = HasFreeSizes() ? SizeOf(values, true) : nullptr;
  if (size == nullptr) {
    PinSizes();
    return ConstSteal(PyLong_FromLongLong(MetaPart(graph_.meta(value), part)));
  }
  size_premises_.push_back({value, part, SourceOf(size)});
  return size;
}

Var Trace::SizeAt(Var tensor, size_t d) {
  const TensorState& t = *tensor->tensor;
  if (HasFreeSizes() && d < t.free_sizes.size() && t.free_sizes[d] >= 0 && t.base->version == 0) {
    const SizeSymbol& symbol = symbols_[static_cast<size_t>(t.free_sizes[d])];
    return Scalar(&PyLong_Type, symbol.source, PyLong_FromLongLong(symbol.values[0]));
  }
  if (HasFreeSizes() && t.value.defined()) return SymbolicPart(t.value, static_cast<int32_t>(d));
  return ConstSteal(PyLong_FromLongLong(t.meta.sizes[d]));
}

Var Trace::NumelOf(Var tensor) {
  Var n = nullptr;
  for (size_t d = 0; d < tensor->tensor->meta.sizes.size(); d++) {
    Var size = SizeAt(tensor, d);
    n = n == nullptr ? size : BinaryOp(5, n, size);
  }
  return n != nullptr ? n : ConstSteal(PyLong_FromLong(1));
}

// Whether two tensors have the same size at `d` for all sizes; premises say so.
bool Trace::SameSizeAt(Var a, Var b, size_t d) {
  Var x = SizeAt(a, d), y = SizeAt(b, d);
  return SourceOf(x) == SourceOf(y);
}

// Whether the metadata of both is the same now and for all sizes.
bool Trace::SameInWorlds(ValueRef a, ValueRef b) {
  if (!HasFreeSizes() || a == b) return true;
  for (int w = 1; w < kWorlds; w++) {
    const TensorMeta &x = MetaInWorld(a, w), &y = MetaInWorld(b, w);
    if (x.sizes != y.sizes || x.strides != y.strides || x.offset != y.offset) return false;
  }
  size_same_.emplace_back(a, b);
  return true;
}

// The value whose metadata say where in its base a tensor lies.
static ValueRef LayoutValue(const TensorState& t) { return t.layout.defined() ? t.layout : t.value; }

// Whether a tensor is the whole of its base, seen in order.
bool Trace::IsWhole(Var v) {
  const TensorState& t = *v->tensor;
  const TensorBase& base = *t.base;
  bool whole = t.meta.sizes == base.meta.sizes && t.meta.strides == base.meta.strides &&
               t.meta.offset == base.meta.offset && t.meta.dtype == base.meta.dtype;
  const ValueRef layout = LayoutValue(t);
  if (HasFreeSizes() && v != base.input && layout.defined() && base.current.defined()) {
    if (!(graph_.meta(layout) == t.meta) || !(graph_.meta(base.current) == base.meta) ||
        (whole && !SameInWorlds(layout, base.current)))
      PinSizes();
  }
  return whole;
}

// Sizes, strides and offset of a view, numbered as in SizePremise.
std::vector<Var> Trace::LayoutOf(Var v) {
  const TensorState& t = *v->tensor;
  const ValueRef layout = LayoutValue(t);
  if (HasFreeSizes() && !(layout.defined() && graph_.meta(layout) == t.meta)) PinSizes();
  std::vector<Var> parts;
  for (int32_t i = 0; i <= 2 * static_cast<int32_t>(t.meta.rank()); i++) {
    parts.push_back(HasFreeSizes() ? SymbolicPart(layout, i)
                                   : ConstSteal(PyLong_FromLongLong(MetaPart(t.meta, i))));
  }
  return parts;
}

// Sizes, strides and offset of a view as attributes, and which of them follow from the free sizes.
Attrs Trace::LayoutAttrs(Var v, std::vector<SymbolicInt>* symbolic) {
  const TensorState& t = *v->tensor;
  Attrs layout = {t.meta.sizes, t.meta.strides, t.meta.offset - t.base->meta.offset};
  const ValueRef seen = LayoutValue(t);
  if (t.base->meta.offset != 0 || !seen.defined() || !(graph_.meta(seen) == t.meta)) PinSizes();
  const int32_t rank = static_cast<int32_t>(t.meta.rank());
  for (int32_t part = 0; HasFreeSizes() && part <= 2 * rank; part++) {
    Var size = SymbolicPart(seen, part);
    if (size->kind == VariableKind::kConst) continue;
    const bool offset = part == 2 * rank;
    if (!NoteSymbolic(size, offset ? 2 : part / rank, offset ? -1 : part % rank, symbolic)) PinSizes();
  }
  if (!HasFreeSizes()) symbolic->clear();
  return layout;
}

// ---- attributes
// ----------------------------------------------------------------------------------------------------------------

// An int of a node's attributes is what the scalar `size` is.
bool Trace::NoteSymbolic(Var size, int32_t attr, int32_t element, std::vector<SymbolicInt>* out) {
  const ValueRef input = ScalarInput(size);
  if (!input.defined()) return false;
  for (size_t i = 0; i < graph_.inputs().size(); i++) {
    if (graph_.inputs()[i] == input.node) out->push_back({attr, element, static_cast<int32_t>(i)});
  }
  return true;
}

// Finds which ints of the attributes differ from world to world and makes them symbolic. `in_worlds`: the
// attributes as bound in each world. False when they follow from the sizes in no simple way.
bool Trace::FindSymbolic(const Attrs* const in_worlds[kWorlds], std::vector<SymbolicInt>* out) {
  auto note = [&](const WorldValues& values, int32_t attr, int32_t element) {
    if (values[0] == values[1] && values[0] == values[2]) return true;
    Var size = SizeOf(values, false);
    return size != nullptr && NoteSymbolic(size, attr, element, out);
  };
  const Attrs &a = *in_worlds[0], &b = *in_worlds[1], &c = *in_worlds[2];
  if (a.size() != b.size() || a.size() != c.size()) return false;
  for (size_t i = 0; i < a.size(); i++) {
    if (a[i] == b[i] && a[i] == c[i]) continue;
    if (a[i].index() != b[i].index() || a[i].index() != c[i].index()) return false;
    if (const auto* number = std::get_if<int64_t>(&a[i])) {
      WorldValues values = {*number, std::get<int64_t>(b[i]), std::get<int64_t>(c[i])};
      if (!note(values, static_cast<int32_t>(i), -1)) return false;
    } else if (const auto* list = std::get_if<Sizes>(&a[i])) {
      const Sizes &second = std::get<Sizes>(b[i]), &third = std::get<Sizes>(c[i]);
      if (list->size() != second.size() || list->size() != third.size()) return false;
      for (size_t k = 0; k < list->size(); k++) {
        WorldValues values = {(*list)[k], second[k], third[k]};
        if (!note(values, static_cast<int32_t>(i), static_cast<int32_t>(k))) return false;
      }
    } else {
      return false;
    }
  }
  return true;
}

// ---- for the guard
// -------------------------------------------------------------------------------------------------------------

std::shared_ptr<SizePremises> Trace::TakeSizePremises() {
  for (Guard& g : late_size_guards_) guards_.Add(std::move(g));
  if (HasFreeSizes() && !graph_.nodes().empty()) {
    ValueRef last{NodeId{static_cast<int32_t>(graph_.nodes().size()) - 1}, 0};
    for (int w = 1; w < kWorlds; w++) MetaInWorld(last, w);  // pins them where the graph does not infer
  }
  if (!HasFreeSizes()) return nullptr;
  auto out = std::make_shared<SizePremises>();
  out->graph = graph_;
  for (size_t i = 0; i < graph_inputs_.size(); i++) {
    Var input = graph_inputs_[i];
    SizePremises::Input row{graph_.meta({graph_.inputs()[i], 0}), {}, {}};
    if (input->tensor == nullptr) {
      row.number = SourceOf(input);
    } else {
      for (int32_t k : input->tensor->free_sizes)
        row.sizes.push_back(k >= 0 ? symbols_[static_cast<size_t>(k)].source : SourceId{});
    }
    out->inputs.push_back(std::move(row));
  }
  for (const SizeSymbol& symbol : symbols_) out->symbols.push_back(symbol.source);
  out->premises = size_premises_;
  out->same = size_same_;
  guards_.Add(Guard{GuardKind::kSizes, {}});
  return out;
}

}  // namespace thirdbook
