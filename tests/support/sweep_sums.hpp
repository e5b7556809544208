// Checksums of the lines of a sweep, corrected after a test has changed the lines.
#pragma once

#include <string>

#include <fmt/format.h>

#include "features/sweep/sweep_file.hpp"

namespace pipesim::testing {

/// Returns `text` with the right `,"sum":"…"` at the end of each line; adds a checksum to lines
/// that lack it.
inline std::string with_right_sums(const std::string& text) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) return result + text.substr(begin);
    std::string object = text.substr(begin, end - begin);
    const std::size_t sum = object.rfind(R"(,"sum":")");
    if (sum != std::string::npos) {
      object.resize(sum);
    } else if (!object.empty()) {
      object.pop_back();
    }
    result += fmt::format("{},\"sum\":\"{:016x}\"}}\n", object, formats::text_hash(object));
    begin = end + 1;
  }
  return result;
}

}  // namespace pipesim::testing
