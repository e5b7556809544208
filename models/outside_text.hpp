// Text from outside the program, which a terminal or page must only display.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace pipesim::models {

/// Whether `text` has characters that a terminal acts on instead of displaying: the control
/// characters of C0 and C1 (U+0000 to U+001F, U+007F to U+009F), and characters that change the
/// direction of writing (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
bool has_control_characters(std::string_view text);

/// Returns the number of bytes of the control character at `at` (see has_control_characters); 0 if
/// there is none.
std::size_t control_character_size(std::string_view text, std::size_t at);

/// Returns `text` with '?' for each byte of a control character (see has_control_characters).
std::string printable(std::string_view text);

/// Text of a dump, a log, a stack or a program, always printable. The constructor replaces control
/// characters, and the compiler rejects operations that could add some later. Fields of evidence
/// have this type, so that no reader can pass on raw text of a file. An OutsideText can be read and
/// shown wherever a string can.
class OutsideText : public std::string {
 public:
  OutsideText() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): it takes the place of a string
  OutsideText(std::string raw) : std::string(std::move(raw)) {
    if (has_control_characters(*this)) std::string::operator=(printable(*this));
  }
  // NOLINTNEXTLINE(google-explicit-constructor): it takes the place of a string
  OutsideText(std::string_view raw) : OutsideText(std::string(raw)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): it takes the place of a string
  OutsideText(const char* raw) : OutsideText(std::string(raw)) {}

  const char& operator[](std::size_t at) const { return std::string::operator[](at); }
  const_iterator begin() const { return cbegin(); }
  const_iterator end() const { return cend(); }

  void operator+=(std::string_view) = delete;
  void append(std::string_view) = delete;
  void assign(std::string_view) = delete;
  void insert(std::size_t, std::string_view) = delete;
  void push_back(char) = delete;
  void replace(std::size_t, std::size_t, std::string_view) = delete;
  void resize(std::size_t, char) = delete;
};

}  // namespace pipesim::models
