// Facts about an unread JSON text: places of bytes, and limits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// Returns the place of byte `byte` (from 0) of `text`, which begins at `begin`.
inline models::Place place_of_byte(std::string_view text, std::size_t byte,
                                   models::Place begin = {1, 1}) {
  const std::string_view before = text.substr(0, byte);
  const auto lines = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t first = lines == 0 ? 0 : before.rfind('\n') + 1;
  const auto columns = static_cast<std::uint32_t>(before.size() - first);
  return {begin.line + lines, (lines == 0 ? begin.column : 1) + columns, begin.file};
}

/// Limit on nested lists and maps, also in YAML; far above real files.
inline constexpr std::size_t kMaxJsonDepth = 100;

/// Spare capacity after a text, in bytes, with which JSON is read without a copy.
inline constexpr std::size_t kPaddingAfterJson = 64;

inline std::string too_deep_text() {
  return "nested more than " + std::to_string(kMaxJsonDepth) + " deep";
}

}  // namespace pipesim::formats
