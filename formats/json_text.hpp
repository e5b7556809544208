// What can be said of a JSON text before it is read: where something stands, and how deep it is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// Line and column, from 1, of byte `byte` (from 0) of `text`.
inline models::Place place_of_byte(std::string_view text, std::size_t byte) {
  byte = std::min(byte, text.size());
  const std::string_view before = text.substr(0, byte);
  const auto line = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t begin = line == 0 ? 0 : before.rfind('\n') + 1;
  return {line + 1, static_cast<std::uint32_t>(byte - begin + 1)};
}

/// Lists and maps in one another, of YAML too: no file has as many.
inline constexpr std::size_t kMaxJsonDepth = 100;

inline std::string too_deep_text() {
  return "nested more than " + std::to_string(kMaxJsonDepth) + " deep";
}

/// The byte of the bracket that opens one list or map too many. Each takes memory as long as it is
/// open, so that a file of brackets would take fifty times its size and more.
inline std::optional<std::size_t> too_deep_at(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return i;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

}  // namespace pipesim::formats
