#include "kernel/arena.h"

#include <algorithm>
#include <numeric>

namespace thirdbook {
namespace {

constexpr int64_t kAlign = 64;
int64_t Rounded(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

// Blocks in the order of their birth; each at the lowest gap between the blocks alive with it.
ArenaLayout LayOut(const std::vector<ArenaBlock>& blocks) {
  ArenaLayout layout;
  layout.offsets.assign(blocks.size(), -1);
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].first < blocks[b].first; });
  std::vector<size_t> placed;
  for (size_t i : order) {
    const ArenaBlock& block = blocks[i];
    const int64_t size = Rounded(block.bytes);
    int64_t offset = -1;
    if (block.in_place_of >= 0 && Rounded(blocks[static_cast<size_t>(block.in_place_of)].bytes) >= size) {
      offset = layout.offsets[static_cast<size_t>(block.in_place_of)];
      // The heir must not meet a third block that took the same place already.
      for (size_t p : placed) {
        const ArenaBlock& other = blocks[p];
        if (static_cast<int>(p) == block.in_place_of || other.last < block.first || other.first > block.last)
          continue;
        if (layout.offsets[p] < offset + size && offset < layout.offsets[p] + Rounded(other.bytes))
          offset = -1;
        if (offset < 0) break;
      }
    }
    if (offset < 0) {
      std::vector<std::pair<int64_t, int64_t>> taken;
      for (size_t p : placed) {
        const ArenaBlock& other = blocks[p];
        if (other.last >= block.first && other.first <= block.last) {
          taken.push_back({layout.offsets[p], layout.offsets[p] + Rounded(other.bytes)});
        }
      }
      std::sort(taken.begin(), taken.end());
      offset = 0;
      for (const auto& [begin, end] : taken) {
        if (begin - offset >= size) break;
        offset = std::max(offset, end);
      }
    }
    layout.offsets[i] = offset;
    layout.bytes = std::max(layout.bytes, offset + size);
    placed.push_back(i);
  }
  return layout;
}

}  // namespace thirdbook
