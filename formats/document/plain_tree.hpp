// Plain values: null, truths, numbers, texts, lists and maps, as in JSON and pickles.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>

namespace pipesim::formats {

/// Values in one array, which refer to each other by index. Values can be shared, and a list in a
/// pickle can contain itself, so no function here follows references. Each value takes 16 bytes,
/// plus 4 in its list or map, because files can have many small values.
class PlainTree {
 public:
  using Index = std::uint32_t;

  enum class Kind : std::uint8_t { kNull, kTruth, kInteger, kReal, kText, kList, kMap };

  Index add_null() { return add({.kind = Kind::kNull, .of = {.integer = 0}}); }
  Index add_truth(bool value) { return add({.kind = Kind::kTruth, .of = {.integer = value}}); }
  Index add_integer(std::int64_t value) {
    return add({.kind = Kind::kInteger, .of = {.integer = value}});
  }
  Index add_real(double value) { return add({.kind = Kind::kReal, .of = {.real = value}}); }
  Index add_text(std::string_view value) {
    char* const copy = space<char>(value.size());
    std::copy(value.begin(), value.end(), copy);
    return add({.kind = Kind::kText,
                .size = static_cast<std::uint32_t>(value.size()),
                .of = {.text = copy}});
  }
  Index add_items(Kind kind) { return add({.kind = kind, .of = {.items = nullptr}}); }
  /// Appends items to a list or map. The items of a map are keys and values in turn.
  void append(Index at, std::span<const Index> more) {
    Node& node = nodes_[at];
    const std::size_t size = node.size + more.size();
    if (node.exact || size > std::bit_ceil(node.size)) {
      // Most lists are built in one call and get the exact size; other lists grow by doubling.
      const bool first = node.size == 0;
      Index* const larger = space<Index>(first ? size : std::bit_ceil(size));
      std::copy_n(node.of.items, node.size, larger);
      node.of.items = larger;
      node.exact = first;
    }
    std::copy(more.begin(), more.end(), node.of.items + node.size);
    node.size = static_cast<std::uint32_t>(size);
  }

  std::size_t size() const { return nodes_.size(); }
  Kind kind(Index at) const { return nodes_[at].kind; }
  bool truth(Index at) const { return nodes_[at].of.integer != 0; }
  std::int64_t integer(Index at) const { return nodes_[at].of.integer; }
  double real(Index at) const { return nodes_[at].of.real; }
  std::string_view text(Index at) const { return {nodes_[at].of.text, nodes_[at].size}; }
  std::span<const Index> items(Index at) const { return {nodes_[at].of.items, nodes_[at].size}; }

  /// Returns the value of a key of a map; the last value if the key is repeated.
  std::optional<Index> find(Index map, std::string_view key) const {
    if (kind(map) != Kind::kMap) return std::nullopt;
    const std::span<const Index> all = items(map);
    for (std::size_t i = all.size(); i >= 2; i -= 2) {
      const bool is_it = kind(all[i - 2]) == Kind::kText && text(all[i - 2]) == key;
      if (is_it) return all[i - 1];
    }
    return std::nullopt;
  }

 private:
  struct Node {
    Kind kind = Kind::kNull;
    // Whether a list or map has no spare capacity; else its capacity is the next power of two.
    bool exact = true;
    std::uint32_t size = 0;  // number of characters or items
    union {
      std::int64_t integer = 0;
      double real;
      const char* text;
      Index* items;
    } of;
  };
  static_assert(sizeof(Node) == 16);

  Index add(const Node& node) {
    nodes_.push_back(node);
    return static_cast<Index>(nodes_.size() - 1);
  }
  template <typename T>
  T* space(std::size_t count) {
    return static_cast<T*>(
        memory_->allocate(std::max<std::size_t>(count, 1) * sizeof(T), alignof(T)));
  }

  std::deque<Node> nodes_;  // grows without copying its elements
  // Memory of texts and items, which does not move with the tree.
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_ =
      std::make_unique<std::pmr::monotonic_buffer_resource>();
};

/// Limit on the number of values, far above the number in any dump.
inline constexpr std::size_t kMaxPlainValues = 20'000'000;

}  // namespace pipesim::formats
