// Where something stands in a JSON text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

}  // namespace pipesim::formats
