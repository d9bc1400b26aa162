// Places the intermediates of a plan in one block, reusing memory between lifetimes.
//
// In: for each block its size and the steps between which it must live. Out: offsets, multiples of 64 bytes,
// and the block's size. Invariant: blocks whose lifetimes overlap do not overlap in memory, unless one was
// told to take another's place.
#pragma once

#include <cstdint>
#include <vector>

namespace thirdbook {

struct ArenaBlock {
  int64_t bytes = 0;
  int first = 0, last = 0;  // steps, inclusive
  int in_place_of =
      -1;  // another block of at least this size whose last step is this one's first: may share its memory
};

struct ArenaLayout {
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
};
ArenaLayout LayOut(const std::vector<ArenaBlock>& blocks);

}  // namespace thirdbook
