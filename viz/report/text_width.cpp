#include "viz/report/text_width.hpp"

#include <cstddef>

#include "models/characters.hpp"

namespace pipesim::viz {
namespace {

bool is_one_of(std::string_view characters, char c) {
  return characters.find(c) != std::string_view::npos;
}

// Returns the width of the first character of `text`, as a fraction of the font size.
double advance(std::string_view text) {
  constexpr std::string_view kNoBreakSpace = "\u00a0";
  const char first = text.front();
  if (models::continues_character(first)) return 0;
  if (text.starts_with(kNoBreakSpace)) return advance(" ");
  if (is_one_of(" .,:;'|!()[]/\\ijlftI-", first)) return 0.38;
  if (is_one_of("mwM", first)) return 0.92;
  if (is_one_of("ABCDEGHKNOPQRSUVXY&", first)) return 0.79;
  if (is_one_of("W@%", first)) return 1.02;
  constexpr unsigned char kThreeBytes = 0xe0;  // arrows, dashes, CJK
  return static_cast<unsigned char>(first) >= kThreeBytes ? 1.02 : 0.64;
}

}  // namespace

double text_width(std::string_view text, double size) {
  double width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) width += advance(text.substr(i));
  return width * size;
}

double fitting_size(std::string_view text, double size, double least, double width) {
  constexpr double kStep = 0.5;
  while (size - kStep >= least && text_width(text, size) > width) size -= kStep;
  return size;
}

std::string fitted(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  constexpr std::string_view kMore = "..";
  std::size_t count = text.size();
  while (count > 0 && text_width(text.substr(0, count), size) + text_width(kMore, size) > width) {
    --count;
    while (count > 0 && models::continues_character(text[count])) --count;
  }
  return count < 3 ? std::string() : std::string(text.substr(0, count)) + std::string(kMore);
}

}  // namespace pipesim::viz
