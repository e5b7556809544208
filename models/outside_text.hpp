// Text that others wrote, of which a terminal or a page must do nothing but show it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace pipesim::models {

/// Whether `text` has what a terminal acts on instead of showing it: the control characters of C0
/// and C1 (U+0000 to U+001F, U+007F to U+009F), and those that change the direction of writing
/// (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
bool has_control_characters(std::string_view text);

/// How many bytes from `at` on are one of these characters; 0: none is there.
std::size_t control_character_size(std::string_view text, std::size_t at);

/// `text` with '?' for each byte of these.
std::string printable(std::string_view text);

/// Text of a dump, a log, a stack or a program: printable, since it is made so as it comes in, and
/// the compiler refuses what could add to it later. A field of evidence is of this type, so that no
/// reader can pass on what a file says as it stands there; wherever a string can be read or shown,
/// so can this.
class OutsideText : public std::string {
 public:
  OutsideText() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): it takes the place of a string
  OutsideText(std::string raw) : std::string(std::move(raw)) {
    if (has_control_characters(*this)) std::string::operator=(printable(*this));
  }
  // NOLINTNEXTLINE(google-explicit-constructor): likewise
  OutsideText(std::string_view raw) : OutsideText(std::string(raw)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): likewise
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
