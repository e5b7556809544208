#include "features/oneflow/text_proto.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "models/characters.hpp"

namespace pipesim::formats {

using models::Diagnostics;
using models::is_digit;
using models::Place;

namespace {

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_octal(char c) { return c >= '0' && c <= '7'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads up to `most` digits in base `base` into `value`. Returns the number of digits.
std::size_t take_digits(std::string_view text, int base, std::size_t most, std::uint32_t& value) {
  std::size_t count = 0;
  value = 0;
  while (count < most && count < text.size()) {
    const int digit = hex_digit(text[count]);
    if (digit < 0 || digit >= base) break;
    value = value * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit);
    ++count;
  }
  return count;
}

// Appends the value of the escape sequence at the front of `text`, after its backslash, to `out`.
// Returns the length of the sequence, or 0 if it is invalid.
std::size_t take_escape(std::string_view text, std::string& out) {
  if (text.empty()) return 0;
  constexpr std::string_view kLetters = "abfnrtv\\'\"?";
  constexpr std::string_view kBytes = "\a\b\f\n\r\t\v\\'\"?";
  if (const auto at = kLetters.find(text.front()); at != std::string_view::npos) {
    out += kBytes[at];
    return 1;
  }
  std::uint32_t value = 0;
  if (is_octal(text.front())) {
    const std::size_t count = take_digits(text, 8, 3, value);
    out += static_cast<char>(value & 0xff);
    return count;
  }
  const char letter = text.front();
  text.remove_prefix(1);
  if (letter == 'x' || letter == 'X') {
    const std::size_t count = take_digits(text, 16, 2, value);
    if (count == 0) return 0;
    out += static_cast<char>(value);
    return count + 1;
  }
  const std::size_t digits = letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
  if (digits == 0 || take_digits(text, 16, digits, value) != digits) return 0;
  models::append_character(out, value);
  return digits + 1;
}

}  // namespace

class TextProtoParser {
 public:
  TextProtoParser(std::string_view text, Diagnostics& diagnostics)
      : text_(text), diagnostics_(diagnostics) {}

  std::optional<TextProto> run() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.substr(0, 3) == kByteOrderMark) at_ = 3;
    TextProtoField root;
    root.kind = TextProtoKind::kMessage;
    root.line = 1;
    root.column = 1;
    result_.fields_.push_back(root);
    if (!read_fields('\0', here(), 0)) return std::nullopt;
    result_.fields_.front().end = static_cast<std::uint32_t>(result_.fields_.size());
    return std::move(result_);
  }

 private:
  Place here() const { return {line_, static_cast<std::uint32_t>(at_ - line_begin_ + 1)}; }
  bool at_end() const { return at_ >= text_.size(); }
  char next() const { return at_end() ? '\0' : text_[at_]; }

  bool fail(Place place, std::string message, models::Code code = models::Code::kPlanText) {
    diagnostics_.error(place, code, std::move(message));
    return false;
  }

  // Describes the next character for messages.
  std::string found() const {
    if (at_end()) return "the end of the text";
    const auto byte = static_cast<unsigned char>(next());
    if (byte >= 0x80) return fmt::format("the byte 0x{:02x}", byte);  // part of a character
    return fmt::format("'{}'", models::printable(text_.substr(at_, 1)));
  }

  // Skips whitespace and comments.
  void skip() {
    for (; !at_end(); ++at_) {
      const char c = text_[at_];
      if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_end()) return;
      if (text_[at_] == '\n') {
        ++line_;
        line_begin_ = at_ + 1;
      } else if (text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r') {
        return;
      }
    }
  }

  // Reads all fields up to and including `close`. '\0' means the end of the text.
  bool read_fields(char close, Place opened, std::uint32_t depth) {
    for (;;) {
      skip();
      if (at_end() && close != '\0') {
        diagnostics_
            .error(here(), models::Code::kPlanText,
                   fmt::format("unexpected end of file: expected '{}'", close))
            .notes.push_back(fmt::format("it closes the one opened at line {}, column {}; was the "
                                         "file written to its end?",
                                         opened.line, opened.column));
        return false;
      }
      if (at_end()) return true;
      if (close != '\0' && next() == close) {
        ++at_;
        return true;
      }
      if (!read_field(depth)) return false;
    }
  }

  bool read_field(std::uint32_t depth) {
    const Place place = here();
    std::string_view name;
    if (!take_name(name)) return false;
    skip();
    const bool colon = next() == ':';
    if (colon) ++at_;
    skip();
    const char c = next();
    const bool message = c == '{' || c == '<';
    if (!colon && !message && c != '[') {
      return fail(here(), fmt::format("'{}' needs ':' and a value, or '{{': found {}",
                                      models::printable(name), found()));
    }
    if (!(c == '[' ? read_list(name, depth) : read_value(name, place, depth))) return false;
    skip();
    if (next() == ',' || next() == ';') ++at_;
    return true;
  }

  bool take_name(std::string_view& name) {
    const std::size_t begin = at_;
    if (next() == '[') {
      const std::size_t close = text_.find_first_of("]\n", at_);
      if (close == std::string_view::npos || text_[close] != ']') {
        return fail(here(), "expected ']' to close the name of an extension");
      }
      at_ = close + 1;
    } else {
      if (!begins_name(next())) {
        return fail(here(), fmt::format("expected the name of a field, found {}", found()));
      }
      while (begins_name(next()) || is_digit(next())) ++at_;
    }
    name = text_.substr(begin, at_ - begin);
    return true;
  }

  bool read_list(std::string_view name, std::uint32_t depth) {
    const Place opened = here();
    ++at_;
    skip();
    if (next() == ']') {
      ++at_;
      return true;
    }
    for (;;) {
      skip();
      if (!read_value(name, here(), depth)) return false;
      skip();
      const char c = next();
      if (c != ',' && c != ']') {
        diagnostics_
            .error(here(), models::Code::kPlanText,
                   fmt::format("expected ',' or ']', found {}", found()))
            .notes.push_back(
                fmt::format("the list begins at line {}, column {}", opened.line, opened.column));
        return false;
      }
      ++at_;
      if (c == ']') return true;
    }
  }

  bool read_value(std::string_view name, Place place, std::uint32_t depth) {
    if (result_.fields_.size() > kMaxTextProtoFields) {  // the root counts as a field
      return fail(place, fmt::format("more than {} fields", kMaxTextProtoFields),
                  models::Code::kLimit);
    }
    const std::size_t index = result_.fields_.size();
    TextProtoField field;
    field.name = name;
    field.line = place.line;
    field.column = place.column;
    const char c = next();
    if (c == '{' || c == '<') {
      field.kind = TextProtoKind::kMessage;
      result_.fields_.push_back(field);
      const Place opened = here();
      if (depth >= kMaxTextProtoDepth) {
        return fail(opened, fmt::format("more than {} nested messages", kMaxTextProtoDepth),
                    models::Code::kLimit);
      }
      ++at_;
      if (!read_fields(c == '{' ? '}' : '>', opened, depth + 1)) return false;
    } else {
      const std::size_t begin = at_;
      std::size_t end = begin;
      field.kind = c == '"' || c == '\'' ? TextProtoKind::kString : TextProtoKind::kWord;
      if (!(field.kind == TextProtoKind::kString ? take_strings(end) : take_word(name, end))) {
        return false;
      }
      field.value = text_.substr(begin, end - begin);
      result_.fields_.push_back(field);
    }
    result_.fields_[index].end = static_cast<std::uint32_t>(result_.fields_.size());
    return true;
  }

  // Reads adjacent strings, which form one value.
  bool take_strings(std::size_t& end) {
    std::string ignored;
    while (next() == '"' || next() == '\'') {
      const Place opened = here();
      const char quote = next();
      for (++at_; next() != quote; ++at_) {
        if (at_end() || next() == '\n') return fail(opened, "unterminated string");
        if (next() != '\\') continue;
        const std::size_t length = take_escape(text_.substr(at_ + 1), ignored);
        if (length == 0) {
          return fail(here(),
                      fmt::format("unknown escape '{}'", models::printable(text_.substr(at_, 2))));
        }
        at_ += length;
      }
      ignored.clear();
      end = ++at_;
      skip();
    }
    return true;
  }

  // Reads a number, or a word such as true, inf or an enum value.
  bool take_word(std::string_view name, std::size_t& end) {
    const Place place = here();
    const std::size_t begin = at_;
    if (next() == '-') ++at_;
    while (begins_name(next()) || is_digit(next()) || next() == '.' ||
           ((next() == '+' || next() == '-') && at_ > begin &&
            (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))) {
      ++at_;
    }
    end = at_;
    if (end > begin && text_[end - 1] != '-') return true;
    at_ = begin;
    return fail(
        place, fmt::format("'{}' needs a value (a number, a word, a string or a message), found {}",
                           models::printable(name), found()));
  }

  std::string_view text_;
  Diagnostics& diagnostics_;
  TextProto result_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  std::uint32_t line_ = 1;
};

std::vector<TextProto::Index> TextProto::all(Index message, std::string_view name) const {
  std::vector<Index> found;
  for (Index i = message + 1; i < fields_[message].end; i = fields_[i].end) {
    if (fields_[i].name == name) found.push_back(i);
  }
  return found;
}

std::optional<TextProto::Index> TextProto::find(Index message, std::string_view name) const {
  std::optional<Index> found;
  for (Index i = message + 1; i < fields_[message].end; i = fields_[i].end) {
    if (fields_[i].name == name) found = i;
  }
  return found;
}

std::optional<TextProto::Index> TextProto::find(
    Index message, std::initializer_list<std::string_view> path) const {
  std::optional<Index> found = message;
  for (const std::string_view name : path) {
    found = find(*found, name);
    if (!found) break;
  }
  return found;
}

std::string TextProto::text(Index field) const {
  const std::string_view value = fields_[field].value;
  if (fields_[field].kind != TextProtoKind::kString) return std::string(value);
  std::string result;
  char quote = '\0';  // quote of the current string; '\0' between strings
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (quote == '\0') {
      if (c == '"' || c == '\'') quote = c;
      if (c == '#') i = std::min(value.find('\n', i), value.size());
    } else if (c == quote) {
      quote = '\0';
    } else if (c == '\\') {
      i += take_escape(value.substr(i + 1), result);
    } else {
      result += c;
    }
  }
  return result;
}

std::optional<std::int64_t> TextProto::integer(Index field) const {
  if (fields_[field].kind != TextProtoKind::kWord) return std::nullopt;
  std::string_view digits = fields_[field].value;
  const bool negative = digits.front() == '-';
  if (negative) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 1 && digits.front() == '0') {
    base = digits[1] == 'x' || digits[1] == 'X' ? 16 : 8;
    digits.remove_prefix(base == 16 ? 2 : 1);
  }
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, value, base);
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (problem != std::errc() || stop != end || value > kMax) return std::nullopt;
  return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

std::optional<TextProto> read_text_proto(std::string_view text, Diagnostics& diagnostics) {
  return TextProtoParser(text, diagnostics).run();
}

}  // namespace pipesim::formats
