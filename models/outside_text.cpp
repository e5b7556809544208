#include "models/outside_text.hpp"

namespace pipesim::models {

std::size_t control_character_size(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(at);
  const unsigned second = byte(at + 1);
  const unsigned third = byte(at + 2);
  if (first < 0x20 || first == 0x7f) return 1;
  if (first == 0xc2) return second >= 0x80 && second < 0xa0 ? 2 : 0;
  if (first != 0xe2) return 0;
  const bool marks = second == 0x80 && (third == 0x8e || third == 0x8f);
  const bool embeds = second == 0x80 && third >= 0xaa && third <= 0xae;
  const bool isolates = second == 0x81 && third >= 0xa6 && third <= 0xa9;
  return marks || embeds || isolates ? 3 : 0;
}

std::string printable(std::string_view text) {
  std::string result(text);
  for (std::size_t i = 0; i < text.size();) {
    std::size_t left = control_character_size(text, i);
    if (left == 0) ++i;
    for (; left > 0; --left) result[i++] = '?';
  }
  return result;
}

bool has_control_characters(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_plain = text[i] >= 0x20 && text[i] < 0x7f;  // true for nearly all characters
    if (!is_plain && control_character_size(text, i) > 0) return true;
  }
  return false;
}

}  // namespace pipesim::models
