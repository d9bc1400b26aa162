// The location and exception tables, byte by byte.
#include "bytecode/tables.h"

#include <gtest/gtest.h>

namespace thirdbook {
namespace {

std::vector<LocationRun> Again(const std::vector<LocationRun>& runs, int32_t first_line) {
  Result<std::vector<LocationRun>> again = DecodeLocations(EncodeLocations(runs, first_line), first_line);
  EXPECT_TRUE(again.ok());
  return again.ok() ? *again : std::vector<LocationRun>();
}

// The position of each code unit.
std::vector<Position> Units(const std::vector<LocationRun>& runs) {
  std::vector<Position> out;
  for (const LocationRun& run : runs) out.insert(out.end(), static_cast<size_t>(run.units), run.position);
  return out;
}

TEST(Locations, EachFormIsUsedWhereItFits) {
  struct Case {
    Position position;
    unsigned char head;  // for one unit, first line 10
    size_t size;
  };
  const Case cases[] = {
      {{10, 10, 0, 15}, 0x80, 2},            // short, group 0
      {{10, 10, 79, 80}, 0x80 | 9 << 3, 2},  // short, last group
      {{10, 10, 80, 81}, 0x80 | 10 << 3, 3},
      {{10, 10, 3, 40}, 0x80 | 10 << 3, 3},
      {{11, 11, 0, 1}, 0x80 | 11 << 3, 3},
      {{12, 12, 127, 127}, 0x80 | 12 << 3, 3},
      {{13, 13, 0, 1}, 0x80 | 14 << 3, 5},
      {{9, 9, 0, 1}, 0x80 | 14 << 3, 5},
      {{10, 12, 4, 1}, 0x80 | 14 << 3, 5},
      {{10, 10, 128, 129}, 0x80 | 14 << 3, 7},
      {{10, 10, -1, -1}, 0x80 | 13 << 3, 2},
      {{2, 2, -1, -1}, 0x80 | 13 << 3, 2},
      {{10, 11, -1, -1}, 0x80 | 14 << 3, 5},
      {{-1, -1, -1, -1}, 0x80 | 15 << 3, 1},
  };
  for (const Case& c : cases) {
    std::string table = EncodeLocations({{1, c.position}}, 10);
    EXPECT_EQ(static_cast<unsigned char>(table[0]), c.head) << c.position.line << ":" << c.position.column;
    EXPECT_EQ(table.size(), c.size);
    EXPECT_EQ(Again({{1, c.position}}, 10)[0].position, c.position);
  }
}

TEST(Locations, LongRunsAreCutIntoEights) {
  std::vector<LocationRun> runs = {
      {20, {5, 5, 1, 2}}, {1, {-1, -1, -1, -1}}, {9, {5, 5, 1, 2}}, {8, {900, 901, 0, 999}}};
  std::vector<LocationRun> again = Again(runs, 1);
  EXPECT_EQ(again.size(), 3u + 1 + 2 + 1);
  EXPECT_EQ(Units(again), Units(runs));
}

TEST(Locations, LinesGoUpAndDownFarAway) {
  std::vector<LocationRun> runs;
  for (int line : {1, 100'000, 3, 2'000'000, 1}) runs.push_back({2, {line, line + 70'000, 5'000, 1}});
  EXPECT_EQ(Units(Again(runs, 50)), Units(runs));
}

TEST(Locations, BrokenTablesAreRefused) {
  EXPECT_FALSE(DecodeLocations(std::string("\x05", 1), 1).ok());      // no mark
  EXPECT_FALSE(DecodeLocations(std::string("\x80", 1), 1).ok());      // short form without its byte
  EXPECT_FALSE(DecodeLocations(std::string("\xf0\x40", 2), 1).ok());  // varint cut short
  EXPECT_FALSE(DecodeLocations(std::string("\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x01", 8), 1).ok());  // too large
}

TEST(Exceptions, NumbersOfEverySizeComeBack) {
  std::vector<ExceptionEntry> entries;
  for (int32_t n : {0, 1, 63, 64, 4095, 4096, 262'143, 262'144, 16'777'216, 1'000'000'000}) {
    entries.push_back({n, n + 1, n / 2, n % 1000, n % 2 == 0});
  }
  Result<std::vector<ExceptionEntry>> again = DecodeExceptions(EncodeExceptions(entries));
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(again->size(), entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ((*again)[i].start, entries[i].start);
    EXPECT_EQ((*again)[i].size, entries[i].size);
    EXPECT_EQ((*again)[i].handler, entries[i].handler);
    EXPECT_EQ((*again)[i].depth, entries[i].depth);
    EXPECT_EQ((*again)[i].push_lasti, entries[i].push_lasti);
  }
}

TEST(Exceptions, AnEntryIsMarkedAtItsFirstByteOnly) {
  EXPECT_EQ(EncodeExceptions({{5, 64, 2, 1, true}}), std::string("\x85\x41\x00\x02\x03", 5));
}

}  // namespace
}  // namespace thirdbook
