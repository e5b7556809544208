// A value of null, truth, numbers, text, lists and maps, as JSON and pickles hold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pipesim::formats {

/// Values in one array, which refer to each other by index: they may be shared, and a pickle may
/// even hold a list that is in itself, so nothing here follows them.
class PlainTree {
 public:
  using Index = std::uint32_t;

  enum class Kind : std::uint8_t { kNull, kTruth, kInteger, kReal, kText, kList, kMap };

  Index add_null() { return add({Kind::kNull, 0, {}}); }
  Index add_truth(bool value) { return add({Kind::kTruth, 0, {value ? 1 : 0}}); }
  Index add_integer(std::int64_t value) { return add({Kind::kInteger, 0, {value}}); }
  Index add_real(double value) {
    const Index result = add({Kind::kReal, 0, {}});
    nodes_[result].number.real = value;
    return result;
  }
  Index add_text(std::string value) {
    texts_.push_back(std::move(value));
    return add({Kind::kText, static_cast<Index>(texts_.size() - 1), {}});
  }
  /// A map's items are keys and values in turn.
  Index add_items(Kind kind) { return add({kind, kNoItems, {}}); }

  std::size_t size() const { return nodes_.size(); }
  Kind kind(Index at) const { return nodes_[at].kind; }
  bool truth(Index at) const { return nodes_[at].number.integer != 0; }
  std::int64_t integer(Index at) const { return nodes_[at].number.integer; }
  double real(Index at) const { return nodes_[at].number.real; }
  const std::string& text(Index at) const { return texts_[nodes_[at].place]; }
  const std::vector<Index>& items(Index at) const {
    static const std::vector<Index> kNone;
    return nodes_[at].place == kNoItems ? kNone : items_[nodes_[at].place];
  }
  std::vector<Index>& items(Index at) {
    if (nodes_[at].place == kNoItems) {
      nodes_[at].place = static_cast<Index>(items_.size());
      items_.emplace_back();
    }
    return items_[nodes_[at].place];
  }

  /// The value of a key of a map; of a key that is there twice the last.
  std::optional<Index> find(Index map, std::string_view key) const {
    if (kind(map) != Kind::kMap) return std::nullopt;
    const std::vector<Index>& all = items(map);
    for (std::size_t i = all.size(); i >= 2; i -= 2) {
      const bool is_it = kind(all[i - 2]) == Kind::kText && text(all[i - 2]) == key;
      if (is_it) return all[i - 1];
    }
    return std::nullopt;
  }

 private:
  static constexpr Index kNoItems = 0xffffffff;

  struct Node {
    Kind kind;
    Index place;  // in texts_ or items_; kNoItems: not there yet
    union {
      std::int64_t integer = 0;
      double real;
    } number;
  };
  Index add(Node node) {
    nodes_.push_back(node);
    return static_cast<Index>(nodes_.size() - 1);
  }

  // They grow without being copied: files are of many small values.
  std::deque<Node> nodes_;
  std::deque<std::string> texts_;
  std::deque<std::vector<Index>> items_;
};

/// More values than any dump has: a file with more is refused.
inline constexpr std::size_t kMaxPlainValues = 20'000'000;

}  // namespace pipesim::formats
