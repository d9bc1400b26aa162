#include "kernel/wasm_product.h"

#include <vector>

#include "kernel/engine.h"

namespace thirdbook {
namespace {

enum BandCell { kA, kARow, kPanels, kC, kCRow, kDepth, kPanelCount, kTiles, kAccumulate, kBandCells };

class ProductEmitter {
 public:
  ProductEmitter(int rows, bool relaxed, bool annotate)
      : rows_(rows), relaxed_(relaxed), f_({WasmType::kI32}, annotate) {}

  FunctionWriter::Module Emit() {
    for (int cell = 0; cell < kBandCells; ++cell) {
      Get(0);
      f_.Memory(W::k_i32_load, 4, static_cast<uint32_t>(cell) * 8);
      args_.push_back(SetNew(WasmType::kI32));
    }
    const uint32_t panel_c = Copy(args_[kC]);
    for (int i = 0; i < 2 * rows_; ++i) sums_.push_back(f_.NewLocal(WasmType::kV128));
    b_ = f_.NewLocal(WasmType::kI32);
    for (int i = 0; i < rows_; ++i)
      a_.push_back(f_.NewLocal(WasmType::kI32)), c_.push_back(f_.NewLocal(WasmType::kI32));
    b0_ = f_.NewLocal(WasmType::kV128), b1_ = f_.NewLocal(WasmType::kV128), x_ = f_.NewLocal(WasmType::kV128);
    left_ = f_.NewLocal(WasmType::kI32);
    CountedLoop(args_[kPanelCount], [&] {
      const uint32_t a = Copy(args_[kA]), c = Copy(panel_c);
      CountedLoop(args_[kTiles], [&] {
        Tile(a, c);
        Step(a, args_[kARow], rows_);
        Step(c, args_[kCRow], rows_);
      });
      Get(b_), Set(args_[kPanels]);  // the tile left b_ behind the panel
      Get(panel_c), f_.I32(32), f_.Op(W::k_i32_add), Set(panel_c);
    });
    return f_.Finish();
  }

 private:
  uint32_t SetNew(WasmType type) {
    const uint32_t local = f_.NewLocal(type);
    Set(local);
    return local;
  }
  uint32_t Copy(uint32_t local) {
    Get(local);
    return SetNew(WasmType::kI32);
  }
  void Get(uint32_t local) { f_.Local(W::k_local_get, local); }
  void Set(uint32_t local) { f_.Local(W::k_local_set, local); }
  void Step(uint32_t pointer, uint32_t stride, int times) {
    Get(pointer), Get(stride);
    if (times != 1) f_.I32(times), f_.Op(W::k_i32_mul);
    f_.Op(W::k_i32_add), Set(pointer);
  }
  template <typename Body>
  void CountedLoop(uint32_t count, Body body) {
    const uint32_t left = Copy(count);
    f_.Block(W::k_loop);
    body();
    Get(left), f_.I32(1), f_.Op(W::k_i32_sub);
    f_.Local(W::k_local_tee, left);
    f_.Branch(W::k_br_if, 0);
    f_.End();
  }
  void MulAdd(uint32_t sum, uint32_t b) {
    if (relaxed_) {
      Get(x_), Get(b), Get(sum), f_.Op(W::k_f32x4_relaxed_madd);
    } else {
      Get(sum), Get(x_), Get(b), f_.Op(W::k_f32x4_mul), f_.Op(W::k_f32x4_add);
    }
    Set(sum);
  }
  void Round(int unroll) {
    for (int u = 0; u < unroll; ++u) {
      Get(b_), f_.Memory(W::k_v128_load, 4, static_cast<uint32_t>(u) * 32), Set(b0_);
      Get(b_), f_.Memory(W::k_v128_load, 4, static_cast<uint32_t>(u) * 32 + 16), Set(b1_);
      for (int i = 0; i < rows_; ++i) {
        const auto row = static_cast<size_t>(i);
        Get(a_[row]), f_.Memory(W::k_v128_load32_splat, 4, static_cast<uint32_t>(u) * 4), Set(x_);
        MulAdd(sums_[2 * row], b0_);
        MulAdd(sums_[2 * row + 1], b1_);
      }
    }
    Get(b_), f_.I32(unroll * 32), f_.Op(W::k_i32_add), Set(b_);
    for (uint32_t a : a_) Get(a), f_.I32(unroll * 4), f_.Op(W::k_i32_add), Set(a);
  }
  void Tile(uint32_t a, uint32_t c) {
    for (int i = 0; i < rows_; ++i) {
      const auto row = static_cast<size_t>(i);
      Get(i ? a_[row - 1] : a), i ? Get(args_[kARow]) : f_.I32(0), f_.Op(W::k_i32_add), Set(a_[row]);
      Get(i ? c_[row - 1] : c), i ? Get(args_[kCRow]) : f_.I32(0), f_.Op(W::k_i32_add), Set(c_[row]);
    }
    for (uint32_t sum : sums_) f_.V128(0, 0, ""), Set(sum);
    Get(args_[kAccumulate]);
    f_.Block(W::k_if_);
    for (size_t i = 0; i < sums_.size(); ++i)
      Get(c_[i / 2]), f_.Memory(W::k_v128_load, 4, i % 2 * 16), Set(sums_[i]);
    f_.End();
    Get(args_[kPanels]), Set(b_);
    Get(args_[kDepth]), f_.I32(4), f_.Op(W::k_i32_sub), Set(left_);
    Get(left_), f_.I32(0), f_.Op(W::k_i32_ge_s);
    f_.Block(W::k_if_);
    f_.Block(W::k_loop);
    Round(4);
    Get(left_), f_.I32(4), f_.Op(W::k_i32_sub), f_.Local(W::k_local_tee, left_);
    f_.I32(0), f_.Op(W::k_i32_ge_s), f_.Branch(W::k_br_if, 0);
    f_.End();
    f_.End();
    Get(left_), f_.I32(4), f_.Op(W::k_i32_add), f_.Local(W::k_local_tee, left_);
    f_.I32(0), f_.Op(W::k_i32_gt_s);
    f_.Block(W::k_if_);
    f_.Block(W::k_loop);
    Round(1);
    Get(left_), f_.I32(1), f_.Op(W::k_i32_sub), f_.Local(W::k_local_tee, left_);
    f_.Branch(W::k_br_if, 0);
    f_.End();
    f_.End();
    for (size_t i = 0; i < sums_.size(); ++i)
      Get(c_[i / 2]), Get(sums_[i]), f_.Memory(W::k_v128_store, 4, i % 2 * 16);
  }

  int rows_;
  bool relaxed_;
  FunctionWriter f_;
  std::vector<uint32_t> args_, sums_, a_, c_;
  uint32_t b_ = 0, b0_ = 0, b1_ = 0, x_ = 0, left_ = 0;
};

struct Generated {
  bool tried = false;
  KernelFunction function = nullptr;
};
Generated g_bands[9];

}  // namespace

FunctionWriter::Module EmitProduct(int rows, bool relaxed, bool annotate) {
  return ProductEmitter(rows, relaxed, annotate).Emit();
}

void ForgetGeneratedBands() {
  for (Generated& g : g_bands) g = {};
}

bool RunGeneratedBand(const BandArguments& g, int rows) {
  if (!CurrentEngine().relaxed) return false;  // without it the C++ form is as fast, or faster
  Generated& band = g_bands[rows];
  if (!band.tried) {
    band.tried = true;
    band.function = Instantiate(EmitProduct(rows, true));
  }
  if (!band.function) return false;
  const Cell cells[kBandCells] = {reinterpret_cast<Cell>(g.a),
                                  g.a_row * 4,
                                  reinterpret_cast<Cell>(g.panels),
                                  reinterpret_cast<Cell>(g.c),
                                  g.c_row * 4,
                                  g.depth,
                                  g.panel_count,
                                  g.tiles,
                                  g.accumulate};
  band.function(cells);
  return true;
}

}  // namespace thirdbook
