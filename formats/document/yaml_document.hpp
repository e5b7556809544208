// A document as a flat array of nodes with their places. All text formats of maps and lists are
// read as such a document: YAML, JSON and pickles.
//
// YAML documents are built from yaml-cpp's events instead of its node graph, and need a tenth of
// the memory. Unlike the node graph, a document keeps the style of each scalar (a quoted "4" is not
// a number), and repeated keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/whole_number.hpp"

namespace pipesim::formats {

class YamlDocument;

/// A value of a document, which must outlive the value.
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

  /// Returns the text of a scalar; empty for other kinds.
  std::string_view text() const;

  /// Whether the scalar was written in quotes.
  bool quoted() const;
  bool is_text() const { return is_scalar() && quoted(); }

  /// Returns the integer that is written without quotes; nullopt for other values, and if the
  /// integer does not fit.
  template <typename Integer>
  std::optional<Integer> integer() const {
    if (!is_scalar() || quoted()) return std::nullopt;
    return models::whole_number<Integer>(text());
  }

  /// Returns the value of `true` or `false`; nullopt for other values.
  std::optional<bool> truth() const {
    const bool is_true = text() == "true";
    if (quoted() || (!is_true && text() != "false")) return std::nullopt;
    return is_true;
  }

  /// Returns the value of a key of a map, the last one if the key is repeated. Returns nullopt if
  /// there is none, or for other kinds.
  std::optional<YamlValue> find(std::string_view key) const;

  /// Returns the items of a list, or the keys and values of a map in turn; empty for other kinds.
  std::vector<YamlValue> items() const;

  /// Calls `visit(item)` for each of items(), without a vector: a list can have millions of items.
  template <typename Visit>
  void for_each_item(Visit visit) const;

  /// Returns the number of items().
  std::size_t size() const;

  struct Entry;
  /// Returns the entries of a map, in file order; empty for other kinds.
  std::vector<Entry> entries() const;

  /// Calls `visit(entry)` for each of entries().
  template <typename Visit>
  void for_each_entry(Visit visit) const;

  /// Returns the number of the value in its document; aliases have the number of their target.
  std::uint32_t number() const;

  /// Returns "a list", "a map", "nothing" or the scalar in quotes, for messages.
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
  /// Parses `text` as a single document. Returns nullopt if `text` is not YAML, nests deeper than
  /// 100 levels, or does not contain exactly one document; `diagnostics` gets the reason. `text`
  /// must outlive the document.
  static std::optional<YamlDocument> parse(const std::string& text,
                                           models::Diagnostics& diagnostics);

  YamlValue root() const { return {this, root_}; }

  /// Returns a number above YamlValue::number() of all values.
  std::size_t size() const { return nodes_.size(); }

  /// Parses another text as a single document, adds it and returns its root; root() does not
  /// change. The places in the added document have file number `file`, at most kMaxFiles. Returns
  /// nullopt in the same cases as parse().
  std::optional<YamlValue> add(const std::string& text, std::uint32_t file,
                               models::Diagnostics& diagnostics);
  static constexpr std::uint32_t kMaxFiles = 255;

  /// Create a value of this document at `place`. Its items or entries are existing values, which
  /// keep their places.
  YamlValue make_scalar(models::Place place, std::string_view text);
  YamlValue make_list(models::Place place, const std::vector<YamlValue>& items);
  YamlValue make_map(models::Place place, const std::vector<YamlValue::Entry>& entries);
  void set_root(const YamlValue& root) { root_ = root.index_; }

  /// Removes all values. Values added later reuse their memory.
  void clear() {
    nodes_.clear();
    text_.clear();
    source_ = {};
    root_ = 0;
    has_aliases_ = false;
    released_ = released_end_ = 0;
  }

  /// Releases an entry that will not be read again. Its memory is freed once adjacent entries are
  /// also released. The text of scalars is kept; a document with aliases keeps everything.
  void release(const YamlValue::Entry& entry);

 private:
  friend class YamlValue;
  friend class DocumentBuilder;

  // Node of the tree, in preorder: each node is followed by its children with their descendants.
  struct Node {
    models::SmallPlace place;  // marked: a scalar in quotes
    // Scalar: offset of the text. List and map: index after the last descendant. Alias: target.
    std::uint32_t link = 0;
    std::uint32_t kind : 3;
    std::uint32_t size : 29;  // scalar: length; list: items; map: keys plus values
  };

  // The nodes, in blocks that never move: a vector would need twice the memory while it grows.
  class Nodes {
   public:
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    Node& operator[](std::size_t i) { return blocks_[i / kBlock][i % kBlock]; }
    const Node& operator[](std::size_t i) const { return blocks_[i / kBlock][i % kBlock]; }

    void push_back(const Node& node) {
      const std::size_t block = size_ / kBlock;
      if (block == blocks_.size()) blocks_.emplace_back().reserve(kBlock);
      blocks_[block].push_back(node);
      ++size_;
    }
    // Removes all nodes, and keeps the first block for the next ones.
    void clear() {
      size_ = 0;
      if (blocks_.size() > 1) blocks_.resize(1);
      if (!blocks_.empty()) blocks_.front().clear();
    }
    // Frees the blocks that contain only nodes of [first, end). Nodes before `released` are already
    // released.
    void release(std::size_t first, std::size_t released, std::size_t end) {
      std::size_t block = std::max((first + kBlock - 1) / kBlock, released / kBlock);
      for (; block < end / kBlock; ++block) std::vector<Node>().swap(blocks_[block]);
    }
    void shrink(std::size_t size) {
      size_ = size;
      blocks_.resize((size + kBlock - 1) / kBlock);
      if (size % kBlock != 0) blocks_.back().resize(size % kBlock);
    }

   private:
    static constexpr std::size_t kBlock = 1024;

    std::vector<std::vector<Node>> blocks_;
    std::size_t size_ = 0;
  };

  // Adds text that is known not to be JSON.
  std::optional<YamlValue> add_yaml(const std::string& text, std::uint32_t file,
                                    models::Diagnostics& diagnostics);

  static constexpr std::uint32_t kMaxSize = (1U << 29U) - 1;

  YamlValue::Kind kind(std::uint32_t index) const {
    return static_cast<YamlValue::Kind>(nodes_[index].kind);
  }
  // Returns the index of a node, or of the target of an alias.
  std::uint32_t resolved(std::uint32_t index) const {
    return kind(index) == YamlValue::Kind::kAlias ? nodes_[index].link : index;
  }
  bool has_children(std::uint32_t index) const {
    return kind(index) == YamlValue::Kind::kList || kind(index) == YamlValue::Kind::kMap;
  }
  std::uint32_t behind(std::uint32_t index) const {
    return has_children(index) ? nodes_[index].link : index + 1;
  }

  std::uint32_t add_node(YamlValue::Kind kind, models::Place place) {
    const auto index = static_cast<std::uint32_t>(nodes_.size());
    const unsigned number = static_cast<std::uint8_t>(kind);
    nodes_.push_back({models::SmallPlace(place), index + 1, number & 7U, 0});
    return index;
  }
  // Adds a scalar. Its text is the `size` bytes at offset `first`. The place is marked if the
  // scalar is in quotes.
  std::uint32_t add_scalar(models::SmallPlace place, std::size_t first, std::size_t size) {
    constexpr unsigned kScalar = static_cast<std::uint8_t>(YamlValue::Kind::kScalar);
    const auto index = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({place, static_cast<std::uint32_t>(first), kScalar,
                      static_cast<std::uint32_t>(size) & kMaxSize});
    return index;
  }
  YamlValue make_parent(YamlValue::Kind kind, models::Place place,
                        const std::vector<YamlValue>& children);

  std::uint32_t root_ = 0;
  Nodes nodes_;
  bool has_aliases_ = false;
  std::uint32_t released_ = 0;      // the last contiguous range of released nodes:
  std::uint32_t released_end_ = 0;  // [released_, released_end_)
  // The text of scalars. Offsets below the size of source_ refer to the parsed JSON text, all other
  // offsets to text_.
  std::string_view source_;
  std::string text_;
};

inline YamlValue::Kind YamlValue::kind() const {
  return document_->kind(document_->resolved(index_));
}

inline std::uint32_t YamlValue::number() const { return document_->resolved(index_); }

inline models::Place YamlValue::place() const { return document_->nodes_[index_].place.place(); }

inline bool YamlValue::quoted() const {
  return document_->nodes_[document_->resolved(index_)].place.mark();
}

inline std::string_view YamlValue::text() const {
  const YamlDocument::Node& node = document_->nodes_[document_->resolved(index_)];
  if (static_cast<Kind>(node.kind) != Kind::kScalar) return {};
  const std::string_view source = document_->source_;
  if (node.link < source.size()) return {source.data() + node.link, node.size};
  return {document_->text_.data() + (node.link - source.size()), node.size};
}

inline std::size_t YamlValue::size() const {
  const std::uint32_t index = document_->resolved(index_);
  return document_->has_children(index) ? document_->nodes_[index].size : 0;
}

template <typename Visit>
void YamlValue::for_each_item(Visit visit) const {
  const std::uint32_t parent = document_->resolved(index_);
  if (!document_->has_children(parent)) return;
  const std::uint32_t count = document_->nodes_[parent].size;
  std::uint32_t child = parent + 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t next = document_->behind(child);  // the visitor can release the child
    visit(YamlValue(document_, child));
    child = next;
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

/// Limit on the length of a name, in bytes.
inline constexpr std::size_t kMaxName = 4096;

/// Returns false, and reports an error at `value`, if `name` is too long or has control characters:
/// names are printed unchanged on terminals.
bool check_name(std::string_view name, const YamlValue& value, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
