// An index by name, fast for a million things.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace pipesim::formats {

/// Index of things by name. Names are stored elsewhere; several things can share a name. Needs 16
/// to 32 bytes per thing, less than a map with copies of the names, and rarely compares names that
/// differ.
class NameTable {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  /// Reserves memory for `count` things.
  void reserve(std::size_t count) {
    std::size_t slots = kMin;
    while (slots < 2 * count) slots *= 2;
    if (slots > slots_.size()) grow(slots);
  }

  /// Adds the thing with this number, which must not be kNone.
  void add(std::string_view name, std::uint32_t number) {
    reserve(++count_);
    put({hash(name), number});
  }

  /// Returns the first added number for which `fits(number)` holds, or kNone. `fits` must also
  /// compare the name.
  template <typename Fits>
  std::uint32_t find(std::string_view name, Fits fits) const {
    if (slots_.empty()) return kNone;
    const std::uint32_t wanted = hash(name);
    for (std::size_t at = wanted & mask(); slots_[at].number != kNone; at = (at + 1) & mask()) {
      if (slots_[at].hash == wanted && fits(slots_[at].number)) return slots_[at].number;
    }
    return kNone;
  }

 private:
  static constexpr std::size_t kMin = 16;

  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = kNone;  // kNone: free slot
  };

  static std::uint32_t hash(std::string_view name) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>()(name));
  }

  std::size_t mask() const { return slots_.size() - 1; }  // the number of slots is a power of two

  void put(Slot slot) {
    std::size_t at = slot.hash & mask();
    while (slots_[at].number != kNone) at = (at + 1) & mask();
    slots_[at] = slot;
  }

  // Names with the same hash are stored one after another, possibly wrapping around. Reinserting
  // from a free slot on keeps their order.
  void grow(std::size_t slots) {
    std::vector<Slot> before(slots);
    before.swap(slots_);
    std::size_t free = 0;
    while (free < before.size() && before[free].number != kNone) ++free;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const Slot& slot = before[(free + i) % before.size()];
      if (slot.number != kNone) put(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace pipesim::formats
