#include "formats/document/yaml_writer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "formats/document/document_builder.hpp"
#include "formats/document/settings.hpp"
#include "models/characters.hpp"
#include "models/outside_text.hpp"

namespace pipesim::formats {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kMaxFilled = 60;  // maximum length of a value that is not split between lines

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t size = models::control_character_size(text, i);
    const auto last = static_cast<unsigned char>(text[i + (size > 1 ? size - 1 : 0)]);
    if (size == 3) {
      const unsigned page = static_cast<unsigned char>(text[i + 1]) & 0x3fU;
      result += fmt::format("\\u{:04x}", 0x2000U | page << 6 | (last & 0x3fU));
    } else if (size > 0) {
      result += fmt::format("\\x{:02x}", last);
    } else {
      if (text[i] == '"' || text[i] == '\\') result += '\\';
      result += text[i];
    }
    i += size > 1 ? size - 1 : 0;
  }
  return result + '"';
}

// Whether YAML reads `text` as null.
bool reads_as_nothing(std::string_view text) {
  constexpr std::array<std::string_view, 5> kNothing = {"", "~", "null", "Null", "NULL"};
  return std::find(kNothing.begin(), kNothing.end(), text) != kNothing.end();
}

// Whether `text` needs no quotes, also in a list and as a key. All its characters must be letters,
// digits or in `others`, with a harmless beginning and end.
bool is_plain(std::string_view text, std::string_view begins, std::string_view others) {
  if (reads_as_nothing(text) || text.back() == ' ') return false;
  if (!models::is_alphanumeric(text.front()) && begins.find(text.front()) == std::string_view::npos)
    return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return models::is_alphanumeric(c) || others.find(c) != std::string_view::npos;
  });
}

std::string written_text(std::string_view text) {
  return is_plain(text, "_", "_-./ +") ? std::string(text) : quoted(text);
}

// Returns a key as written. Keys can begin with '+', as in patches.
std::string written_key(std::string_view key) {
  return is_plain(key, "_+", "_-./ +") ? std::string(key) : quoted(key);
}

std::string written_value(std::string_view text) {
  const bool plain = is_plain(text, "(_", "_-./ +*%()<>=!") ||
                     (text.size() > 1 && text[0] == '-' && text[1] != ' ' &&
                      is_plain(text.substr(1), "(_", "_-./ +*%()<>=!"));
  return plain ? std::string(text) : quoted(text);
}

// Reads the text of a scalar in quotes, as quoted() writes it.
std::string unquoted(std::string_view written) {
  std::string result;
  const std::string_view text = written.substr(1, written.size() - 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      result += text[i];
      continue;
    }
    ++i;
    const std::size_t digits = text[i] == 'x' ? 2 : text[i] == 'u' ? 4 : 0;
    if (digits == 0) {
      result += text[i];
      continue;
    }
    const std::string code(text.substr(i + 1, digits));
    models::append_character(result, static_cast<std::uint32_t>(std::stoul(code, nullptr, 16)));
    i += digits;
  }
  return result;
}

}  // namespace

YamlNode YamlNode::text(std::string_view text) {
  YamlNode node;
  node.text_ = written_text(text);
  return node;
}

YamlNode YamlNode::value(std::string_view text) {
  YamlNode node;
  node.text_ = written_value(text);
  return node;
}

YamlNode YamlNode::nothing() {
  YamlNode node;
  node.text_ = "~";
  return node;
}

YamlNode YamlNode::list() {
  YamlNode node;
  node.kind_ = Kind::kList;
  return node;
}

YamlNode YamlNode::lines() {
  YamlNode node = list();
  node.lines_ = true;
  return node;
}

YamlNode YamlNode::made(std::size_t size, std::function<YamlNode(std::size_t)> item) {
  YamlNode node = list();
  node.made_ = std::make_shared<const Made>(Made{size, std::move(item)});
  return node;
}

YamlNode YamlNode::map() {
  YamlNode node;
  node.kind_ = Kind::kMap;
  return node;
}

void YamlNode::add(YamlNode item) { children_.emplace_back(std::string(), std::move(item)); }

void YamlNode::add(std::string_view key, YamlNode value) {
  children_.emplace_back(written_key(key), std::move(value));
}

// Calls `visit(key, value)` for each child until it returns false, and returns its last result.
template <typename Visit>
bool YamlNode::all_children(Visit visit) const {
  if (!made_) {
    return std::all_of(children_.begin(), children_.end(),
                       [&](const auto& child) { return visit(child.first, child.second); });
  }
  for (std::size_t i = 0; i < made_->size; ++i) {
    if (!visit(std::string(), made_->item(i))) return false;
  }
  return true;
}

// Returns the length of the value on one line, or any number above `most`: a long value is not
// measured to its end.
std::size_t YamlNode::flow_size(std::size_t most) const {
  if (kind_ == Kind::kScalar) return text_.size();
  std::size_t size = 2;
  const bool is_measured = all_children([&](const std::string& key, const YamlNode& value) {
    if (size > most) return false;
    size += 2 + (kind_ == Kind::kMap ? key.size() + 2 : 0) + value.flow_size(most - size);
    return true;
  });
  return empty() || !is_measured ? size : size - 2;
}

bool YamlNode::holds_scalars_only() const {
  return all_children(
      [](const auto&, const YamlNode& value) { return value.kind_ == Kind::kScalar; });
}

// Whether the value contains a list made by lines().
bool YamlNode::needs_lines() const {
  return lines_ ||
         !all_children([](const auto&, const YamlNode& value) { return !value.needs_lines(); });
}

// Writes a document as text, as the tree that is read from this text, or as both.
class YamlWriter {
 public:
  YamlWriter(std::string* text, DocumentBuilder* tree, bool dense)
      : text_(text), tree_(tree), dense_(dense) {}

  /// Returns the number of bytes.
  std::size_t write(const YamlNode& top, const std::vector<std::string_view>& sections) {
    write_block(top, 0, &sections);
    return bytes_;
  }

 private:
  using Kind = YamlNode::Kind;

  // The value that is written on filled lines. A part is what is not split between lines.
  struct Filled {
    std::vector<std::size_t> sizes;  // of the parts
    std::size_t next = 0;            // index of the next part
    bool inside = false;             // whether a part has begun
    std::size_t indent = 0;
  };

  void put(std::string_view written) {
    if (text_ != nullptr) *text_ += written;
    column_ += written.size();
    bytes_ += written.size();
  }
  void put_spaces(std::size_t count) {
    if (text_ != nullptr) text_->append(count, ' ');
    column_ += count;
    bytes_ += count;
  }
  void end_line() {
    put("\n");
    ++line_;
    column_ = 1;
  }

  void put_scalar(std::string_view written);
  void open(const YamlNode& value, std::size_t column) {
    if (tree_ == nullptr) return;
    const auto kind = value.kind_ == Kind::kList ? YamlValue::Kind::kList : YamlValue::Kind::kMap;
    tree_->open(kind, {line_, static_cast<std::uint32_t>(column)});
  }
  void close() {
    if (tree_ != nullptr) tree_->close();
  }

  void write_flow(const YamlNode& value);
  void write_entry(const YamlNode& value, std::size_t indent, bool of_list, bool block);
  void write_block(const YamlNode& value, std::size_t indent,
                   const std::vector<std::string_view>* sections = nullptr, bool begun = false);
  static void measure_parts(const YamlNode& value, std::size_t before, std::size_t behind,
                            std::vector<std::size_t>& sizes);
  void begin_part(Filled& filled);
  void write_parts(const YamlNode& value, std::string_view behind, Filled& filled);

  std::string* text_;
  DocumentBuilder* tree_;
  bool dense_;
  std::uint32_t line_ = 1;
  std::size_t column_ = 1;  // of the next byte
  std::size_t bytes_ = 0;
};

void YamlWriter::put_scalar(std::string_view written) {
  if (tree_ != nullptr) {
    const models::Place place{line_, static_cast<std::uint32_t>(column_)};
    const bool is_quoted = written.front() == '"';
    if (written == "~") {
      tree_->add(YamlValue::Kind::kNull, place);
    } else if (!is_quoted) {
      tree_->add_scalar(place, tree_->add_text(written), written.size(), false);
    } else if (written.find('\\') == std::string_view::npos) {
      const std::string_view text = written.substr(1, written.size() - 2);
      tree_->add_scalar(place, tree_->add_text(text), text.size(), true);
    } else {
      const std::string text = unquoted(written);
      tree_->add_scalar(place, tree_->add_text(text), text.size(), true);
    }
  }
  put(written);
}

void YamlWriter::write_flow(const YamlNode& value) {
  if (value.kind_ == Kind::kScalar) {
    put_scalar(value.text_);
    return;
  }
  const bool is_list = value.kind_ == Kind::kList;
  open(value, column_);
  put(is_list ? "[" : "{");
  bool first = true;
  value.all_children([&](const std::string& key, const YamlNode& child) {
    if (!first) put(", ");
    first = false;
    if (!is_list) {
      put_scalar(key);
      put(": ");
    }
    write_flow(child);
    return true;
  });
  put(is_list ? "]" : "}");
  close();
}

// Writes a value behind the start of its line: "key:" or, in a list, "-".
void YamlWriter::write_entry(const YamlNode& value, std::size_t indent, bool of_list, bool block) {
  const bool on_the_line = value.kind_ == Kind::kScalar || value.empty() ||
                           (!block && column_ + value.flow_size(kWidth) <= kWidth);
  if (on_the_line) {
    put(" ");
    write_flow(value);
    end_line();
  } else if ((value.kind_ == Kind::kList && !value.lines_ && value.holds_scalars_only()) ||
             (dense_ && !block && !value.needs_lines())) {
    Filled filled;
    filled.indent = indent + 2;
    measure_parts(value, 0, 0, filled.sizes);
    write_parts(value, "", filled);
    end_line();
  } else if (of_list) {
    // The first line of a nested block is on the line of the dash.
    put(" ");
    write_block(value, indent + 2, nullptr, true);
  } else {
    end_line();
    write_block(value, indent + 2);
  }
}

// `begun`: whether the first line has its indent. The values of keys in `sections` get their own
// lines.
void YamlWriter::write_block(const YamlNode& value, std::size_t indent,
                             const std::vector<std::string_view>* sections, bool begun) {
  const bool is_list = value.kind_ == Kind::kList;
  open(value, indent + 1);
  value.all_children([&](const std::string& key, const YamlNode& child) {
    if (!begun) put_spaces(indent);
    begun = false;
    if (!is_list) put_scalar(key);
    put(is_list ? "-" : ":");
    const bool is_section = sections != nullptr &&
                            std::find(sections->begin(), sections->end(), key) != sections->end();
    write_entry(child, indent, is_list, is_section);
    return true;
  });
  close();
}

// Splits a value into parts: a short value is one part, a long value is split into its items.
// `before` and `behind`: the number of bytes of the part before and behind the value.
void YamlWriter::measure_parts(const YamlNode& value, std::size_t before, std::size_t behind,
                               std::vector<std::size_t>& sizes) {
  const std::size_t size = value.flow_size(kMaxFilled);
  if (value.kind_ == Kind::kScalar || size <= kMaxFilled) {
    sizes.push_back(before + size + behind);
    return;
  }
  std::size_t left = value.size();
  ++before;
  value.all_children([&](const std::string& key, const YamlNode& child) {
    if (value.kind_ == Kind::kMap) before += key.size() + 2;
    measure_parts(child, before, --left > 0 ? 1 : 1 + behind, sizes);
    before = 0;
    return true;
  });
}

void YamlWriter::begin_part(Filled& filled) {
  if (std::exchange(filled.inside, true)) return;
  const std::size_t size = filled.sizes[filled.next++];
  if (filled.next > 1 && column_ + size > kWidth) {
    end_line();
    put_spaces(filled.indent);
  } else {
    put(" ");
  }
}

// Writes a long value of many short parts, several per line.
void YamlWriter::write_parts(const YamlNode& value, std::string_view behind, Filled& filled) {
  begin_part(filled);
  if (value.kind_ == Kind::kScalar || value.flow_size(kMaxFilled) <= kMaxFilled) {
    write_flow(value);
    put(behind);
    filled.inside = false;
    return;
  }
  const bool is_list = value.kind_ == Kind::kList;
  open(value, column_);
  put(is_list ? "[" : "{");
  const std::string end = std::string(1, is_list ? ']' : '}').append(behind);
  std::size_t left = value.size();
  value.all_children([&](const std::string& key, const YamlNode& child) {
    begin_part(filled);
    if (!is_list) {
      put_scalar(key);
      put(": ");
    }
    write_parts(child, --left > 0 ? std::string_view(",") : std::string_view(end), filled);
    return true;
  });
  close();
}

std::string YamlNode::document(const std::vector<std::string_view>& sections, bool dense) const {
  std::string out;
  YamlWriter(&out, nullptr, dense).write(*this, sections);
  return out;
}

std::optional<YamlDocument> YamlNode::tree(const std::vector<std::string_view>& sections) const {
  std::optional<YamlDocument> document(std::in_place);
  DocumentBuilder builder(*document, 0);
  try {
    const std::size_t bytes = YamlWriter(nullptr, &builder, false).write(*this, sections);
    if (bytes > kMaxScenarioBytes) document.reset();
  } catch (const DocumentBuilder::Stop&) {
    document.reset();
  }
  return document;
}

}  // namespace pipesim::formats
