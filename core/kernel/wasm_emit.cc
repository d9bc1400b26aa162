#include "kernel/wasm_emit.h"

#include <algorithm>
#include <functional>

#include "base/status.h"
#include "kernel/wasm_lanes.h"

namespace thirdbook {
namespace {

constexpr int kSumBlock =
    4096;  // elements (inner lanes) or rows (outer lanes) summed before the partial sum is added
constexpr uint32_t kNoLocal = ~0u;

class KernelEmitter {
 public:
  KernelEmitter(const LoopKernel& kernel, const EmitOptions& options)
      : k_(kernel),
        options_(options),
        f_({WasmType::kI32}, options.annotate),
        lanes_(f_, LaneCount(kernel), options.relaxed),
        depths_(Depths(kernel)) {}

  FunctionWriter::Module Emit() {
    LoadArguments();
    const size_t n = k_.instrs.size();
    shared_.assign(n, kNoLocal);
    per_vector_.assign(kMostVectors, std::vector<uint32_t>(n, kNoLocal));
    for (const Stage& stage : k_.stages) {
      for (int id : stage.body) {
        if (depths_[static_cast<size_t>(id)] != Depth::kKernel) continue;
        if (I(id).prim == Prim::k_constant && !options_.hoist_constants) continue;
        Evaluate(id, 0);
        shared_[static_cast<size_t>(id)] = SetNew(WasmType::kV128);
      }
    }
    OuterLoop(0);
    return f_.Finish();
  }

 private:
  const Instr& I(int id) const { return k_.instrs[static_cast<size_t>(id)]; }
  const Buffer& B(size_t b) const { return k_.buffers[b]; }
  uint32_t SetNew(WasmType type) {
    const uint32_t local = f_.NewLocal(type);
    f_.Local(W::k_local_set, local);
    return local;
  }
  void Get(uint32_t local) { f_.Local(W::k_local_get, local); }
  void Set(uint32_t local) { f_.Local(W::k_local_set, local); }
  void AddTo(uint32_t local, const std::function<void()>& push) {
    Get(local);
    push();
    f_.Op(W::k_i32_add);
    Set(local);
  }

  // Vectors a round: more when an element costs little.
  static constexpr int kMostVectors = 8;
  int UnrollOf(const Stage& stage) const {
    size_t work = 0;
    for (int id : stage.body) work += DepthAt(id) == Depth::kElement;
    return work <= 3 && !stage.folds.empty() ? kMostVectors : 4;
  }
  Depth DepthAt(int id) const { return depths_[static_cast<size_t>(id)]; }

  uint32_t CellLocal(int cell) {
    Get(0);
    f_.Memory(W::k_i32_load, 4, static_cast<uint32_t>(cell) * 8);
    return SetNew(WasmType::kI32);
  }
  void LoadArguments() {
    for (size_t b = 0; b < k_.buffers.size(); ++b) pointers_.push_back(CellLocal(static_cast<int>(b)));
    for (int d = 0; d < k_.dims(); ++d) sizes_.push_back(CellLocal(SizeCell(k_, d)));
    strides_.assign(k_.buffers.size(), std::vector<uint32_t>(static_cast<size_t>(k_.dims()), kNoLocal));
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      for (int d = 0; d < k_.dims(); ++d) {
        if (!(B(b).varies >> d & 1)) continue;
        if (d == k_.lane_dim() && B(b).walk == Walk::kUnit) continue;
        strides_[b][static_cast<size_t>(d)] = CellLocal(StrideCell(k_, static_cast<int>(b), d));
      }
    }
    for (size_t s = 0; s < k_.scratch.size(); ++s)
      scratch_base_.push_back(CellLocal(ScratchCell(k_, static_cast<int>(s))));
    for (int d = 0; d < k_.outer; ++d) {  // nothing to do for an empty outer dimension
      Get(sizes_[static_cast<size_t>(d)]);
      f_.Op(W::k_i32_eqz);
      f_.Block(W::k_if_);
      f_.Op(W::k_return_);
      f_.End();
    }
  }

  // ---- Loops

  // Runs `body` once for each index of dimension d (size > 0), buffers' pointers walking along.
  void SteppedLoop(int d, const std::function<void()>& body) {
    const std::vector<uint32_t> saved = pointers_;
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      if (!(B(b).varies >> d & 1)) continue;
      Get(saved[b]);
      pointers_[b] = SetNew(WasmType::kI32);
    }
    Get(sizes_[static_cast<size_t>(d)]);
    const uint32_t left = SetNew(WasmType::kI32);
    f_.Block(W::k_loop);
    body();
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      if (B(b).varies >> d & 1) AddTo(pointers_[b], [&] { PushStride(b, d); });
    }
    Get(left);
    f_.I32(1);
    f_.Op(W::k_i32_sub);
    f_.Local(W::k_local_tee, left);
    f_.Branch(W::k_br_if, 0);
    f_.End();
    pointers_ = saved;
  }
  void PushStride(size_t b, int d) {
    if (strides_[b][static_cast<size_t>(d)] != kNoLocal)
      Get(strides_[b][static_cast<size_t>(d)]);
    else
      f_.I32(ItemSize(B(b).dtype));
  }

  void OuterLoop(int d) {
    if (d < (k_.lane_outer ? k_.outer - 1 : k_.outer)) return SteppedLoop(d, [this, d] { OuterLoop(d + 1); });
    if (!k_.lane_outer) return Row();
    LaneLoop(nullptr, [this] { Row(); });
  }

  // Cuts the lane dimension into rounds of unroll_ vectors, then of one, then single elements. `body` runs
  // with count_, splat_ set. `length`: local with the number of elements; nullptr: the whole dimension.
  void LaneLoop(const uint32_t* length, const std::function<void()>& body) {
    const int d = k_.lane_dim();
    const std::vector<uint32_t> saved = pointers_;
    if (!length) {
      for (size_t b = 0; b < k_.buffers.size(); ++b) {
        if (!(B(b).varies >> d & 1)) continue;
        Get(saved[b]);
        pointers_[b] = SetNew(WasmType::kI32);
      }
    }
    Get(length ? *length : sizes_[static_cast<size_t>(d)]);
    const uint32_t left = SetNew(WasmType::kI32);
    const int unroll = unroll_;
    Rounds(left, unroll, false, body);
    if (unroll > 1) Rounds(left, 1, false, body);
    Rounds(left, 1, true, body);
    count_ = unroll, splat_ = false;
    if (!length) pointers_ = saved;
  }
  // While `left` elements are enough: a round of `vectors` vectors, or of one element.
  void Rounds(uint32_t left, int vectors, bool single, const std::function<void()>& body) {
    const int step = single ? 1 : vectors * lanes_.lanes();
    const auto enough = [&] {
      Get(left);
      f_.I32(step);
      f_.Op(W::k_i32_ge_s);
    };
    enough();
    f_.Block(W::k_if_);
    f_.Block(W::k_loop);
    count_ = vectors, splat_ = single;
    body();
    Advance(step);
    AddTo(left, [&] { f_.I32(-step); });
    enough();
    f_.Branch(W::k_br_if, 0);
    f_.End();
    f_.End();
  }
  void Advance(int elements) {
    const int d = k_.lane_dim();
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      if (!(B(b).varies >> d & 1)) continue;
      AddTo(pointers_[b], [&] {
        if (B(b).walk == Walk::kUnit) return f_.I32(elements * ItemSize(B(b).dtype));
        PushStride(b, d);
        if (elements != 1) f_.I32(elements), f_.Op(W::k_i32_mul);
      });
    }
    if (k_.lane_outer) return;
    for (size_t s = 0; s < scratch_.size(); ++s) {
      AddTo(scratch_[s], [&] { f_.I32(elements * (IsWide(k_.scratch[s]) ? 8 : 4)); });
    }
  }

  // ---- One row

  void Row() {
    folds_.assign(k_.folds.size(), {});
    for (const Stage& stage : k_.stages) {
      const int vectors = k_.lane_outer ? count_ : 1;
      for (int u = 0; u < vectors; ++u) {
        for (int id : stage.body) {
          if (depths_[static_cast<size_t>(id)] != Depth::kRow) continue;
          Evaluate(id, u);
          LocalOf(id, u) = SetNew(WasmType::kV128);
        }
      }
      if (!stage.element) {
        for (int u = 0; u < vectors; ++u) {
          for (const Store& store : stage.stores) EmitStore(store, u);
        }
        continue;
      }
      ElementStage(stage);
    }
  }

  struct FoldState {
    std::vector<uint32_t> accumulators;  // one a vector; of the current block where blocked
    std::vector<uint32_t> totals;        // blocked sums only
    uint32_t tail = kNoLocal;            // inner lanes: every lane the same
    std::vector<uint32_t> nan;           // min, max of floats: bits of the lanes that were NaN
    std::vector<uint32_t> results;       // a vector each (outer lanes), or one with equal lanes
  };

  bool Blocked(const Fold& fold) const { return fold.kind == FoldKind::kSum && fold.type == LaneType::kF32; }
  bool WatchesNan(const Fold& fold) const {
    return (fold.kind == FoldKind::kMin || fold.kind == FoldKind::kMax) && IsFloat(fold.type);
  }

  void StartFolds(const Stage& stage) {
    for (int f : stage.folds) {
      const Fold& fold = k_.folds[static_cast<size_t>(f)];
      FoldState& state = folds_[static_cast<size_t>(f)];
      const int vectors = k_.lane_outer ? count_ : unroll_;
      const auto identity = [&] {
        lanes_.Identity(fold.kind, fold.type);
        return SetNew(WasmType::kV128);
      };
      for (int u = 0; u < vectors; ++u) {
        state.accumulators.push_back(identity());
        if (Blocked(fold)) state.totals.push_back(identity());
        if (WatchesNan(fold)) {
          f_.V128(0, 0, "");
          state.nan.push_back(SetNew(WasmType::kV128));
        }
      }
      if (!k_.lane_outer) state.tail = identity();
    }
  }
  void CloseBlock(const Stage& stage) {
    for (int f : stage.folds) {
      const Fold& fold = k_.folds[static_cast<size_t>(f)];
      if (!Blocked(fold)) continue;
      FoldState& state = folds_[static_cast<size_t>(f)];
      for (size_t u = 0; u < state.accumulators.size(); ++u) {
        Get(state.totals[u]), Get(state.accumulators[u]);
        lanes_.Accumulate(fold.kind, fold.type);
        Set(state.totals[u]);
        lanes_.Identity(fold.kind, fold.type);
        Set(state.accumulators[u]);
      }
    }
  }
  // Results of the folds, into locals.
  void FinishFolds(const Stage& stage) {
    for (int f : stage.folds) {
      const Fold& fold = k_.folds[static_cast<size_t>(f)];
      FoldState& state = folds_[static_cast<size_t>(f)];
      std::vector<uint32_t> parts = Blocked(fold) ? state.totals : state.accumulators;
      const auto with_nan = [&](uint32_t value, uint32_t nan) {  // where a lane saw NaN, NaN
        Get(nan), Get(value);
        f_.Op(W::k_v128_or);  // a mask of ones is a NaN
        return SetNew(WasmType::kV128);
      };
      if (k_.lane_outer) {
        for (size_t u = 0; u < parts.size(); ++u) {
          state.results.push_back(WatchesNan(fold) ? with_nan(parts[u], state.nan[u]) : parts[u]);
        }
        continue;
      }
      const auto join = [&](std::vector<uint32_t> values, FoldKind kind) {
        for (size_t width = values.size(); width > 1; width /= 2) {
          for (size_t u = 0; u < width / 2; ++u) {
            Get(values[u]), Get(values[u + width / 2]);
            lanes_.Accumulate(kind, fold.type);
            values[u] = SetNew(WasmType::kV128);
          }
        }
        return values[0];
      };
      const auto across = [&](uint32_t value, FoldKind kind) {
        for (int by = lanes_.lanes() / 2; by >= 1; by /= 2) {
          lanes_.Rotate(fold.type, value, by);
          Get(value);
          lanes_.Accumulate(kind, fold.type);
          value = SetNew(WasmType::kV128);
        }
        return value;
      };
      uint32_t value = across(join(parts, fold.kind), fold.kind);
      Get(value), Get(state.tail);
      lanes_.Accumulate(fold.kind, fold.type);
      value = SetNew(WasmType::kV128);
      lanes_.SplatFirst(fold.type, value);
      value = SetNew(WasmType::kV128);
      if (WatchesNan(fold)) {
        const uint32_t nan = across(join(state.nan, FoldKind::kAny), FoldKind::kAny);
        value = with_nan(value, nan);
      }
      state.results.push_back(value);
    }
  }

  void ElementStage(const Stage& stage) {
    if (!k_.lane_outer) unroll_ = UnrollOf(stage);
    StartFolds(stage);
    const bool blocked = std::any_of(stage.folds.begin(), stage.folds.end(),
                                     [this](int f) { return Blocked(k_.folds[static_cast<size_t>(f)]); });
    scratch_.clear();
    for (uint32_t base : scratch_base_) {
      Get(base);
      scratch_.push_back(SetNew(WasmType::kI32));
    }
    const int d = k_.dims() - 1;
    const auto last = [&] {
      if (k_.lane_outer) {
        if (!blocked) return SteppedLoop(d, [&] { ElementBody(stage); });
        return Blocks(d, stage,
                      [&](uint32_t length) { SteppedBlock(d, length, [&] { ElementBody(stage); }); });
      }
      if (!blocked) return LaneLoop(nullptr, [&] { ElementBody(stage); });
      Blocks(d, stage, [&](uint32_t length) { LaneLoop(&length, [&] { ElementBody(stage); }); });
    };
    std::function<void(int)> nest = [&](int dim) {
      if (dim == d) return last();
      SteppedLoop(dim, [&] { nest(dim + 1); });
    };
    // An empty inner dimension: the folds keep their identities.
    for (int dim = k_.outer; dim < k_.dims(); ++dim) {
      Get(sizes_[static_cast<size_t>(dim)]);
      f_.Block(W::k_if_);
    }
    nest(k_.outer);
    for (int dim = k_.outer; dim < k_.dims(); ++dim) f_.End();
    FinishFolds(stage);
  }

  // Runs `body(length)` for blocks of at most kSumBlock along dimension d, pointers walking on from block to
  // block.
  void Blocks(int d, const Stage& stage, const std::function<void(uint32_t)>& body) {
    const std::vector<uint32_t> saved = pointers_;
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      if (!(B(b).varies >> d & 1)) continue;
      Get(saved[b]);
      pointers_[b] = SetNew(WasmType::kI32);
    }
    Get(sizes_[static_cast<size_t>(d)]);
    const uint32_t left = SetNew(WasmType::kI32);
    const uint32_t length = f_.NewLocal(WasmType::kI32);
    f_.Block(W::k_loop);
    Get(left);
    f_.I32(kSumBlock);
    Get(left);
    f_.I32(kSumBlock);
    f_.Op(W::k_i32_lt_s);
    f_.Op(W::k_select);
    Set(length);
    body(length);
    CloseBlock(stage);
    Get(left);
    Get(length);
    f_.Op(W::k_i32_sub);
    f_.Local(W::k_local_tee, left);
    f_.Branch(W::k_br_if, 0);
    f_.End();
    pointers_ = saved;
  }
  void SteppedBlock(int d, uint32_t length, const std::function<void()>& body) {
    Get(length);
    const uint32_t left = SetNew(WasmType::kI32);
    f_.Block(W::k_loop);
    body();
    for (size_t b = 0; b < k_.buffers.size(); ++b) {
      if (B(b).varies >> d & 1) AddTo(pointers_[b], [&] { PushStride(b, d); });
    }
    Get(left);
    f_.I32(1);
    f_.Op(W::k_i32_sub);
    f_.Local(W::k_local_tee, left);
    f_.Branch(W::k_br_if, 0);
    f_.End();
  }

  // ---- One round of elements

  void ElementBody(const Stage& stage) {
    std::vector<int> elements;
    for (int id : stage.body) {
      if (depths_[static_cast<size_t>(id)] == Depth::kElement) elements.push_back(id);
    }
    const auto name = [this](int id, int u) {
      LocalOf(id, u) = kNoLocal;
      Evaluate(id, u);
      LocalOf(id, u) = SetNew(WasmType::kV128);
    };
    // Vectors side by side, operation by operation, so that a constant that lives in memory is fetched once
    // for all of them; but a plain fold one after the other, each load next to its addition.
    const bool side_by_side = elements.size() > 2;
    if (side_by_side) {
      for (int id : elements) {
        for (int u = 0; u < count_; ++u) name(id, u);
      }
    }
    for (int u = 0; u < count_; ++u) {
      if (!side_by_side) {
        for (int id : elements) name(id, u);
      }
      for (const Store& store : stage.scratch_stores) {
        const LaneType type = k_.scratch[static_cast<size_t>(store.buffer)];
        const DType dtype = IsWide(type) ? DType::kFloat64 : DType::kFloat32;
        const uint32_t value = Named(store.value, u);
        lanes_.StoreUnit(dtype, scratch_[static_cast<size_t>(store.buffer)],
                         static_cast<uint32_t>(u * lanes_.lanes() * ItemSize(dtype)), value,
                         splat_ ? 1 : lanes_.lanes());
      }
      for (const Store& store : stage.stores) EmitStore(store, u);
      for (int f : stage.folds) {
        const Fold& fold = k_.folds[static_cast<size_t>(f)];
        FoldState& state = folds_[static_cast<size_t>(f)];
        const bool tail = splat_ && !k_.lane_outer;
        const uint32_t acc = tail ? state.tail : state.accumulators[static_cast<size_t>(u)];
        if (WatchesNan(fold)) {
          const uint32_t value = Named(fold.value, u);
          Get(state.nan[static_cast<size_t>(tail ? 0 : u)]);
          Get(value), Get(value);
          f_.Op(fold.type == LaneType::kF32 ? W::k_f32x4_ne : W::k_f64x2_ne);
          f_.Op(W::k_v128_or);
          Set(state.nan[static_cast<size_t>(tail ? 0 : u)]);
        }
        Get(acc);
        Push(fold.value, u);
        lanes_.Accumulate(fold.kind, fold.type);
        Set(acc);
      }
    }
  }

  uint32_t& LocalOf(int id, int u) {
    const Depth depth = depths_[static_cast<size_t>(id)];
    const bool shared = depth == Depth::kKernel || (depth == Depth::kRow && !k_.lane_outer);
    return shared ? shared_[static_cast<size_t>(id)]
                  : per_vector_[static_cast<size_t>(u)][static_cast<size_t>(id)];
  }
  void Push(int id, int u) {
    const uint32_t local = LocalOf(id, u);
    if (local != kNoLocal)
      Get(local);
    else
      Evaluate(id, u);
  }
  // The value in a local.
  uint32_t Named(int id, int u) {
    uint32_t local = LocalOf(id, u);
    if (local != kNoLocal) return local;
    Evaluate(id, u);
    return SetNew(WasmType::kV128);
  }

  // Leaves the value on the stack.
  void Evaluate(int id, int u) {
    const Instr& instr = I(id);
    switch (instr.prim) {
      case Prim::k_load: return EmitLoad(instr, u);
      case Prim::k_count: {
        f_.I32(1);
        for (int d = k_.outer; d < k_.dims(); ++d) Get(sizes_[static_cast<size_t>(d)]), f_.Op(W::k_i32_mul);
        switch (instr.type) {
          case LaneType::kF32: f_.Op(W::k_f32_convert_i32_s), f_.Op(W::k_f32x4_splat); return;
          case LaneType::kF64: f_.Op(W::k_f64_convert_i32_s), f_.Op(W::k_f64x2_splat); return;
          case LaneType::kI64: f_.Op(W::k_i64_extend_i32_s), f_.Op(W::k_i64x2_splat); return;
          default: f_.Op(W::k_i32x4_splat); return;
        }
      }
      case Prim::k_fold: {
        const FoldState& state = folds_[instr.imm];
        return Get(state.results[k_.lane_outer ? static_cast<size_t>(u) : 0]);
      }
      case Prim::k_scratch: {
        const DType dtype = IsWide(instr.type) ? DType::kFloat64 : DType::kFloat32;
        Get(scratch_[instr.imm]);
        return lanes_.LoadUnit(dtype, static_cast<uint32_t>(u * lanes_.lanes() * ItemSize(dtype)), splat_);
      }
      default: break;
    }
    LaneType types[4];
    for (int a = 0; a < PrimArity(instr.prim); ++a) types[a] = I(instr.args[a]).type;
    lanes_.Compute(instr, types, [&](int a) { Push(instr.args[a], u); });
  }

  // Whether the value of this depth is made of vectors along the lane dimension right now.
  bool AlongLanes(size_t b) const { return B(b).varies >> k_.lane_dim() & 1; }

  // Address of the first lane of vector u, for a strided buffer, in a new local.
  uint32_t StridedStart(size_t b, int u) {
    Get(pointers_[b]);
    if (u) {
      PushStride(b, k_.lane_dim());
      f_.I32(u * lanes_.lanes());
      f_.Op(W::k_i32_mul);
      f_.Op(W::k_i32_add);
    }
    return SetNew(WasmType::kI32);
  }
  void EmitLoad(const Instr& instr, int u) {
    const auto b = static_cast<size_t>(instr.imm);
    const Buffer& buffer = B(b);
    if (buffer.varies == 0) {
      Get(pointers_[b]);
      return lanes_.LoadScalar(buffer.dtype, instr.type);
    }
    if (!AlongLanes(b) || splat_) {
      Get(pointers_[b]);
      return lanes_.LoadUnit(buffer.dtype, 0, true);
    }
    if (buffer.walk == Walk::kUnit) {
      Get(pointers_[b]);
      return lanes_.LoadUnit(buffer.dtype, static_cast<uint32_t>(u * lanes_.lanes() * ItemSize(buffer.dtype)),
                             false);
    }
    const uint32_t address = StridedStart(b, u);
    f_.V128(0, 0, "");
    const uint32_t vector = SetNew(WasmType::kV128);
    for (int lane = 0; lane < lanes_.lanes(); ++lane) {
      lanes_.LoadLane(buffer.dtype, vector, address, lane);
      if (lane + 1 < lanes_.lanes()) AddTo(address, [&] { PushStride(b, k_.lane_dim()); });
    }
    Get(vector);
    lanes_.UnpackLanes(buffer.dtype);
  }
  void EmitStore(const Store& store, int u) {
    const auto b = static_cast<size_t>(store.buffer);
    const Buffer& buffer = B(b);
    Push(store.value, u);
    lanes_.Pack(buffer.dtype);
    const uint32_t value = SetNew(WasmType::kV128);
    if (!AlongLanes(b) || splat_) return lanes_.StoreUnit(buffer.dtype, pointers_[b], 0, value, 1);
    if (buffer.walk == Walk::kUnit) {
      const auto offset = static_cast<uint32_t>(u * lanes_.lanes() * ItemSize(buffer.dtype));
      return lanes_.StoreUnit(buffer.dtype, pointers_[b], offset, value, lanes_.lanes());
    }
    const uint32_t address = StridedStart(b, u);
    for (int lane = 0; lane < lanes_.lanes(); ++lane) {
      lanes_.StoreLane(buffer.dtype, address, value, lane);
      if (lane + 1 < lanes_.lanes()) AddTo(address, [&] { PushStride(b, k_.lane_dim()); });
    }
  }

  const LoopKernel& k_;
  const EmitOptions options_;
  FunctionWriter f_;
  LaneEmitter lanes_;
  std::vector<Depth> depths_;
  int unroll_ = 4;      // vectors a round of the stage at hand
  int count_ = 1;       // vectors in the round being emitted
  bool splat_ = false;  // the round is one element, in every lane
  std::vector<uint32_t> pointers_, sizes_, scratch_base_, scratch_;
  std::vector<std::vector<uint32_t>> strides_;
  std::vector<uint32_t> shared_;
  std::vector<std::vector<uint32_t>> per_vector_;
  std::vector<FoldState> folds_;
};

}  // namespace

FunctionWriter::Module EmitWasm(const LoopKernel& kernel, const EmitOptions& options) {
  return KernelEmitter(kernel, options).Emit();
}

}  // namespace thirdbook
