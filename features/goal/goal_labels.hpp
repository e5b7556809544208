// The labels of a GOAL file during reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pipesim::formats {

/// Maps the labels of the current rank to ops. All ranks share one hash table (open addressing,
/// linear probing): slots of an earlier rank count as empty. The table stores positions in the text
/// instead of strings.
class GoalLabels {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  explicit GoalLabels(std::string_view text) : text_(text), slots_(1024) {}

  void clear() {
    ++generation_;
    used_ = 0;
  }

  /// Returns the op with this label, or kNone.
  std::uint32_t find(std::string_view label) const {
    const Slot& slot = slots_[slot_of(label)];
    return slot.generation == generation_ ? slot.op : kNone;
  }

  /// Adds a label. Returns false if the label exists.
  bool add(std::string_view label, std::uint32_t op) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[slot_of(label)];
    if (slot.generation == generation_) return false;
    slot = {generation_, hash(label), static_cast<std::uint32_t>(label.data() - text_.data()),
            static_cast<std::uint32_t>(label.size()), op};
    ++used_;
    return true;
  }

 private:
  struct Slot {
    std::uint32_t generation = 0;
    std::uint32_t hash = 0;
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
    std::uint32_t op = kNone;
  };

  // Computes FNV-1a and mixes in its upper half, because labels differ in their last digits.
  static std::uint32_t hash(std::string_view label) {
    std::uint32_t value = 2166136261;
    for (const char c : label) value = (value ^ static_cast<unsigned char>(c)) * 16777619;
    return value ^ value >> 15;
  }

  // Returns the slot of the label, or an empty slot, which has another generation.
  std::size_t slot_of(std::string_view label) const {
    const std::uint32_t wanted = hash(label);
    std::size_t at = wanted & (slots_.size() - 1);
    while (slots_[at].generation == generation_) {
      const Slot& slot = slots_[at];
      if (slot.hash == wanted && text_.substr(slot.offset, slot.size) == label) break;
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  void grow() {
    std::vector<Slot> before(2 * slots_.size());
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.generation != generation_) continue;
      slots_[slot_of(text_.substr(slot.offset, slot.size))] = slot;
    }
  }

  std::string_view text_;
  std::vector<Slot> slots_;  // the size is a power of two
  std::uint32_t generation_ = 1;
  std::size_t used_ = 0;
};

}  // namespace pipesim::formats
