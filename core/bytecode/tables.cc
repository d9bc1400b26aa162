// See tables.h for the two formats.
#include "bytecode/tables.h"

namespace thirdbook {
namespace {

enum LocationForm {
  kShortLast = 9,
  kOneLine = 10,
  kOneLineLast = 12,
  kNoColumns = 13,
  kLong = 14,
  kNone = 15
};

// Reads bytes of a table; `ok` turns false on the first read past the end or number too large, and stays so.
class TableReader {
 public:
  explicit TableReader(const std::string& bytes) : bytes_(bytes) {}
  bool AtEnd() const { return position_ >= bytes_.size(); }
  bool ok() const { return ok_; }

  uint8_t Byte() {
    if (AtEnd()) {
      ok_ = false;
      return 0;
    }
    return static_cast<uint8_t>(bytes_[position_++]);
  }

  int32_t Varint() {
    uint32_t value = 0;
    for (int shift = 0;; shift += 6) {
      uint8_t byte = Byte();
      if (shift > 30) ok_ = false;
      if (!ok_) return 0;
      value |= static_cast<uint32_t>(byte & 63) << shift;
      if ((byte & 64) == 0) return Checked(value);
    }
  }

  int32_t SignedVarint() {
    uint32_t value = static_cast<uint32_t>(Varint());
    int32_t magnitude = static_cast<int32_t>(value >> 1);
    return (value & 1) != 0 ? -magnitude : magnitude;
  }

  int32_t BigEndianVarint() {
    uint64_t value = 0;
    for (;;) {
      uint8_t byte = Byte();
      value = value << 6 | (byte & 63);
      if (value > INT32_MAX) ok_ = false;
      if (!ok_) return 0;
      if ((byte & 64) == 0) return static_cast<int32_t>(value);
    }
  }

 private:
  int32_t Checked(uint32_t value) {
    if (value > INT32_MAX) ok_ = false;
    return ok_ ? static_cast<int32_t>(value) : 0;
  }

  const std::string& bytes_;
  size_t position_ = 0;
  bool ok_ = true;
};

void AppendVarint(std::string* out, uint32_t value) {
  while (value >= 64) {
    out->push_back(static_cast<char>(64 | (value & 63)));
    value >>= 6;
  }
  out->push_back(static_cast<char>(value));
}

void AppendSignedVarint(std::string* out, int32_t value) {
  uint32_t magnitude = value < 0 ? 0u - static_cast<uint32_t>(value) : static_cast<uint32_t>(value);
  AppendVarint(out, magnitude << 1 | (value < 0 ? 1u : 0u));
}

void AppendBigEndianVarint(std::string* out, uint32_t value, uint8_t first_bit) {
  int shift = 30;
  while (shift > 0 && (value >> shift) == 0) shift -= 6;
  for (; shift >= 0; shift -= 6) {
    uint8_t more = shift > 0 ? 64 : 0;
    out->push_back(static_cast<char>(first_bit | more | (value >> shift & 63)));
    first_bit = 0;
  }
}

// One entry of at most 8 units; `line` is the running line and is moved on.
void AppendLocation(std::string* out, int units, const Position& position, int32_t* line) {
  auto head = [&](int form) { out->push_back(static_cast<char>(0x80 | form << 3 | (units - 1))); };
  if (position.line < 0) {
    head(kNone);
    return;
  }
  int32_t delta = position.line - *line;
  int32_t end_line = position.end_line < position.line ? position.line : position.end_line;
  int32_t column = position.column, end_column = position.end_column;
  bool one_line = end_line == position.line;
  *line = position.line;
  if (one_line && column < 0 && end_column < 0) {
    head(kNoColumns);
    AppendSignedVarint(out, delta);
  } else if (one_line && delta == 0 && column >= 0 && column < 80 && end_column - column >= 0 &&
             end_column - column < 16) {
    head(column >> 3);
    out->push_back(static_cast<char>((column & 7) << 4 | (end_column - column)));
  } else if (one_line && delta >= 0 && delta < 3 && column >= 0 && column < 128 && end_column >= 0 &&
             end_column < 128) {
    head(kOneLine + delta);
    out->push_back(static_cast<char>(column));
    out->push_back(static_cast<char>(end_column));
  } else {
    head(kLong);
    AppendSignedVarint(out, delta);
    AppendVarint(out, static_cast<uint32_t>(end_line - position.line));
    AppendVarint(out, static_cast<uint32_t>(column < 0 ? 0 : column + 1));
    AppendVarint(out, static_cast<uint32_t>(end_column < 0 ? 0 : end_column + 1));
  }
}

}  // namespace

Result<std::vector<LocationRun>> DecodeLocations(const std::string& table, int32_t first_line) {
  std::vector<LocationRun> runs;
  TableReader reader(table);
  int32_t line = first_line;
  while (!reader.AtEnd()) {
    uint8_t head = reader.Byte();
    if ((head & 0x80) == 0) return ValueError("location table: an entry does not begin with its mark");
    int form = head >> 3 & 15;
    LocationRun run{(head & 7) + 1, {}};
    Position& p = run.position;
    if (form <= kShortLast) {
      uint8_t low = reader.Byte();
      p.line = p.end_line = line;
      p.column = form << 3 | (low >> 4 & 7);
      p.end_column = p.column + (low & 15);
    } else if (form <= kOneLineLast) {
      line += form - kOneLine;
      p.line = p.end_line = line;
      p.column = reader.Byte();
      p.end_column = reader.Byte();
    } else if (form == kNoColumns) {
      line += reader.SignedVarint();
      p.line = p.end_line = line;
    } else if (form == kLong) {
      line += reader.SignedVarint();
      p.line = line;
      p.end_line = line + reader.Varint();
      p.column = reader.Varint() - 1;
      p.end_column = reader.Varint() - 1;
    }
    if (!reader.ok()) return ValueError("location table: cut short");
    runs.push_back(run);
  }
  return runs;
}

std::string EncodeLocations(const std::vector<LocationRun>& runs, int32_t first_line) {
  std::string out;
  int32_t line = first_line;
  for (size_t i = 0; i < runs.size();) {
    int32_t units = 0;
    const Position& position = runs[i].position;
    for (; i < runs.size() && runs[i].position == position; ++i) units += runs[i].units;
    for (; units > 8; units -= 8) AppendLocation(&out, 8, position, &line);
    if (units > 0) AppendLocation(&out, units, position, &line);
  }
  return out;
}

Result<std::vector<ExceptionEntry>> DecodeExceptions(const std::string& table) {
  std::vector<ExceptionEntry> entries;
  TableReader reader(table);
  while (!reader.AtEnd()) {
    ExceptionEntry entry;
    entry.start = reader.BigEndianVarint();
    entry.size = reader.BigEndianVarint();
    entry.handler = reader.BigEndianVarint();
    int32_t depth_lasti = reader.BigEndianVarint();
    if (!reader.ok()) return ValueError("exception table: cut short");
    entry.depth = depth_lasti >> 1;
    entry.push_lasti = (depth_lasti & 1) != 0;
    entries.push_back(entry);
  }
  return entries;
}

std::string EncodeExceptions(const std::vector<ExceptionEntry>& entries) {
  std::string out;
  for (const ExceptionEntry& entry : entries) {
    AppendBigEndianVarint(&out, static_cast<uint32_t>(entry.start), 128);
    AppendBigEndianVarint(&out, static_cast<uint32_t>(entry.size), 0);
    AppendBigEndianVarint(&out, static_cast<uint32_t>(entry.handler), 0);
    AppendBigEndianVarint(&out, static_cast<uint32_t>(entry.depth) << 1 | (entry.push_lasti ? 1u : 0u), 0);
  }
  return out;
}

}  // namespace thirdbook
