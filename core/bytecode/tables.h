// The two byte tables beside the instructions: source positions (co_linetable) and handlers
// (co_exceptiontable).
//
// In: their bytes. Out: plain runs and entries in code units (2 bytes), and back again.
// Invariant: Encode(Decode(t)) describes every code unit as t does; the bytes themselves may be grouped
// otherwise.
//
// Location table: entries of 1 + n bytes, each for 1 to 8 code units. First byte: 1 | form (4 bits) | units -
// 1 (3 bits).
//
//   form    bytes after it                                             line       end line    columns
//   0..9    1: (column & 7) << 4 | (end - column)                      same       same        form*8 + high 3
//   bits, end 10..12  2: column, end column                                      + form-10  same        each
//   below 128 13      svarint line delta                                         + delta    same        none
//   14      svarint delta, varint end-line delta, column+1, end+1      + delta    + delta     0: none
//   15      -                                                          none       none        none
//
// varint: 6 bits a byte, least first, bit 6 = more follow; svarint: value << 1 | sign.
//
// Exception table: entries of four numbers (start, size, handler, depth << 1 | push_lasti), 6 bits a byte,
// most first, bit 6 = more follow, bit 7 = first byte of an entry. Entries are in order of start and do not
// overlap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "bytecode/instruction.h"

namespace thirdbook {

struct LocationRun {
  int32_t units;
  Position position;
};

Result<std::vector<LocationRun>> DecodeLocations(const std::string& table, int32_t first_line);
std::string EncodeLocations(const std::vector<LocationRun>& runs, int32_t first_line);

struct ExceptionEntry {
  int32_t start, size, handler;  // code units
  int32_t depth;
  bool push_lasti;
};

Result<std::vector<ExceptionEntry>> DecodeExceptions(const std::string& table);
std::string EncodeExceptions(const std::vector<ExceptionEntry>& entries);

}  // namespace thirdbook
