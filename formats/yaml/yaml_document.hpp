// A YAML document as a flat array of nodes with their places.
//
// Built from yaml-cpp's events instead of its node graph: a tenth of the memory, the style of each
// scalar (a quoted "4" is not a number), and repeated keys, which the node graph hides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

class YamlDocument;

/// One value of a document, which must outlive it.
class YamlValue {
 public:
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap, kAlias };

  YamlValue() = default;
  YamlValue(const YamlDocument* document, std::uint32_t index)
      : document_(document), index_(index) {}

  Kind kind() const;
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_scalar() const { return kind() == Kind::kScalar; }
  bool is_list() const { return kind() == Kind::kList; }
  bool is_map() const { return kind() == Kind::kMap; }

  models::Place place() const;

  /// The text of a scalar; of anything else empty.
  std::string_view text() const;

  /// True if a scalar was written in quotes.
  bool quoted() const;

  /// The items of a list, and keys and values of a map in turn; of anything else none.
  std::vector<YamlValue> items() const;

  struct Entry;
  /// The entries of a map, in the order of the file; of anything else none.
  std::vector<Entry> entries() const;

  /// "a list", "a map", "nothing" or the scalar in quotes, for messages.
  std::string described() const;

 private:
  friend class YamlDocument;

  const YamlDocument* document_ = nullptr;
  std::uint32_t index_ = 0;
};

struct YamlValue::Entry {
  YamlValue key;
  YamlValue value;
};

class YamlDocument {
 public:
  /// The one document of `text`. Nothing where it is no YAML, nests deeper than 100, or holds none
  /// or several documents; `diagnostics` says why.
  static std::optional<YamlDocument> parse(const std::string& text,
                                           models::Diagnostics& diagnostics);

  YamlValue root() const { return {this, root_}; }

  /// Adds the one document of another text and returns it; the root stays. Its places are in
  /// `file`, at most kMaxFiles. Nothing as for parse().
  std::optional<YamlValue> add(const std::string& text, std::uint32_t file,
                               models::Diagnostics& diagnostics);
  static constexpr std::uint32_t kMaxFiles = 255;

  /// New values of this document, made of those that are there, which keep their places.
  YamlValue make_scalar(models::Place place, std::string_view text);
  YamlValue make_list(models::Place place, const std::vector<YamlValue>& items);
  YamlValue make_map(models::Place place, const std::vector<YamlValue::Entry>& entries);
  void set_root(const YamlValue& root) { root_ = root.index_; }

 private:
  friend class YamlValue;
  friend class DocumentBuilder;

  struct Node {
    YamlValue::Kind kind = YamlValue::Kind::kNull;
    bool quoted = false;
    std::uint8_t file = 0;  // with line and column its place
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::uint32_t first = 0;  // scalar: in text_; list and map: the first child; alias: its target
    std::uint32_t size = 0;   // scalar: length; list and map: children (of a map keys and values)
    std::uint32_t next = 0;   // the next child of the same parent
  };

  // Of what is known not to be JSON.
  std::optional<YamlValue> add_yaml(const std::string& text, std::uint32_t file,
                                    models::Diagnostics& diagnostics);

  const Node& resolved(std::uint32_t index) const {
    const Node& node = nodes_[index];
    return node.kind == YamlValue::Kind::kAlias ? nodes_[node.first] : node;
  }

  std::uint32_t add_node(YamlValue::Kind kind, models::Place place);
  YamlValue make_parent(YamlValue::Kind kind, models::Place place,
                        const std::vector<YamlValue>& children);

  std::uint32_t root_ = 0;
  std::deque<Node> nodes_;  // a vector would need twice the memory while it grows
  std::string text_;
};

/// Longer names are refused.
inline constexpr std::size_t kMaxName = 4096;

/// Reports a name that is too long, or has control characters: names go to terminals as they are.
/// It stands at `value`.
bool check_name(std::string_view name, const YamlValue& value, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
