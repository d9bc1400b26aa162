// Symbolic sizes: dimensions of input tensors whose size is free, and what else follows from them.
//
//   L['t']: f32[n]   symbol n: source L['t'].size(0), 6 while tracing, 12 and 18 in two other worlds
//   t[1:].shape[0]   5, 11, 17 in the three worlds: n - 1
//
// An int of the program that an operation on tensors takes, an index or a bound, is such a symbol, too, once
// it was another one in an earlier call: L['self'].position, 3 while tracing, 4 and 2 in the other worlds. Of
// it an operation knows only what it was given, since no premise sees that an attribute was guessed.
//
// A size or an attribute is known by its values in three worlds: as traced, and with other values of the
// symbols. What is equal in all is fixed; otherwise it is an expression of the symbols that gives these
// values. That is a guess: the premises below say what was guessed, and the guard infers the graph's metadata
// with the sizes at hand to see that it holds, once a set of sizes.
//
// In: the trace's tensors and their operations. Out: symbolic ints for the program and for graph attributes,
// premises for the guard. Invariant: a trace uses a size only as a fixed one (guarded), as an expression, or
// under a premise.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/resize.h"
#include "guards/source.h"

namespace thirdbook {

constexpr int kWorlds = 3;  // the first is the trace's own
using WorldValues = int64_t[kWorlds];

struct SizeSymbol {
  SourceId source;
  WorldValues values;
  bool pinned = false;  // guarded to be what it was
};

// `part` of the value's metadata is what `expected` gives: dimension d is part d, its stride rank + d, the
// offset 2 * rank.
struct SizePremise {
  ValueRef value;
  int32_t part;
  SourceId expected;
};

// What the guard of a trace with symbolic sizes checks.
struct SizePremises {
  struct Input {
    TensorMeta meta;
    std::vector<SourceId> sizes;  // of free dimensions; undefined: as in meta
    SourceId number;              // of a weak int
  };
  Graph graph;  // as traced
  std::vector<Input> inputs;
  std::vector<SourceId> symbols;
  std::vector<SizePremise> premises;
  std::vector<std::pair<ValueRef, ValueRef>> same;  // values of equal metadata
  // Sets of symbols' values that were looked at, and whether they fit.
  std::unordered_map<std::string, bool> known;
  std::string last;
};

// Part `part` of a tensor's metadata, numbered as in SizePremise.
inline int64_t MetaPart(const TensorMeta& meta, int32_t part) {
  const size_t rank = meta.sizes.size(), i = static_cast<size_t>(part);
  return i < rank ? meta.sizes[i] : i < 2 * rank ? meta.strides[i - rank] : meta.offset;
}

}  // namespace thirdbook
