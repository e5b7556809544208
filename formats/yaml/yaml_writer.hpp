// YAML as people write it: what is short stands on one line, what is long is broken, keys stand in
// the order in which they were added.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pipesim::formats {

/// A value to be written: a text, a list or a map.
class YamlNode {
 public:
  /// A name or another text, in quotes where YAML or our reader would see something else in it.
  static YamlNode text(std::string_view text);
  /// A number, an expression, on or off.
  static YamlNode value(std::string_view text);
  static YamlNode nothing();
  static YamlNode list();
  /// One whose items stand in lines of their own, unless all fit in one.
  static YamlNode lines();
  static YamlNode map();

  /// Adds to a list.
  void add(YamlNode item);
  /// Adds to a map. A key is a name.
  void add(std::string_view key, YamlNode value);

  bool empty() const { return children_.empty(); }
  std::size_t size() const { return children_.size(); }

  /// A document that is this map. The values of the keys in `sections` stand in lines of their own
  /// even if they are short. If it is `dense`, a map of short values that is too long for a line
  /// fills lines, too, instead of one for each key.
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
  std::string text_;                                        // of a scalar, as it is written
  std::vector<std::pair<std::string, YamlNode>> children_;  // with keys, as they are written
};

}  // namespace pipesim::formats
