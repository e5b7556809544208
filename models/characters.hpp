// Characters in ASCII and UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipesim::models {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether `c` is an ASCII letter or digit.
constexpr bool is_alphanumeric(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Returns `text` with '#' for each number, so that the names of equal layers become equal.
inline std::string without_numbers(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (!is_digit(c)) result += c;
    if (is_digit(c) && (result.empty() || result.back() != '#')) result += '#';
  }
  return result;
}

/// Whether `c` is a byte of a UTF-8 character, but not the first.
constexpr bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80;
}

/// Returns the number of bytes of the UTF-8 character at `at`; 0 if no valid character begins
/// there.
inline std::size_t character_size(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [&](std::size_t i) { return (byte(at + i) & 0xc0U) == 0x80; };
  const unsigned first = byte(at);
  const unsigned second = byte(at + 1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    const bool overlong = first == 0xe0 && second < 0xa0;
    const bool surrogate = first == 0xed && second >= 0xa0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    const bool overlong = first == 0xf0 && second < 0x90;
    const bool beyond = first == 0xf4 && second >= 0x90;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

/// Appends a code point in UTF-8; U+FFFD if `code` is invalid.
inline void append_character(std::string& text, std::uint32_t code) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xe0 | code >> 12);
    } else {
      add(0xf0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3f));
    }
    add(0x80 | (code >> 6 & 0x3f));
  }
  add(0x80 | (code & 0x3f));
}

}  // namespace pipesim::models
