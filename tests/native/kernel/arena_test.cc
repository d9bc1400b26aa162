// Blocks that live together do not share memory; memory is reused after a lifetime has ended.
#include "kernel/arena.h"

#include <gtest/gtest.h>

#include "random_graph.h"

namespace thirdbook {
namespace {

bool Overlap(const ArenaBlock& a, int64_t at, const ArenaBlock& b, int64_t bt) {
  return a.bytes > 0 && b.bytes > 0 && at < bt + b.bytes && bt < at + a.bytes;
}

TEST(Arena, ReusesMemoryOfDeadBlocks) {
  const ArenaLayout layout = LayOut({{1024, 0, 1, -1}, {1024, 1, 2, -1}, {1024, 2, 3, -1}});
  EXPECT_EQ(layout.bytes, 2048);
  EXPECT_EQ(layout.offsets, (std::vector<int64_t>{0, 1024, 0}));
}

TEST(Arena, AnHeirTakesThePlaceOfItsInput) {
  const ArenaLayout layout = LayOut({{1024, 0, 1, -1}, {1024, 1, 2, 0}, {1024, 2, 3, 1}});
  EXPECT_EQ(layout.bytes, 1024);
}

TEST(Arena, TwoHeirsDoNotShareOnePlace) {
  const ArenaLayout layout = LayOut({{64, 0, 1, -1}, {64, 1, 2, 0}, {64, 1, 2, 0}});
  EXPECT_NE(layout.offsets[1], layout.offsets[2]);
}

TEST(Arena, OffsetsAreAligned) {
  const ArenaLayout layout = LayOut({{5, 0, 2, -1}, {70, 0, 2, -1}, {1, 0, 2, -1}});
  for (int64_t offset : layout.offsets) EXPECT_EQ(offset % 64, 0);
}

TEST(Arena, RandomLifetimesNeverCollide) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::vector<ArenaBlock> blocks;
    int64_t total = 0;
    for (int i = 0; i < 40; ++i) {
      ArenaBlock block;
      block.first = random.Below(50);
      block.last = block.first + random.Below(10);
      block.bytes = random.Below(5) == 0 ? 0 : random.Below(5000);
      total += (block.bytes + 63) / 64 * 64;
      blocks.push_back(block);
    }
    const ArenaLayout layout = LayOut(blocks);
    EXPECT_LE(layout.bytes, total);
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (blocks[i].first > blocks[j].last || blocks[j].first > blocks[i].last) continue;
        ASSERT_FALSE(Overlap(blocks[i], layout.offsets[i], blocks[j], layout.offsets[j]))
            << seed << ": " << i << " " << j;
      }
    }
  }
}

}  // namespace
}  // namespace thirdbook
