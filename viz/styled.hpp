// Text with the colours of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pipesim::viz {

/// Styles, as codes of ANSI.
namespace ansi {
inline constexpr const char* kRed = "31;1";
inline constexpr const char* kGreen = "32;1";
inline constexpr const char* kYellow = "33;1";
inline constexpr const char* kBold = "1";
inline constexpr const char* kDim = "2";
}  // namespace ansi

/// `text` in that style, or as it is without `colour`.
inline std::string styled(std::string_view style, std::string_view text, bool colour) {
  std::string result;
  if (!colour) return result.assign(text);
  return result.append("\033[").append(style).append("m").append(text).append("\033[0m");
}

/// How wide text is where no terminal says so.
inline constexpr std::size_t kDefaultWidth = 80;

struct TextOptions {
  bool colour = false;                // ANSI codes
  std::size_t width = kDefaultWidth;  // no line is wider, but for words that are
};

/// The same for who has the options of a text.
inline std::string styled(const TextOptions& options, std::string_view style,
                          std::string_view text) {
  return styled(style, text, options.colour);
}

}  // namespace pipesim::viz
