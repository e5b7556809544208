// Writes YAML as people do: short values on one line, long values on several lines, keys in the
// order of addition.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/document/yaml_document.hpp"

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
  /// Creates a list whose items are made when they are written, by `item(index)`: a list can have a
  /// million items. `item` can be called several times for an index.
  static YamlNode made(std::size_t size, std::function<YamlNode(std::size_t)> item);
  static YamlNode map();

  /// Adds an item to a list.
  void add(YamlNode item);
  /// Adds an entry to a map. The key is a name.
  void add(std::string_view key, YamlNode value);

  bool empty() const { return size() == 0; }
  std::size_t size() const { return made_ ? made_->size : children_.size(); }

  /// Writes this map as a document. The values of keys in `sections` always get their own lines. If
  /// `dense` is set, a long map of short values is written on filled lines, instead of one line per
  /// key.
  std::string document(const std::vector<std::string_view>& sections, bool dense = false) const;

  /// Returns what YamlDocument::parse() returns for document(sections), without writing the text.
  /// Returns nullopt if it exceeds a limit of documents.
  std::optional<YamlDocument> tree(const std::vector<std::string_view>& sections) const;

 private:
  friend class YamlWriter;

  enum class Kind : std::uint8_t { kScalar, kList, kMap };

  struct Made {
    std::size_t size = 0;
    std::function<YamlNode(std::size_t)> item;
  };

  template <typename Visit>
  bool all_children(Visit visit) const;
  std::size_t flow_size(std::size_t most) const;
  bool holds_scalars_only() const;
  bool needs_lines() const;

  Kind kind_ = Kind::kScalar;
  bool lines_ = false;
  std::string text_;                                        // text of a scalar, as written
  std::vector<std::pair<std::string, YamlNode>> children_;  // items with their keys, as written
  std::shared_ptr<const Made> made_;                        // the items of made() instead
};

}  // namespace pipesim::formats
