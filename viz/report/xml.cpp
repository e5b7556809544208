#include "viz/report/xml.hpp"

#include <algorithm>
#include <cstddef>

#include "models/characters.hpp"
#include "models/outside_text.hpp"

namespace pipesim::viz {
namespace {

// Returns the length of the first UTF-8 character of `text`; 0 if XML forbids the character, or if
// the character changes the display of other characters.
std::size_t xml_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x20) return first == '\n' || first == '\t' ? 1 : 0;
  const std::string_view head = text.substr(0, 3);
  const bool not_in_xml = head == "\xef\xbf\xbe" || head == "\xef\xbf\xbf";  // U+FFFE, U+FFFF
  const std::size_t size = not_in_xml ? 0 : models::character_size(text, 0);
  const bool controls = first >= 0x7f && models::has_control_characters(text.substr(0, size));
  return controls ? 0 : size;
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
