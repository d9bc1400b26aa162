// The texts of a table in one string, a line each, found by their number.
//
// Why not an array of pointers: in a wasm side module each pointer in constant data costs 14 bytes of code
// that relocates it when the module is loaded.
#pragma once

#include <cstddef>
#include <string_view>

namespace thirdbook {

// Takes the first line, without its end, from `lines`.
inline std::string_view TakeLine(std::string_view* lines) {
  size_t end = lines->find('\n');
  std::string_view line = lines->substr(0, end);
  lines->remove_prefix(end == std::string_view::npos ? lines->size() : end + 1);
  return line;
}

// Line `n`, counted from 0.
inline std::string_view Line(std::string_view lines, size_t n) {
  for (; n > 0; n--) TakeLine(&lines);
  return TakeLine(&lines);
}

}  // namespace thirdbook
