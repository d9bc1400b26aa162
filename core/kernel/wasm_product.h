// The micro-kernel of matrix products as generated wasm: for engines with relaxed SIMD, where multiply-add is
// one instruction that the C++ of a side module may not contain (an engine without it would refuse the whole
// module).
//
// In: a band of rows and packed panels. Out: C. Each tile is R rows by 8 columns: 2R accumulators, four steps
// of k per round.
#pragma once

#include <cstdint>

#include "kernel/wasm_writer.h"

namespace thirdbook {

struct BandArguments {
  const float* a = nullptr;       // row-major, columns contiguous
  const float* panels = nullptr;  // depth rows of 8 columns each
  float* c = nullptr;
  int64_t a_row = 0, c_row = 0;  // strides in elements
  int64_t depth = 0, panel_count = 0, tiles = 0;
  bool accumulate = false;  // C += instead of C =
};

FunctionWriter::Module EmitProduct(int rows, bool relaxed, bool annotate = false);

// Runs it for tiles of `rows` rows; false when the engine has no relaxed SIMD or refused the module.
bool RunGeneratedBand(const BandArguments& arguments, int rows);
void ForgetGeneratedBands();  // the engine changed

}  // namespace thirdbook
