// Parsing of integers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace pipesim::models {

/// Returns the decimal integer that makes up all of `text`. Returns nullopt for other text, or if
/// the integer does not fit.
template <typename Integer>
std::optional<Integer> whole_number(std::string_view text) {
  Integer value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace pipesim::models
