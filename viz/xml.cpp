#include "viz/xml.hpp"

#include <algorithm>
#include <cstddef>

namespace pipesim::viz {
namespace {

// The length of the character of UTF-8 at the beginning of `text` that XML may contain, or 0.
std::size_t xml_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\n' || first == '\t' ? 1 : 0;
  const std::size_t size = first >= 0xf0 && first < 0xf5   ? 4
                           : first >= 0xe0 && first < 0xf0 ? 3
                           : first >= 0xc2 && first < 0xe0 ? 2
                                                           : 0;
  if (size == 0 || text.size() < size) return 0;
  unsigned code = first & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  const bool too_long = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool no_character =
      (code >= 0xd800 && code < 0xe000) || code == 0xfffe || code == 0xffff || code > 0x10ffff;
  return too_long || no_character ? 0 : size;
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = xml_character(text);
    switch (size == 0 ? '\0' : text.front()) {
      case '\0':
        result += '?';
        break;
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return result;
}

}  // namespace pipesim::viz
