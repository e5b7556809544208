// A hash of a state, to recognize it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/event.hpp"
#include "sim/plan.hpp"
#include "sim/state.hpp"

namespace pipesim::sim {

/// 128 bits. Two different states have the same key with a probability of 2^-128; among ten million
/// states the probability that any two do is below 10^-24.
struct StateKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend constexpr bool operator==(const StateKey&, const StateKey&) = default;
};

/// The key of all that can influence later events: not of times, nor of what follows from the rest,
/// nor of orders that nothing depends on.
StateKey state_key(const Plan& plan, const State& state, const std::vector<Event>& pending,
                   bool mismatched);

/// A set of keys, 16 bytes each.
class StateKeys {
 public:
  StateKeys() : slots_(1024) {}

  /// False if the key is already in the set.
  bool insert(const StateKey& key);
  std::size_t size() const { return size_; }

 private:
  std::vector<StateKey> slots_;  // a power of two; all zeros: empty
  std::size_t size_ = 0;
};

}  // namespace pipesim::sim
