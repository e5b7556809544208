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

  /// Calls `visit(item)` for each of items(), of which there may be millions.
  template <typename Visit>
  void for_each_item(Visit visit) const;

  /// How many those are.
  std::size_t size() const;

  struct Entry;
  /// The entries of a map, in the order of the file; of anything else none.
  std::vector<Entry> entries() const;

  /// Calls `visit(entry)` for each of entries().
  template <typename Visit>
  void for_each_entry(Visit visit) const;

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
  /// or several documents; `diagnostics` says why. The text must outlive it.
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

  // Children follow their parent, each with all that is in it.
  struct Node {
    models::SmallPlace place;  // marked: a scalar in quotes
    std::uint32_t link =
        0;  // scalar: where its text is; list and map: behind its last child; alias: of what
    std::uint32_t kind : 3;
    std::uint32_t size : 29;  // scalar: length; list and map: children (of a map keys and values)
  };

  // Of what is known not to be JSON.
  std::optional<YamlValue> add_yaml(const std::string& text, std::uint32_t file,
                                    models::Diagnostics& diagnostics);

  static constexpr std::uint32_t kMaxSize = (1U << 29U) - 1;

  YamlValue::Kind kind(std::uint32_t index) const {
    return static_cast<YamlValue::Kind>(nodes_[index].kind);
  }
  // What it is or, of an alias, what that stands for.
  std::uint32_t resolved(std::uint32_t index) const {
    return kind(index) == YamlValue::Kind::kAlias ? nodes_[index].link : index;
  }
  bool has_children(std::uint32_t index) const {
    return kind(index) == YamlValue::Kind::kList || kind(index) == YamlValue::Kind::kMap;
  }
  std::uint32_t behind(std::uint32_t index) const {
    return has_children(index) ? nodes_[index].link : index + 1;
  }

  std::uint32_t add_node(YamlValue::Kind kind, models::Place place);
  YamlValue make_parent(YamlValue::Kind kind, models::Place place,
                        const std::vector<YamlValue>& children);

  std::uint32_t root_ = 0;
  std::deque<Node> nodes_;  // a vector would need twice the memory while it grows
  // What scalars are parts of: of JSON the text that was parsed, and behind it what is kept here.
  std::string_view source_;
  std::string text_;
};

template <typename Visit>
void YamlValue::for_each_item(Visit visit) const {
  const std::uint32_t parent = document_->resolved(index_);
  if (!document_->has_children(parent)) return;
  const std::uint32_t count = document_->nodes_[parent].size;
  std::uint32_t child = parent + 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    visit(YamlValue(document_, child));
    child = document_->behind(child);
  }
}

template <typename Visit>
void YamlValue::for_each_entry(Visit visit) const {
  if (!is_map()) return;
  std::optional<YamlValue> key;
  for_each_item([&](const YamlValue& item) {
    if (key) visit(Entry{*key, item});
    key = key ? std::nullopt : std::optional(item);
  });
}

/// Longer names are refused.
inline constexpr std::size_t kMaxName = 4096;

/// Reports a name that is too long, or has control characters: names go to terminals as they are.
/// It stands at `value`.
bool check_name(std::string_view name, const YamlValue& value, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
