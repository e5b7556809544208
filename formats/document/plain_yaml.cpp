// Accepts a text only if its meaning is beyond doubt: any unusual character at the beginning of a
// scalar, an empty value or a scalar of several lines leaves the text to yaml-cpp.
#include "formats/document/plain_yaml.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "models/characters.hpp"

namespace pipesim::formats {
namespace {

using Kind = YamlValue::Kind;

// Exception for a text in another style, caught in this file.
struct OtherStyle {};

// A scalar or a key. Its text is [first, end).
struct Scalar {
  std::size_t begin = 0;  // with its quote
  std::size_t first = 0;
  std::size_t end = 0;
  bool quoted = false;
};

bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= ' ' && c < 0x7f) || c == '\n'; });
}

class PlainYamlReader {
 public:
  PlainYamlReader(std::string_view text, std::size_t base, DocumentBuilder& builder)
      : text_(text), base_(base), builder_(builder) {}

  void read() {
    if (!to_content() || column() != 0) throw OtherStyle();
    read_block();
    if (at_ < text_.size()) throw OtherStyle();
  }

 private:
  char byte(std::size_t at) const { return at < text_.size() ? text_[at] : '\n'; }
  char now() const { return byte(at_); }
  std::size_t column() const { return at_ - line_begin_; }
  bool ends_token(std::size_t at) const { return byte(at) == ' ' || byte(at) == '\n'; }
  bool at_dash() const { return now() == '-' && ends_token(at_ + 1); }

  models::Place place(std::size_t at) const {
    return {line_, static_cast<std::uint32_t>(at - line_begin_ + 1), builder_.file()};
  }

  void skip_spaces() {
    while (now() == ' ') ++at_;
  }
  void skip_line() {
    at_ = std::min(text_.find('\n', at_), text_.size());
    if (at_ == text_.size()) return;
    line_begin_ = ++at_;
    ++line_;
  }

  // Moves to the next value or key, over blank lines and comments. Returns false at the end. Must
  // be called at the beginning of a line, or at its end.
  bool to_content() {
    while (at_ < text_.size()) {
      skip_spaces();
      if (at_ < text_.size() && now() != '\n' && now() != '#') return true;
      skip_line();
    }
    return false;
  }

  // Moves from the end of a value to the next line with content.
  void end_line() {
    const std::size_t end = at_;
    skip_spaces();
    const bool comment = now() == '#' && at_ > end;
    if (now() != '\n' && !comment) throw OtherStyle();
    skip_line();
    to_content();
  }

  // Whether the next line of content continues a value of a line at this column.
  bool is_deeper_than(std::size_t column) const {
    return at_ < text_.size() && this->column() > column;
  }

  bool begins_plain(std::size_t at) const {
    const char c = byte(at);
    if (c == '-') return models::is_alphanumeric(byte(at + 1)) || byte(at + 1) == '(';
    if (c == '.') return models::is_alphanumeric(byte(at + 1)) || byte(at + 1) == '/';
    return models::is_alphanumeric(c) || c == '_' || c == '(' || c == '/' || c == '+';
  }

  Scalar quoted_scalar() {
    const char quote = now();
    Scalar scalar{at_, at_ + 1, at_ + 1, true};
    while (byte(scalar.end) != quote) {
      if (byte(scalar.end) == '\n' || byte(scalar.end) == '\\') throw OtherStyle();
      ++scalar.end;
    }
    at_ = scalar.end + 1;
    if (now() == '\'') throw OtherStyle();
    return scalar;
  }

  Scalar plain_scalar(bool flow) {
    if (!begins_plain(at_)) throw OtherStyle();
    Scalar scalar{at_, at_, at_, false};
    for (; now() != '\n'; ++at_) {
      const char c = now();
      if (c == ':' && ends_token(at_ + 1)) break;
      if (c == '#' && byte(at_ - 1) == ' ') break;
      if (!flow) continue;
      if (c == ',' || c == ']' || c == '}') break;
      const char after = c == ':' ? byte(at_ + 1) : ' ';
      const bool unusual =
          c == '[' || c == '{' || c == '?' || after == ',' || after == ']' || after == '}';
      if (unusual) throw OtherStyle();
    }
    while (byte(at_ - 1) == ' ') --at_;
    scalar.end = at_;
    const std::string_view text = text_.substr(scalar.first, scalar.end - scalar.first);
    if (text == "null" || text == "Null" || text == "NULL") throw OtherStyle();
    return scalar;
  }

  Scalar scalar(bool flow) {
    return now() == '"' || now() == '\'' ? quoted_scalar() : plain_scalar(flow);
  }

  // Whether the scalar before is a key. Skips its colon.
  bool take_colon(const Scalar& key) {
    constexpr std::size_t kMaxKey = 1000;  // yaml-cpp has a limit of 1024
    if (now() != ':' || !ends_token(at_ + 1)) return false;
    if (key.end - key.begin > kMaxKey) throw OtherStyle();
    ++at_;
    return true;
  }

  void add(const Scalar& scalar) {
    builder_.add_scalar(place(scalar.begin), base_ + scalar.first, scalar.end - scalar.first,
                        scalar.quoted);
  }

  // Reads the list or map at the beginning of a line.
  void read_block() {
    if (at_dash()) {
      read_list();
      return;
    }
    const std::size_t begin = column();
    const Scalar key = scalar(false);
    if (!take_colon(key)) throw OtherStyle();
    read_map(key, begin);
  }

  void read_list() {
    const std::size_t begin = column();
    builder_.open(Kind::kList, place(at_));
    do {
      ++at_;
      skip_spaces();
      if (at_dash()) {
        read_list();
      } else {
        read_item(begin);
      }
      if (at_ < text_.size() && column() == begin && !at_dash()) throw OtherStyle();
    } while (at_ < text_.size() && column() == begin);
    builder_.close();
  }

  // Reads the value after the dash of a list at column `list`.
  void read_item(std::size_t list) {
    if (now() == '\n' || now() == '#') {
      read_below(list);
    } else if (now() == '[' || now() == '{') {
      read_flow();
      end_value(list);
    } else {
      const std::size_t begin = column();
      const Scalar value = scalar(false);
      if (take_colon(value)) {
        read_map(value, begin);
      } else {
        add(value);
        end_value(list);
      }
    }
    if (is_deeper_than(list)) throw OtherStyle();
  }

  // Reads a block in the lines after its key or dash, which is at column `parent`.
  void read_below(std::size_t parent) {
    end_line();
    if (!is_deeper_than(parent)) throw OtherStyle();  // an empty value
    read_block();
  }

  // Ends a value in the line of its key or dash.
  void end_value(std::size_t parent) {
    end_line();
    if (is_deeper_than(parent)) throw OtherStyle();
  }

  // Reads a map, after the colon of its first key.
  void read_map(Scalar key, std::size_t begin) {
    builder_.open(Kind::kMap, place(key.begin));
    while (true) {
      add(key);
      const std::size_t end = at_;
      skip_spaces();
      if (now() == '\n' || (now() == '#' && at_ > end)) {
        at_ = end;
        read_below(begin);
      } else if (now() == '[' || now() == '{') {
        read_flow();
        end_value(begin);
      } else {
        const Scalar value = scalar(false);
        if (now() == ':') throw OtherStyle();
        add(value);
        end_value(begin);
      }
      if (at_ == text_.size() || column() < begin) break;
      if (column() > begin || at_dash()) throw OtherStyle();
      key = scalar(false);
      if (!take_colon(key)) throw OtherStyle();
    }
    builder_.close();
  }

  // Skips spaces and line breaks between the parts of a flow list or map.
  void skip_flow_space() {
    skip_spaces();
    while (now() == '\n' && at_ < text_.size()) {
      skip_line();
      skip_spaces();
      if (column() == 0) throw OtherStyle();
    }
    if (now() == '#') throw OtherStyle();
  }

  void read_flow() {
    const bool is_list = now() == '[';
    const char close = is_list ? ']' : '}';
    builder_.open(is_list ? Kind::kList : Kind::kMap, place(at_));
    ++at_;
    skip_flow_space();
    bool more = now() != close;
    while (more) {
      if (!is_list) {
        const Scalar key = scalar(true);
        if (!take_colon(key)) throw OtherStyle();
        add(key);
        skip_flow_space();
      }
      read_flow_value();
      skip_flow_space();
      more = now() == ',';
      if (!more) break;
      ++at_;
      skip_flow_space();
    }
    if (now() != close) throw OtherStyle();
    ++at_;
    builder_.close();
  }

  void read_flow_value() {
    if (now() == '[' || now() == '{') {
      read_flow();
    } else {
      add(scalar(true));
    }
  }

  std::string_view text_;
  std::size_t base_;
  DocumentBuilder& builder_;
  std::size_t at_ = 0;  // offset of the next byte
  std::size_t line_begin_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

bool add_plain_yaml(std::string_view text, DocumentBuilder& builder) {
  if (!is_printable_ascii(text)) return false;
  try {
    PlainYamlReader(text, builder.use(text), builder).read();
  } catch (const OtherStyle&) {
    return false;
  }
  return true;
}

}  // namespace pipesim::formats
