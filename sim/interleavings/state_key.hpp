// A number for a state, to know it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/event.hpp"
#include "sim/plan.hpp"
#include "sim/state.hpp"

namespace pipesim::sim {

/// 128 bits. Two states that differ have the same key with a chance of 2^-128: of ten million
/// states the chance that any two do is below 10^-24.
struct StateKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend constexpr bool operator==(const StateKey&, const StateKey&) = default;
};

/// The key of all that can matter to what happens later: not of times, nor of what follows from the
/// rest, nor of orders in which nobody will ever look.
StateKey state_key(const Plan& plan, const State& state, const std::vector<Event>& pending,
                   bool mismatched);

/// A set of keys, 16 bytes each, and room to grow.
class StateKeys {
 public:
  StateKeys() : slots_(1024) {}

  /// False if it is there already.
  bool insert(const StateKey& key);
  std::size_t size() const { return size_; }

 private:
  std::vector<StateKey> slots_;  // a power of two; all zeros: empty
  std::size_t size_ = 0;
};

}  // namespace pipesim::sim
