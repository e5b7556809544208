#include "formats/document/json_values.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <simdjson.h>

#include "models/characters.hpp"

namespace pipesim::formats {
namespace {

namespace ondemand = simdjson::ondemand;

// Whether `token` follows the grammar of numbers in RFC 8259, section 6. The JSON reader checks a
// number only when its value is read.
bool is_number(std::string_view token) {
  const auto skip_digits = [&token] {
    const std::size_t before = token.size();
    while (!token.empty() && models::is_digit(token.front())) token.remove_prefix(1);
    return token.size() < before;
  };
  const auto skip = [&token](std::string_view any) {
    const bool found = !token.empty() && any.find(token.front()) != std::string_view::npos;
    if (found) token.remove_prefix(1);
    return found;
  };
  skip("-");
  if (!skip("0") && !skip_digits()) return false;
  if (skip(".") && !skip_digits()) return false;
  if (skip("eE")) {
    skip("+-");
    if (!skip_digits()) return false;
  }
  return token.empty();
}

// Reads one JSON object. Reads values in text order, so that lines are counted once. The JSON
// reader skips values that are not read.
class JsonValues {
 public:
  // Reads `text`, which is at offset `base` of the document, or a copy of that text.
  JsonValues(std::string_view text, std::size_t base, DocumentBuilder& builder)
      : text_(text), base_(base), builder_(builder) {}

  bool read(ondemand::document& document) {
    ondemand::object root;
    if (document.get_object().get(root) != simdjson::SUCCESS) return false;
    if (!add_object(root, text_.find('{'))) return false;
    const char* rest = nullptr;
    return document.current_location().get(rest) == simdjson::OUT_OF_BOUNDS;
  }

  /// Returns the decoded strings with escapes. The caller appends them after the text.
  const std::string& unescaped() const { return unescaped_; }

 private:
  // Returns the place of a byte. Only looks at the few bytes between strings, because strings have
  // no line breaks.
  models::Place place_of(std::size_t at) {
    for (; seen_ < at; ++seen_) {
      if (text_[seen_] != '\n') continue;
      line_begin_ = seen_ + 1;
      ++line_;
    }
    return {line_, static_cast<std::uint32_t>(at - line_begin_ + 1), builder_.file()};
  }

  std::size_t offset(const char* at) const { return static_cast<std::size_t>(at - text_.data()); }

  // Returns the closing quote of the string that begins at `first`, after its opening quote.
  std::size_t end_of_string(std::size_t first) const {
    for (std::size_t at = text_.find('"', first);; at = text_.find('"', at + 1)) {
      const std::size_t last = text_.find_last_not_of('\\', at - 1);
      // An even number of backslashes does not escape the quote.
      if ((at - 1 - last) % 2 == 0) return at;
    }
  }

  template <typename Unescape>
  bool add_string(std::size_t first, const Unescape& unescape) {
    const models::Place place = place_of(first - 1);
    seen_ = end_of_string(first);
    const std::size_t size = seen_ - first;
    if (text_.substr(first, size).find('\\') == std::string_view::npos) {
      builder_.add_scalar(place, base_ + first, size, true);
      return true;
    }
    std::string_view meant;
    if (unescape().get(meant) != simdjson::SUCCESS) return false;
    builder_.add_scalar(place, base_ + text_.size() + unescaped_.size(), meant.size(), true);
    unescaped_ += meant;
    return true;
  }

  bool add_object(ondemand::object& object, std::size_t at) {
    builder_.open(YamlValue::Kind::kMap, place_of(at));
    for (auto entry : object) {
      ondemand::field field;
      if (std::move(entry).get(field) != simdjson::SUCCESS) return false;
      const std::size_t key = offset(field.key().raw());
      if (!add_string(key, [&] { return field.unescaped_key(); })) return false;
      if (!add_value(field.value())) return false;
    }
    builder_.close();
    return true;
  }

  bool add_array(ondemand::array& array, std::size_t at) {
    builder_.open(YamlValue::Kind::kList, place_of(at));
    for (auto item : array) {
      ondemand::value value;
      // NOLINTNEXTLINE(performance-move-const-arg): only get() of an rvalue gives a value
      if (std::move(item).get(value) != simdjson::SUCCESS || !add_value(value)) return false;
    }
    builder_.close();
    return true;
  }

  // Adds a value, recursively for lists and maps; DocumentBuilder limits the depth.
  bool add_value(ondemand::value& value) {
    const std::string_view token = value.raw_json_token();
    const std::size_t at = offset(token.data());
    ondemand::object object;
    ondemand::array array;
    switch (token.empty() ? '\0' : token.front()) {
      case '{':
        return value.get_object().get(object) == simdjson::SUCCESS && add_object(object, at);
      case '[':
        return value.get_array().get(array) == simdjson::SUCCESS && add_array(array, at);
      case '"':
        return add_string(at + 1, [&] { return value.get_string(); });
      default:
        return add_word(token.substr(0, token.find_last_not_of(" \t\r\n") + 1), at);
    }
  }

  bool add_word(std::string_view token, std::size_t at) {
    const bool is_null = token == "null";
    if (!is_null && token != "true" && token != "false" && !is_number(token)) return false;
    const models::Place place = place_of(at);
    if (is_null) {
      builder_.add(YamlValue::Kind::kNull, place);
    } else {
      builder_.add_scalar(place, base_ + at, token.size(), false);
    }
    return true;
  }

  std::string_view text_;
  std::size_t base_;
  DocumentBuilder& builder_;
  std::size_t seen_ = 0;  // lines are counted up to this byte
  std::size_t line_begin_ = 0;
  std::uint32_t line_ = 1;
  std::string unescaped_;
};

}  // namespace

// Reads JSON with simdjson, which needs spare capacity after the text. A text without spare
// capacity is copied, and the copy is freed before the values are used. Strings without escapes
// refer to the text.
bool add_json(const std::string& text, DocumentBuilder& builder) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  static_assert(kPaddingAfterJson >= simdjson::SIMDJSON_PADDING);
  std::string copy;
  if (text.capacity() - text.size() < kPaddingAfterJson) {
    copy.reserve(text.size() + kPaddingAfterJson);
    copy += text;
  }
  const std::string& with_padding = copy.empty() ? text : copy;
  const simdjson::padded_string_view padded(with_padding.data(), with_padding.size(),
                                            with_padding.capacity());
  ondemand::parser parser;
  ondemand::document document;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS) return false;
  JsonValues values(with_padding, builder.use(text), builder);
  if (!values.read(document)) return false;
  builder.add_text(values.unescaped());
  return true;
}

}  // namespace pipesim::formats
