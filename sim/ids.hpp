// Index types, one per kind of object so that they cannot be mixed up, vectors with such indices,
// and the check of tables with a row per enumerator.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

namespace pipesim::sim {

/// An index into the objects of one kind. Ids are dense, start at 0 and follow the order of the
/// file, so that sorting by id gives the same order everywhere.
template <typename Tag>
struct Id {
  std::uint32_t value = std::numeric_limits<std::uint32_t>::max();

  /// Whether the id names an object; the default id names none.
  constexpr bool valid() const { return value != std::numeric_limits<std::uint32_t>::max(); }

  friend constexpr auto operator<=>(Id, Id) = default;
};

using RankId = Id<struct RankTag>;
using ThreadId = Id<struct ThreadTag>;
using StreamId = Id<struct StreamTag>;
using ActorId = Id<struct ActorTag>;
using RegisterId = Id<struct RegisterTag>;
using EdgeId = Id<struct EdgeTag>;
using CollectiveId = Id<struct CollectiveTag>;
using CommunicatorId = Id<struct CommunicatorTag>;
using DeviceId = Id<struct DeviceTag>;
using CallId = Id<struct CallTag>;
using ChannelId = Id<struct ChannelTag>;
using ChainId = Id<struct ChainTag>;
using LineId = Id<struct LineTag>;
using SignalId = Id<struct SignalTag>;
using LockId = Id<struct LockTag>;
using LinkId = Id<struct LinkTag>;
using MeetingId = Id<struct MeetingTag>;

/// A vector that is indexed by ids of one kind.
template <typename IdType, typename T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t count, const T& value = T()) : items_(count, value) {}

  T& operator[](IdType id) { return items_[id.value]; }
  const T& operator[](IdType id) const { return items_[id.value]; }

  std::uint32_t size() const { return static_cast<std::uint32_t>(items_.size()); }
  bool empty() const { return items_.empty(); }
  void reserve(std::size_t count) { items_.reserve(count); }

  /// Appends `item` and returns its id.
  template <typename Item = T>
  IdType push_back(Item&& item) {
    items_.push_back(std::forward<Item>(item));
    return IdType{size() - 1};
  }

  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<T> items_;
};

/// All ids of a vector, in order: `for (ActorId id : ids_of(plan.actors))`.
template <typename IdType>
class IdRange {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = IdType;
    using difference_type = std::ptrdiff_t;
    using pointer = const IdType*;
    using reference = IdType;

    explicit Iterator(std::uint32_t value) : value_(value) {}
    IdType operator*() const { return IdType{value_}; }
    Iterator& operator++() {
      ++value_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return value_ == other.value_; }
    bool operator!=(const Iterator& other) const { return value_ != other.value_; }

   private:
    std::uint32_t value_;
  };

  IdRange(std::uint32_t first, std::uint32_t last) : first_(first), last_(last) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(last_); }
  std::uint32_t size() const { return last_ - first_; }
  bool empty() const { return first_ == last_; }

 private:
  std::uint32_t first_;
  std::uint32_t last_;
};

template <typename IdType, typename T>
IdRange<IdType> ids_of(const IdVector<IdType, T>& items) {
  return IdRange<IdType>(0, items.size());
}

/// Whether the rows of a table are in the order of their enumerators, without gaps. `kind` of a row
/// is its enumerator.
template <typename Rows>
constexpr bool has_row_per_kind(const Rows& rows) {
  std::size_t next = 0;
  for (const auto& row : rows) {
    if (static_cast<std::size_t>(row.kind) != next++) return false;
  }
  return true;
}

}  // namespace pipesim::sim
