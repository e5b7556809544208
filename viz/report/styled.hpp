// Terminal text with colors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pipesim::viz {

/// Styles, as ANSI codes.
namespace ansi {
inline constexpr const char* kRed = "31;1";
inline constexpr const char* kGreen = "32;1";
inline constexpr const char* kYellow = "33;1";
inline constexpr const char* kBold = "1";
inline constexpr const char* kDim = "2";
}  // namespace ansi

/// Returns `text` in `style`; without `colour`, returns `text` unchanged.
inline std::string styled(std::string_view style, std::string_view text, bool colour) {
  std::string result;
  if (!colour) return result.assign(text);
  return result.append("\033[").append(style).append("m").append(text).append("\033[0m");
}

/// Text width if the terminal does not report one.
inline constexpr std::size_t kDefaultWidth = 80;

struct TextOptions {
  bool colour = false;                // whether to use ANSI codes
  std::size_t width = kDefaultWidth;  // maximum line width; only longer words exceed it
};

/// Returns `text` in `style`; without `options.colour`, returns `text` unchanged.
inline std::string styled(const TextOptions& options, std::string_view style,
                          std::string_view text) {
  return styled(style, text, options.colour);
}

}  // namespace pipesim::viz
