#include "formats/document/yaml_writer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

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

YamlNode YamlNode::map() {
  YamlNode node;
  node.kind_ = Kind::kMap;
  return node;
}

void YamlNode::add(YamlNode item) { children_.emplace_back(std::string(), std::move(item)); }

void YamlNode::add(std::string_view key, YamlNode value) {
  children_.emplace_back(written_key(key), std::move(value));
}

std::string YamlNode::flow() const {
  if (kind_ == Kind::kScalar) return text_;
  std::string result(1, kind_ == Kind::kList ? '[' : '{');
  for (const auto& [key, value] : children_) {
    if (result.size() > 1) result += ", ";
    if (kind_ == Kind::kMap) result += key + ": ";
    result += value.flow();
  }
  return result + (kind_ == Kind::kList ? ']' : '}');
}

// Returns the length of flow(), or any number above `most`: a long value is not measured to its
// end.
std::size_t YamlNode::flow_size(std::size_t most) const {
  if (kind_ == Kind::kScalar) return text_.size();
  std::size_t size = 2;
  for (const auto& [key, value] : children_) {
    if (size > most) return size;
    size += 2 + (kind_ == Kind::kMap ? key.size() + 2 : 0) +
            value.flow_size(most - std::min(size, most));
  }
  return children_.empty() ? size : size - 2;
}

bool YamlNode::holds_scalars_only() const {
  return std::all_of(children_.begin(), children_.end(),
                     [](const auto& child) { return child.second.kind_ == Kind::kScalar; });
}

// Whether the value contains a list made by lines().
bool YamlNode::needs_lines() const {
  return lines_ || std::any_of(children_.begin(), children_.end(),
                               [](const auto& child) { return child.second.needs_lines(); });
}

// Writes a value after `head`, the start of its line: "key:" or "-", with its indent.
void YamlNode::write_entry(std::string head, std::size_t indent, bool block, bool dense,
                           std::string& out) const {
  const bool on_the_line = kind_ == Kind::kScalar || children_.empty() ||
                           (!block && head.size() + 1 + flow_size(kWidth) <= kWidth);
  if (on_the_line) {
    out += head + ' ' + flow() + '\n';
  } else if ((kind_ == Kind::kList && !lines_ && holds_scalars_only()) ||
             (dense && !block && !needs_lines())) {
    write_filled(std::move(head), indent + 2, out);
  } else if (head.back() == '-') {
    // The first line of a nested block is on the line of the dash.
    std::string below;
    write_block(indent + 2, dense, below);
    out += head + ' ' + below.substr(indent + 2);
  } else {
    out += head + '\n';
    write_block(indent + 2, dense, out);
  }
}

void YamlNode::write_block(std::size_t indent, bool dense, std::string& out) const {
  const std::string space(indent, ' ');
  for (const auto& [key, value] : children_) {
    std::string head = space;
    head.append(kind_ == Kind::kMap ? key : "").append(kind_ == Kind::kMap ? ":" : "-");
    value.write_entry(std::move(head), indent, false, dense, out);
  }
}

// Splits a value into parts for filled lines: a short value is one part, a long value is split into
// its items.
void YamlNode::add_parts(std::string before, std::string_view behind,
                         std::vector<std::string>& parts) const {
  if (kind_ == Kind::kScalar || flow_size(kMaxFilled) <= kMaxFilled) {
    parts.push_back(before.append(flow()).append(behind));
    return;
  }
  const bool is_list = kind_ == Kind::kList;
  before += is_list ? '[' : '{';
  const std::string close = std::string(1, is_list ? ']' : '}').append(behind);
  for (std::size_t i = 0; i < children_.size(); ++i) {
    const auto& [key, value] = children_[i];
    if (!is_list) before.append(key).append(": ");
    value.add_parts(std::move(before), i + 1 < children_.size() ? "," : close, parts);
    before.clear();
  }
}

// Writes a long value of many short parts, several per line.
void YamlNode::write_filled(std::string head, std::size_t indent, std::string& out) const {
  std::vector<std::string> parts;
  add_parts("", "", parts);
  std::string line = std::move(head) + ' ';
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool first = i == 0 || line.back() == ' ';
    if (line.size() + 1 + parts[i].size() > kWidth && !first) {
      out += line + '\n';
      line = std::string(indent, ' ') + parts[i];
    } else {
      line += (first ? "" : " ") + parts[i];
    }
  }
  out += line + '\n';
}

std::string YamlNode::document(const std::vector<std::string_view>& sections, bool dense) const {
  std::string out;
  for (const auto& [key, value] : children_) {
    const bool section = std::find(sections.begin(), sections.end(), key) != sections.end();
    value.write_entry(key + ':', 0, section, dense, out);
  }
  return out;
}

}  // namespace pipesim::formats
