// The engine one event at a time, in any order: what explores interleavings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/event.hpp"
#include "sim/plan.hpp"
#include "sim/state.hpp"

namespace pipesim::sim {

/// A point of a run to return to.
struct Moment {
  State state;
  std::vector<Event> pending;
  std::uint64_t acts_done = 0;
  bool mismatched = false;
};

/// A run without times: any pending event may be next. Host threads do one thing per event: launch
/// an act, do a step of the host, or read a message; and the last to arrive at the creation of a
/// communicator goes on in an event of its own. So every timing of the plan is an interleaving of
/// these events (docs/explanation/check.md). Not for plans with faults, whose faults have times.
class Stepper {
 public:
  explicit Stepper(const Plan& plan);
  ~Stepper();
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;

  const State& state() const;
  /// What may happen next; empty if the run is over.
  const std::vector<Event>& pending() const { return pending_; }
  std::uint64_t acts_done() const;
  /// Whether there was a mismatch.
  bool mismatched() const;

  /// Lets event `i` of pending() happen.
  void step(std::size_t i);

  void save(Moment& moment) const;
  void restore(const Moment& moment);

 private:
  class Rules;
  std::unique_ptr<Rules> rules_;
  std::vector<Event> pending_;
};

}  // namespace pipesim::sim
