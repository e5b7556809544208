// Writes YAML as people do: short values on one line, long values on several lines, keys in the
// order of addition.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pipesim::formats {

/// A value to write: a scalar, a list or a map.
class YamlNode {
 public:
  /// Creates a name or other text, quoted if YAML or the scenario reader would read it as something
  /// else.
  static YamlNode text(std::string_view text);
  /// Creates a number, an expression, on or off.
  static YamlNode value(std::string_view text);
  static YamlNode nothing();
  static YamlNode list();
  /// Creates a list with one line per item, unless the whole list fits on one line.
  static YamlNode lines();
  static YamlNode map();

  /// Adds an item to a list.
  void add(YamlNode item);
  /// Adds an entry to a map. The key is a name.
  void add(std::string_view key, YamlNode value);

  bool empty() const { return children_.empty(); }
  std::size_t size() const { return children_.size(); }

  /// Writes this map as a document. The values of keys in `sections` always get their own lines. If
  /// `dense` is set, a long map of short values is written on filled lines, instead of one line per
  /// key.
  std::string document(const std::vector<std::string_view>& sections, bool dense = false) const;

 private:
  enum class Kind : std::uint8_t { kScalar, kList, kMap };

  std::string flow() const;
  std::size_t flow_size(std::size_t most) const;
  bool holds_scalars_only() const;
  bool needs_lines() const;
  void add_parts(std::string before, std::string_view behind,
                 std::vector<std::string>& parts) const;
  void write_entry(std::string head, std::size_t indent, bool block, bool dense,
                   std::string& out) const;
  void write_block(std::size_t indent, bool dense, std::string& out) const;
  void write_filled(std::string head, std::size_t indent, std::string& out) const;

  Kind kind_ = Kind::kScalar;
  bool lines_ = false;
  std::string text_;                                        // text of a scalar, as written
  std::vector<std::pair<std::string, YamlNode>> children_;  // items with their keys, as written
};

}  // namespace pipesim::formats
