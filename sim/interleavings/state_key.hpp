// A 128-bit hash that identifies a state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/event.hpp"
#include "sim/plan.hpp"
#include "sim/state.hpp"

namespace pipesim::sim {

/// A hash of a state. Two different states collide with a probability of 2^-128; among ten million
/// states, the probability of any collision is below 10^-24.
struct StateKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend constexpr bool operator==(const StateKey&, const StateKey&) = default;
};

/// Returns the key of all facts that can influence later events. The key ignores times, derived
/// facts, and orders that do not matter.
StateKey state_key(const Plan& plan, const State& state, const std::vector<Event>& pending,
                   bool mismatched);

/// A set of keys, 16 bytes each.
class StateKeys {
 public:
  StateKeys() : slots_(1024) {}

  /// Adds a key. Returns false if the set already contains it.
  bool insert(const StateKey& key);
  std::size_t size() const { return size_; }

 private:
  std::vector<StateKey> slots_;  // size is a power of two; an all-zero key is an empty slot
  std::size_t size_ = 0;
};

}  // namespace pipesim::sim
