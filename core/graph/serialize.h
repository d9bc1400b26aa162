// A graph as bytes: what tb.export writes and the runtime without Python loads.
//
// All integers little endian. Strings and lists are preceded by their length (u32).
//
//   file      "TBGRAPH\0"  u32 version  u32 node count  node…  u32 output count  (i32 node, i32 output)…
//   node      string op name                       (ops are named, not numbered: the table may grow)
//             u32 operand count  (i32 node or -1, i32 output)…
//             u32 attr count  attr…
//             input:    string name, meta
//             constant: meta, then the elements
//             others:   nothing (metadata is inferred again)
//   attr      u8 kind (index in the Attr variant), then
//             nothing | u8 bool | i64 | f64 | u8 dtype | u32 n  i64… | string
//   meta      u8 dtype  u32 rank  i64 sizes…  [i64 strides…  i64 offset]  u8 weak
//             (strides and offset of inputs only; constants are contiguous)
//
// Source spans are not kept; dtypes are inferred with float32 as the default dtype. A reader accepts its own
// version and older ones.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace thirdbook {

inline constexpr uint32_t kGraphVersion = 1;

// MemoryError when a constant does not fit; NotImplementedError for a node that has its dtype from another
// default dtype and no attribute for it.
Result<std::vector<uint8_t>> SaveGraph(const Graph& graph);

// Total: damaged, truncated and too new files give one Status; memory use is bounded by the number of bytes.
// The graph that comes back passes Verify.
Result<Graph> LoadGraph(const uint8_t* bytes, size_t size);

}  // namespace thirdbook
