#include "kernel/lower_indexed.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "graph/attrs.h"
#include "graph/infer.h"
#include "graph/shape.h"

namespace thirdbook {
namespace {

using Ids = std::vector<int>;  // instructions

class Indexed {
 public:
  Indexed(const Graph& graph, const ValueMetas& metas, NodeId id, int max_buffers)
      : m_(metas), id_(id), node_(graph.node(id)), max_buffers_(max_buffers) {}

  Result<LoweredUnit> Run() {
    const auto fits = [](int64_t parameter) { return parameter == static_cast<int32_t>(parameter); };
    if (node_.operands.empty() || Out().rank() > 8 || !MakeBody() ||
        static_cast<int>(k_.buffers.size()) > max_buffers_ ||
        !std::all_of(out_.parameters.begin(), out_.parameters.end(), fits))
      return NotImplementedError("no shader");
    k_.name = std::string(Info(node_.op).name);
    k_.parameters = static_cast<int>(out_.parameters.size());
    TB_CHECK(VerifyLoops(k_).empty());
    out_.kernel = std::move(k_);
    return std::move(out_);
  }

 private:
  const TensorMeta& Meta(ValueRef v) const {
    return m_[static_cast<size_t>(v.node.value)][static_cast<size_t>(v.output)];
  }
  const TensorMeta& Out(int output = 0) const {
    return m_[static_cast<size_t>(id_.value)][static_cast<size_t>(output)];
  }
  const TensorMeta& In(size_t i) const { return Meta(node_.operands[i]); }
  size_t Wrapped(size_t attr, int64_t rank) const {
    return static_cast<size_t>(WrapDim(IntAttr(node_.attrs, attr), rank).value());
  }

  bool MakeBody() {
    switch (node_.op) {
      case Op::k_cat:
      case Op::k_stack: return Joined();
      case Op::k_flip:
      case Op::k_roll:
      case Op::k_repeat:
      case Op::k_upsample_nearest2d: return Moved();
      case Op::k_tril:
      case Op::k_triu: return Triangle();
      case Op::k_constant_pad_nd: return Padded();
      case Op::k_slice_scatter:
      case Op::k_select_scatter: return PartWritten();
      case Op::k_embedding:
      case Op::k_index_select:
      case Op::k_gather:
      case Op::k_index: return LookedUp();
      case Op::k_one_hot: return OneHot();
      case Op::k_max_pool2d:
      case Op::k_avg_pool2d:
      case Op::k_adaptive_avg_pool2d: return Pooled();
      case Op::k_max_dim:
      case Op::k_min_dim:
      case Op::k_argmax:
      case Op::k_argmin: return Extremum();
      default: return false;
    }
  }

  // ---- Instructions

  int Emit(Prim prim, LaneType type, std::initializer_list<int> args = {}, uint64_t imm = 0) {
    Instr instr{prim, type, {-1, -1, -1, -1}, imm};
    std::copy(args.begin(), args.end(), instr.args);
    const int id = k_.Append(instr);
    stage_.body.push_back(id);
    return id;
  }
  int Whole(Prim prim, int a, int b) { return Emit(prim, LaneType::kI32, {a, b}); }
  int Test(Prim prim, int a, int b) { return Emit(prim, LaneType::kBool, {a, b}); }
  int Both(int a, int b) { return a < 0 ? b : b < 0 ? a : Test(Prim::k_and_, a, b); }
  int Select(LaneType type, int condition, int a, int b) {
    return Emit(Prim::k_select, type, {condition, a, b});
  }
  int Constant(LaneType type, double value) {
    uint64_t bits = 0;
    if (type == LaneType::kF32)
      bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    else if (type == LaneType::kBool)
      bits = value != 0;
    else
      bits = static_cast<uint64_t>(static_cast<int64_t>(value)) &
             (type == LaneType::kI32 ? 0xffffffffu : ~uint64_t{0});
    return Emit(Prim::k_constant, type, {}, bits);
  }
  int Index(size_t d) { return Emit(Prim::k_index, LaneType::kI32, {}, d); }
  Ids Indices(size_t count) {
    Ids ids;
    for (size_t d = 0; d < count; ++d) ids.push_back(Index(d));
    return ids;
  }
  int Parameter(int64_t value, LaneType type = LaneType::kI32) {
    out_.parameters.push_back(value);
    return Emit(Prim::k_parameter, type, {}, out_.parameters.size() - 1);
  }

  // ---- Loops and buffers

  void Loops(Sizes outer, const Sizes& inner) {
    k_.outer = static_cast<int>(outer.size());
    k_.inner = static_cast<int>(inner.size());
    out_.sizes = std::move(outer);
    out_.sizes.insert(out_.sizes.end(), inner.begin(), inner.end());
  }
  // The output's elements, one loop a dimension.
  void OutputLoops() {
    Sizes outer = Out().sizes;
    if (outer.empty()) outer.push_back(1);
    const Sizes inner{outer.back()};
    outer.pop_back();
    Loops(outer, inner);
  }
  // `strides`: in elements, by loop.
  int AddBuffer(ValueRef value, Sizes strides, bool output) {
    Buffer buffer;
    buffer.dtype = Meta(value).dtype;
    buffer.output = output;
    strides.resize(out_.sizes.size(), 0);
    for (size_t d = 0; d < strides.size(); ++d) {
      if (strides[d] != 0) buffer.varies |= 1u << d;
      strides[d] *= ItemSize(buffer.dtype);
    }
    buffer.walk = strides.back() == 0                        ? Walk::kZero
                  : strides.back() == ItemSize(buffer.dtype) ? Walk::kUnit
                                                             : Walk::kStrided;
    k_.buffers.push_back(buffer);
    out_.buffers.push_back({value, std::move(strides), {}});
    return static_cast<int>(k_.buffers.size()) - 1;
  }
  // What is read at computed places.
  struct Source {
    const TensorMeta* meta;
    int buffer, base;
    Ids strides;
  };
  Source Open(ValueRef value) {
    Source source{&Meta(value), AddBuffer(value, {}, false), Parameter(Meta(value).offset), {}};
    for (int64_t stride : source.meta->strides) source.strides.push_back(Parameter(stride));
    return source;
  }
  LaneType Type(DType dtype) const { return LaneTypeOf(dtype); }
  // `at`: an index for each dimension. Where `guard` (if any) is false, the first element is read.
  int Load(const Source& source, const Ids& at, int guard = -1) {
    int place = source.base;
    for (size_t d = 0; d < at.size(); ++d)
      place = Whole(Prim::k_add, place, Whole(Prim::k_mul, at[d], source.strides[d]));
    if (guard >= 0) place = Select(LaneType::kI32, guard, place, source.base);
    return Emit(Prim::k_load_at, Type(source.meta->dtype), {place}, static_cast<uint64_t>(source.buffer));
  }
  // A value that lies along loops: `loops[d]` is that of its dimension d.
  int LoadAlong(ValueRef value, const std::vector<size_t>& loops, LaneType type) {
    const TensorMeta& meta = Meta(value);
    Sizes strides(out_.sizes.size(), 0);
    for (size_t d = 0; d < loops.size(); ++d) strides[loops[d]] += meta.sizes[d] == 1 ? 0 : meta.strides[d];
    return Emit(Prim::k_load, type, {}, static_cast<uint64_t>(AddBuffer(value, std::move(strides), false)));
  }
  static std::vector<size_t> Numbers(size_t first, size_t count) {
    std::vector<size_t> loops;
    for (size_t d = 0; d < count; ++d) loops.push_back(first + d);
    return loops;
  }

  void FinishStage(bool element, std::initializer_list<Fold> folds, std::vector<Store> stores) {
    stage_.element = element;
    for (const Fold& fold : folds) {
      stage_.folds.push_back(static_cast<int>(k_.folds.size()));
      k_.folds.push_back(fold);
    }
    stage_.stores = std::move(stores);
    k_.stages.push_back(std::move(stage_));
    stage_ = {};
  }
  Fold FoldOf(FoldKind kind, int value) const {
    return {kind, k_.instrs[static_cast<size_t>(value)].type, value};
  }
  int Folded(int number, LaneType type) {
    return Emit(Prim::k_fold, type, {}, static_cast<uint64_t>(number));
  }
  // The last of an element-by-element kernel.
  bool Finish(int value) {
    const Sizes strides = ContiguousMeta(Out().dtype, Out().sizes).strides;
    FinishStage(true, {}, {{value, AddBuffer({id_, 0}, strides, true)}});
    return true;
  }

  // ---- Operations

  bool Joined() {
    OutputLoops();
    const bool stack = node_.op == Op::k_stack;
    const size_t dim = Wrapped(0, Out().rank());
    const LaneType type = Type(Out().dtype);
    std::vector<ValueRef> parts;
    for (ValueRef v : node_.operands) {
      if (Meta(v).dtype != Out().dtype) return false;
      if (Meta(v).numel() > 0) parts.push_back(v);
    }
    if (parts.empty() || static_cast<int>(parts.size()) >= max_buffers_) return false;
    const Ids at = Indices(static_cast<size_t>(Out().rank()));
    int64_t end = 0;
    int value = -1, before = -1;                 // `before`: the index lies in an earlier part
    for (size_t i = 0; i < parts.size(); ++i) {  // the same value may be there twice
      const ValueRef v = parts[i];
      const int64_t begin = end;
      end += stack ? 1 : Meta(v).sizes[dim];
      const int inside = i + 1 == parts.size() ? -1 : Test(Prim::k_lt, at[dim], Parameter(end));
      Ids place = at;
      if (stack)
        place.erase(place.begin() + static_cast<long>(dim));
      else if (begin > 0)
        place[dim] = Whole(Prim::k_sub, at[dim], Parameter(begin));
      int guard = inside;
      if (before >= 0) {
        const int later = Emit(Prim::k_not_, LaneType::kBool, {before});
        guard = Both(later, inside);
      }
      const int element = Load(Open(v), place, guard);
      value = value < 0 ? element : Select(type, before, value, element);
      before = inside;
    }
    return Finish(value);
  }

  // Each element from one of the operand, along each dimension by itself.
  bool Moved() {
    const TensorMeta& in = In(0);
    const auto rank = static_cast<size_t>(Out().rank());
    if (rank == 0 || in.numel() == 0) return false;
    if (node_.op == Op::k_repeat) {
      // A loop for how often, and one for the operand's own.
      Sizes loops, strides;
      const Sizes contiguous = ContiguousMeta(Out().dtype, Out().sizes).strides;
      const size_t added = rank - in.sizes.size();
      for (size_t d = 0; d < rank; ++d) {
        const int64_t own = d < added ? 1 : in.sizes[d - added];
        loops.insert(loops.end(), {Out().sizes[d] / own, own});
        strides.insert(strides.end(), {contiguous[d] * own, contiguous[d]});
      }
      const Sizes inner{loops.back()};
      loops.pop_back();
      Loops(loops, inner);
      std::vector<size_t> own;
      for (size_t d = 0; d < in.sizes.size(); ++d) own.push_back(2 * (added + d) + 1);
      const int value = LoadAlong(node_.operands[0], own, Type(in.dtype));
      FinishStage(true, {}, {{value, AddBuffer({id_, 0}, strides, true)}});
      return true;
    }
    OutputLoops();
    Ids at = Indices(rank);
    if (node_.op == Op::k_flip) {
      for (int64_t dim : ListAttr(node_.attrs, 0)) {
        const auto d = static_cast<size_t>(WrapDim(dim, in.rank()).value());
        at[d] = Whole(Prim::k_sub, Parameter(in.sizes[d] - 1), at[d]);
      }
    } else if (node_.op == Op::k_roll) {
      const Sizes& shifts = ListAttr(node_.attrs, 0);
      Sizes dims = ListAttr(node_.attrs, 1);
      if (dims.empty() && rank != 1) return false;
      if (dims.empty()) dims.push_back(0);
      for (size_t i = 0; i < dims.size(); ++i) {
        const auto d = static_cast<size_t>(WrapDim(dims[i], in.rank()).value());
        const int64_t n = in.sizes[d], shift = (shifts[i] % n + n) % n;
        const int size = Parameter(n), moved = Whole(Prim::k_sub, at[d], Parameter(shift));
        const int wraps = Test(Prim::k_lt, moved, Constant(LaneType::kI32, 0));
        at[d] = Select(LaneType::kI32, wraps, Whole(Prim::k_add, moved, size), moved);
      }
    } else {
      for (size_t i = 0; i < 2; ++i) {
        const size_t d = rank - 2 + i;
        const double given = HasAttr(node_.attrs, 1 + i) ? FloatAttr(node_.attrs, 1 + i) : 0;
        const float scale = given > 0 ? static_cast<float>(1.0 / given)
                                      : static_cast<float>(in.sizes[d]) / static_cast<float>(Out().sizes[d]);
        const int factor = Parameter(std::bit_cast<int32_t>(scale), LaneType::kF32);
        const int place =
            Emit(Prim::k_mul, LaneType::kF32, {Emit(Prim::k_cast, LaneType::kF32, {at[d]}), factor});
        at[d] = Whole(Prim::k_min, Emit(Prim::k_cast, LaneType::kI32, {place}), Parameter(in.sizes[d] - 1));
      }
    }
    return Finish(Load(Open(node_.operands[0]), at));
  }

  bool Triangle() {
    OutputLoops();
    const auto rank = static_cast<size_t>(Out().rank());
    const LaneType type = Type(Out().dtype);
    const int last = Whole(Prim::k_add, Index(rank - 2), Parameter(IntAttr(node_.attrs, 0)));
    const int kept = Test(node_.op == Op::k_tril ? Prim::k_le : Prim::k_ge, Index(rank - 1), last);
    const int value = LoadAlong(node_.operands[0], Numbers(0, rank), type);
    return Finish(Select(type, kept, value, Constant(type, 0)));
  }

  // Whether `at` is within [0, size), as an instruction.
  int Within(int at, int64_t size) {
    return Both(Test(Prim::k_ge, at, Constant(LaneType::kI32, 0)), Test(Prim::k_lt, at, Parameter(size)));
  }

  bool Padded() {
    const TensorMeta& in = In(0);
    const LaneType type = Type(Out().dtype);
    const Sizes& pad = ListAttr(node_.attrs, 0);
    const double number = NumberOf(node_.attrs[1]);
    const bool exact =
        type == LaneType::kF32 || (number >= 0 && number <= 255 && number == std::floor(number));
    if (in.numel() == 0 || pad.empty() || IsWide(type) || !exact) return false;
    OutputLoops();
    Ids at = Indices(static_cast<size_t>(Out().rank()));
    int guard = -1;
    for (size_t i = 0; i < pad.size() / 2; ++i) {
      const size_t d = at.size() - 1 - i;
      at[d] = Whole(Prim::k_sub, at[d], Parameter(pad[2 * i]));
      guard = Both(guard, Within(at[d], in.sizes[d]));
    }
    const int fill = Constant(type, number);
    return Finish(Select(type, guard, Load(Open(node_.operands[0]), at, guard), fill));
  }

  bool PartWritten() {
    OutputLoops();
    const bool select = node_.op == Op::k_select_scatter;
    const size_t dim = Wrapped(0, Out().rank());
    const auto rank = static_cast<size_t>(Out().rank());
    const TensorMeta whole = ContiguousMeta(Out().dtype, Out().sizes);
    const Result<TensorMeta> part = InferOneView(select ? Op::k_select : Op::k_slice, whole, node_.attrs);
    const ValueRef source = node_.operands[1];
    if (!part.ok() || whole.numel() == 0 || part->numel() == 0 || (!select && IntAttr(node_.attrs, 3) != 1))
      return false;
    const int64_t start = part->offset / whole.strides[dim];
    Ids at = Indices(rank);
    const int moved = Whole(Prim::k_sub, at[dim], Parameter(start));
    const int inside = Within(moved, select ? 1 : part->sizes[dim]);
    const LaneType type = Type(Out().dtype);
    int written;
    if (Meta(source).weak) {  // a number of the program
      written = LoadAlong(source, {}, type);
    } else {
      if (Meta(source).dtype != Out().dtype) return false;
      if (select)
        at.erase(at.begin() + static_cast<long>(dim));
      else
        at[dim] = moved;
      written = Load(Open(source), at, inside);
    }
    const int kept = LoadAlong(node_.operands[0], Numbers(0, rank), type);
    return Finish(Select(type, inside, written, kept));
  }

  // An operand's elements as indices along a dimension of `size`.
  int IndexFrom(ValueRef value, const std::vector<size_t>& loops, int64_t size, bool wraps) {
    out_.indices.push_back({value, wraps ? -size : 0, size});
    const int index = LoadAlong(value, loops, LaneType::kI32);
    if (!wraps) return index;
    const int negative = Test(Prim::k_lt, index, Constant(LaneType::kI32, 0));
    return Select(LaneType::kI32, negative, Whole(Prim::k_add, index, Parameter(size)), index);
  }
  static bool IsIndex(const TensorMeta& meta) {
    return meta.dtype == DType::kInt32 || meta.dtype == DType::kInt64;
  }

  bool LookedUp() {
    const TensorMeta& in = In(0);
    const auto rank = static_cast<size_t>(Out().rank());
    if (in.numel() == 0 || in.rank() == 0 || Out().numel() == 0) return false;
    OutputLoops();
    Ids at;
    switch (node_.op) {
      case Op::k_embedding:
        at = {IndexFrom(node_.operands[1], Numbers(0, rank - 1), in.sizes[0], false), Index(rank - 1)};
        break;
      case Op::k_index_select: {
        const size_t dim = Wrapped(0, in.rank());
        at = Indices(rank);
        const bool one = In(1).rank() == 0;
        at[dim] = IndexFrom(node_.operands[1], one ? Numbers(0, 0) : Numbers(dim, 1), in.sizes[dim], false);
        break;
      }
      case Op::k_gather: {
        if (rank != in.sizes.size()) return false;
        const size_t dim = Wrapped(0, in.rank());
        at = Indices(rank);
        at[dim] = IndexFrom(node_.operands[1], Numbers(0, rank), in.sizes[dim], false);
        break;
      }
      default: {
        std::vector<const TensorMeta*> metas;
        for (size_t i = 1; i < node_.operands.size(); ++i) {
          const ValueRef v = node_.operands[i];
          metas.push_back(v.defined() ? &Meta(v) : nullptr);
          if (v.defined() && !IsIndex(Meta(v))) return false;
        }
        const Result<IndexShape> shape = ResolveIndex(in, metas);
        if (!shape.ok()) return false;
        const auto first = static_cast<size_t>(shape->position);
        const size_t width = shape->broadcast.size();
        size_t kept = 0;  // the next loop of a dimension without a tensor
        for (size_t d = 0; d < in.sizes.size(); ++d) {
          if (d < metas.size() && metas[d]) {
            const auto own = static_cast<size_t>(metas[d]->rank());
            at.push_back(
                IndexFrom(node_.operands[1 + d], Numbers(first + width - own, own), in.sizes[d], true));
            continue;
          }
          if (kept == first) kept += width;
          at.push_back(Index(kept++));
        }
      }
    }
    return Finish(Load(Open(node_.operands[0]), at));
  }

  bool OneHot() {
    OutputLoops();
    const auto rank = static_cast<size_t>(Out().rank());
    const int index = IndexFrom(node_.operands[0], Numbers(0, rank - 1), Out().sizes.back(), false);
    const int hit = Test(Prim::k_eq, index, Index(rank - 1));
    return Finish(Emit(Prim::k_cast, LaneType::kI64, {hit}));
  }

  bool Pooled() {
    const TensorMeta& in = In(0);
    const LaneType type = Type(Out().dtype);
    const bool is_max = node_.op == Op::k_max_pool2d, adaptive = node_.op == Op::k_adaptive_avg_pool2d;
    const auto rank = static_cast<size_t>(Out().rank());
    if (type != LaneType::kF32 || Out().numel() == 0) return false;
    int64_t kernel[2], stride[2], pad[2] = {0, 0}, dilation[2] = {1, 1};
    for (size_t i = 0; i < 2; ++i) {
      const size_t d = rank - 2 + i;
      const auto at = [&](size_t attr) {
        const Sizes& list = ListAttr(node_.attrs, attr);
        return list[list.size() == 1 ? 0 : i];
      };
      if (adaptive) {
        if (in.sizes[d] % Out().sizes[d] != 0) return false;  // windows of different sizes
        kernel[i] = stride[i] = in.sizes[d] / Out().sizes[d];
        continue;
      }
      kernel[i] = at(0);
      stride[i] = ListAttr(node_.attrs, 1).empty() ? kernel[i] : at(1);
      pad[i] = at(2);
      if (is_max) dilation[i] = at(3);
    }
    Loops(Out().sizes, {kernel[0], kernel[1]});
    Ids at = Indices(rank);
    int guard = -1;
    for (size_t i = 0; i < 2; ++i) {
      const size_t d = rank - 2 + i;
      const int first =
          Whole(Prim::k_sub, Whole(Prim::k_mul, at[d], Parameter(stride[i])), Parameter(pad[i]));
      const int step = Whole(Prim::k_mul, Index(rank + i), Parameter(dilation[i]));
      at[d] = Whole(Prim::k_add, first, step);
      guard = Both(guard, Within(at[d], in.sizes[d]));
    }
    const int none = Constant(type, is_max ? -INFINITY : 0.0);
    const int value = Select(type, guard, Load(Open(node_.operands[0]), at, guard), none);
    FinishStage(true, {FoldOf(is_max ? FoldKind::kMax : FoldKind::kSum, value)}, {});
    int result = Folded(0, type);
    if (!is_max) {
      const bool counts_pad = adaptive || BoolAttr(node_.attrs, 4);
      int divisor = -1;
      if (!adaptive && HasAttr(node_.attrs, 5)) {
        divisor = Parameter(IntAttr(node_.attrs, 5));
      } else {
        for (size_t i = 0; i < 2; ++i) {
          const size_t d = rank - 2 + i;
          int begin =
              Whole(Prim::k_sub, Whole(Prim::k_mul, Index(d), Parameter(stride[i])), Parameter(pad[i]));
          int end = Whole(Prim::k_min, Whole(Prim::k_add, begin, Parameter(kernel[i])),
                          Parameter(in.sizes[d] + pad[i]));
          if (!counts_pad) {
            begin = Whole(Prim::k_max, begin, Constant(LaneType::kI32, 0));
            end = Whole(Prim::k_min, end, Parameter(in.sizes[d]));
          }
          const int extent = Whole(Prim::k_sub, end, begin);
          divisor = divisor < 0 ? extent : Whole(Prim::k_mul, divisor, extent);
        }
      }
      result = Emit(Prim::k_div, type, {result, Emit(Prim::k_cast, type, {divisor})});
    }
    const Sizes strides = ContiguousMeta(Out().dtype, Out().sizes).strides;
    FinishStage(false, {}, {{result, AddBuffer({id_, 0}, strides, true)}});
    return true;
  }

  // The extremum, then the first place that has it; a NaN is one.
  bool Extremum() {
    const TensorMeta& in = In(0);
    const LaneType type = Type(in.dtype);
    const bool is_max = node_.op == Op::k_max_dim || node_.op == Op::k_argmax;
    const bool values = node_.op == Op::k_max_dim || node_.op == Op::k_min_dim;
    if (in.numel() == 0 || in.rank() == 0 || type == LaneType::kBool) return false;
    const bool all = !HasAttr(node_.attrs, 0);
    const size_t dim = all ? 0 : Wrapped(0, in.rank());
    Sizes outer, inner;
    std::vector<size_t> loops(in.sizes.size());
    for (size_t d = 0; d < in.sizes.size(); ++d) {
      const bool folded = all || d == dim;
      loops[d] = folded ? inner.size() + (all ? 0 : in.sizes.size() - 1) : outer.size();
      (folded ? inner : outer).push_back(in.sizes[d]);
    }
    const Sizes strides = ContiguousMeta(in.dtype, outer).strides;
    Loops(outer, inner);
    const int buffer_load = LoadAlong(node_.operands[0], loops, type);
    FinishStage(true, {FoldOf(is_max ? FoldKind::kMax : FoldKind::kMin, buffer_load)}, {});
    const int best = Folded(0, type);
    const int again = Emit(Prim::k_load, type, {}, 0);
    int hit = Test(Prim::k_eq, again, best);
    if (IsFloat(type)) hit = Test(Prim::k_or_, hit, Test(Prim::k_ne, again, again));
    int place = -1;
    for (size_t i = 0; i < inner.size(); ++i) {
      const int index = Index(outer.size() + i);
      place = place < 0 ? index : Whole(Prim::k_add, Whole(Prim::k_mul, place, Parameter(inner[i])), index);
    }
    if (place < 0) place = Constant(LaneType::kI32, 0);  // of one number
    const int nowhere = Constant(LaneType::kI32, 0x7fffffff);
    FinishStage(true, {FoldOf(FoldKind::kMin, Select(LaneType::kI32, hit, place, nowhere))}, {});
    std::vector<Store> stores;
    if (values) stores.push_back({Folded(0, type), AddBuffer({id_, 0}, strides, true)});
    const int found = Emit(Prim::k_cast, LaneType::kI64, {Folded(1, LaneType::kI32)});
    stores.push_back({found, AddBuffer({id_, values ? 1 : 0}, strides, true)});
    FinishStage(false, {}, stores);
    return true;
  }

  const ValueMetas& m_;
  const NodeId id_;
  const Node& node_;
  const int max_buffers_;
  LoopKernel k_;
  LoweredUnit out_;
  Stage stage_;
};

}  // namespace

Result<LoweredUnit> LowerIndexed(const Graph& graph, const ValueMetas& metas, NodeId id, int max_buffers) {
  return Indexed(graph, metas, id, max_buffers).Run();
}

}  // namespace thirdbook
