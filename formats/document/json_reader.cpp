// A recursive-descent parser of RFC 8259. Strings without escapes refer to the text, and numbers
// stay text until a caller asks for their values.
#include "formats/document/json_reader.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "models/characters.hpp"

namespace pipesim::formats {
namespace {

using models::Place;

enum class Mistake : std::uint8_t { kSyntax, kUtf8, kTruncated, kLargeNumber };

/// Thrown if the text is not JSON, and caught in this file.
struct NotJson {
  Mistake mistake;
  Place place;
};

class JsonReader {
 public:
  /// Reads `text`, which begins in line `line`. The text is at offset `base` of the document.
  JsonReader(std::string_view text, std::size_t base, std::uint32_t line, std::size_t max_values,
             DocumentBuilder& builder)
      : text_(text), base_(base), max_values_(max_values), builder_(builder), line_(line) {}

  void read() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    read_value();
    skip_space();
    if (at_ < text_.size()) fail();
  }

 private:
  // Reads a value, recursively for lists and maps; DocumentBuilder limits the depth.
  void read_value() {
    switch (next()) {
      case '{':
        return read_map();
      case '[':
        return read_list();
      case '"':
        return read_string();
      case 't':
        return read_word("true");
      case 'f':
        return read_word("false");
      case 'n':
        return read_word("null");
      default:
        return read_number();
    }
  }

  void read_map() {
    open(YamlValue::Kind::kMap);
    if (!take('}')) {
      do {
        if (next() != '"') fail();
        read_string();
        if (!take(':')) fail();
        read_value();
      } while (take(','));
      if (!take('}')) fail();
    }
    builder_.close();
  }

  void read_list() {
    open(YamlValue::Kind::kList);
    if (!take(']')) {
      do {
        read_value();
      } while (take(','));
      if (!take(']')) fail();
    }
    builder_.close();
  }

  void open(YamlValue::Kind kind) {
    count();
    builder_.open(kind, place());
    ++at_;
  }

  void read_string() {
    count();
    const Place begin = place();
    const std::size_t first = ++at_;
    skip_characters();
    std::size_t size = at_ - first;
    std::size_t stored = base_ + first;
    if (text_[at_] == '\\') {
      // The document stores a copy without escapes.
      stored = builder_.add_text(text_.substr(first, size));
      while (text_[at_] == '\\') {
        std::string more;
        read_escape(more);
        const std::size_t rest = at_;
        skip_characters();
        more += text_.substr(rest, at_ - rest);
        builder_.add_text(more);
        size += more.size();
      }
    }
    ++at_;
    builder_.add_scalar(begin, stored, size, true);
  }

  // Skips to the next backslash or quote.
  void skip_characters() {
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\') {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte < ' ') fail();
      const std::size_t size = byte < 0x80 ? 1 : models::character_size(text_, at_);
      if (size == 0) fail(Mistake::kUtf8);
      at_ += size;
    }
    if (at_ == text_.size()) fail();
  }

  void read_escape(std::string& text) {
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    ++at_;
    if (take_byte('u')) {
      models::append_character(text, read_code());
      return;
    }
    const std::size_t found =
        at_ < text_.size() ? kEscapes.find(text_[at_]) : std::string_view::npos;
    if (found == std::string_view::npos) fail();
    text += kMeanings[found];
    ++at_;
  }

  // Reads the digits of '\u1234', and a second escape after the first half of a surrogate pair.
  std::uint32_t read_code() {
    const std::uint32_t first = read_hexadecimal();
    if (first < 0xd800 || first >= 0xe000) return first;
    if (first >= 0xdc00 || !take_byte('\\') || !take_byte('u')) fail();
    const std::uint32_t second = read_hexadecimal();
    if (second < 0xdc00 || second >= 0xe000) fail();
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }

  std::uint32_t read_hexadecimal() {
    constexpr std::size_t kDigits = 4;
    const std::string_view digits = text_.substr(at_, kDigits);
    const char* const end = digits.data() + digits.size();
    std::uint32_t code = 0;
    const char* const stop = std::from_chars(digits.data(), end, code, 16).ptr;
    at_ += static_cast<std::size_t>(stop - digits.data());
    if (digits.size() < kDigits || stop != end) fail();
    return code;
  }

  void read_word(std::string_view word) {
    count();
    const Place begin = place();
    const std::size_t first = at_;
    for (const char c : word) {
      if (!take_byte(c)) fail();
    }
    if (word == "null") {
      builder_.add(YamlValue::Kind::kNull, begin);
    } else {
      builder_.add_scalar(begin, base_ + first, word.size(), false);
    }
  }

  void read_number() {
    count();
    const Place begin = place();
    const std::size_t first = at_;
    take_byte('-');
    if (!take_byte('0')) skip_digits();
    if (take_byte('.')) skip_digits();
    const bool has_exponent = take_byte('e') || take_byte('E');
    if (has_exponent) {
      if (!take_byte('+')) take_byte('-');
      skip_digits();
    }
    const std::string_view number = text_.substr(first, at_ - first);
    const bool may_overflow =
        has_exponent || number.size() > std::numeric_limits<double>::max_exponent10;
    if (may_overflow && std::isinf(std::strtod(std::string(number).c_str(), nullptr))) {
      throw NotJson{Mistake::kLargeNumber, begin};
    }
    builder_.add_scalar(begin, base_ + first, number.size(), false);
  }

  void skip_digits() {
    const std::size_t first = at_;
    while (at_ < text_.size() && models::is_digit(text_[at_])) ++at_;
    if (at_ == first) fail();
  }

  void count() {
    if (++values_ > max_values_) {
      throw DocumentBuilder::Stop{place(), models::Code::kLimit,
                                  fmt::format("this file has more than {} values", max_values_)};
    }
  }

  void skip_space() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        line_begin_ = at_ + 1;
        ++line_;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  // Returns the first byte of the next token; 0 at the end.
  char next() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  // Skips the next token if it is `c`.
  bool take(char c) {
    skip_space();
    return take_byte(c);
  }
  bool take_byte(char c) {
    const bool found = at_ < text_.size() && text_[at_] == c;
    if (found) ++at_;
    return found;
  }

  Place place() const {
    return {line_, static_cast<std::uint32_t>(at_ - line_begin_ + 1), builder_.file()};
  }

  [[noreturn]] void fail(Mistake mistake = Mistake::kSyntax) const {
    const std::size_t last = text_.find_last_not_of(" \t\r\n");
    const bool at_end = last == std::string_view::npos || at_ > last;
    throw NotJson{at_end ? Mistake::kTruncated : mistake, place()};
  }

  std::string_view text_;
  std::size_t base_;
  std::size_t max_values_;
  DocumentBuilder& builder_;
  std::size_t at_ = 0;  // offset of the next byte
  std::size_t values_ = 0;
  std::uint32_t line_;
  std::size_t line_begin_ = 0;
};

std::string text_of(Mistake mistake, std::string_view name) {
  const std::string_view bare = name.substr(name.find(' ') + 1);  // without its article
  switch (mistake) {
    case Mistake::kTruncated:
      return fmt::format("truncated {}: it ends too early", bare);
    case Mistake::kLargeNumber:
      return fmt::format("invalid {}: a number is too large", bare);
    case Mistake::kUtf8:
      return fmt::format("not {}: invalid UTF-8", name);
    case Mistake::kSyntax:
      break;
  }
  return fmt::format("not {}: invalid JSON", name);
}

// Reads `text` into an empty document. Returns false after a mistake.
bool read_into(DocumentBuilder& builder, std::string_view text, const JsonKind& kind,
               models::Diagnostics& diagnostics, Place begin) {
  const auto refuse = [&](Place place, models::Code code, const std::string& message) {
    place.file = begin.file;
    models::Diagnostic& error = diagnostics.error(place, code, message);
    if (kind.hint != nullptr) error.notes.emplace_back(kind.hint);
    return false;
  };
  try {
    JsonReader(text, builder.use(text), begin.line, kMaxJsonValues, builder).read();
  } catch (const NotJson& problem) {
    return refuse(problem.place, kind.code, text_of(problem.mistake, kind.name));
  } catch (const DocumentBuilder::Stop& stop) {
    return refuse(stop.place, stop.code, stop.message);
  }
  return true;
}

}  // namespace

const YamlDocument* JsonTexts::read(std::string_view text, models::Diagnostics& diagnostics,
                                    Place begin) {
  builder_.clear();
  return read_into(builder_, text, kind_, diagnostics, begin) ? &document_ : nullptr;
}

std::optional<YamlDocument> read_json(std::string_view text, const JsonKind& kind,
                                      models::Diagnostics& diagnostics, Place begin) {
  YamlDocument document;
  DocumentBuilder builder(document, 0);
  if (!read_into(builder, text, kind, diagnostics, begin)) return std::nullopt;
  return document;
}

std::optional<YamlDocument> read_json(std::string_view text) {
  models::Diagnostics ignored;
  return read_json(text, {"a file", models::Code::kNone}, ignored);
}

std::vector<YamlValue> objects_of(const YamlValue& object, std::string_view key) {
  std::vector<YamlValue> objects;
  const auto found = object.find(key);
  if (!found || !found->is_list()) return objects;
  found->for_each_item([&](const YamlValue& item) {
    if (item.is_map()) objects.push_back(item);
  });
  return objects;
}

bool add_json(std::string_view text, DocumentBuilder& builder) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
  try {
    JsonReader(text, builder.use(text), 1, kNoLimit, builder).read();
  } catch (const NotJson&) {
    return false;
  }
  return true;
}

}  // namespace pipesim::formats
