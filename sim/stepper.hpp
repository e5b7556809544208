// The engine one event at a time, in any order, for the exploration of interleavings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/event.hpp"
#include "sim/plan.hpp"
#include "sim/state.hpp"

namespace pipesim::sim {

/// A saved point of a run, for Stepper::restore().
struct Moment {
  State state;
  std::vector<Event> pending;
  std::uint64_t ops_done = 0;
  bool mismatched = false;
};

/// A run without times: any pending event can be next. Host threads do one thing per event: launch
/// an op, do a host step, or read a message. The last rank to arrive at a communicator init
/// continues in a separate event. So every timing of the plan is an interleaving of these events
/// (docs/explanation/check.md). Plans with faults cannot run here, because faults have times.
class Stepper {
 public:
  explicit Stepper(const Plan& plan);
  ~Stepper();
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;

  const State& state() const;
  /// Returns the events that can happen next; an empty list if the run is over.
  const std::vector<Event>& pending() const { return pending_; }
  std::uint64_t ops_done() const;
  bool mismatched() const;

  /// Executes event `i` of pending().
  void step(std::size_t i);

  void save(Moment& moment) const;
  void restore(const Moment& moment);

 private:
  class Rules;
  std::unique_ptr<Rules> rules_;
  std::vector<Event> pending_;
};

}  // namespace pipesim::sim
