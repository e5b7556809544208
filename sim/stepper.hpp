// The engine one event at a time, in whatever order the caller wants: how orders are explored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/event.hpp"
#include "sim/plan.hpp"
#include "sim/state.hpp"

namespace pipesim::sim {

/// A point of a run, to come back to.
struct Moment {
  State state;
  std::vector<Event> pending;
  std::uint64_t acts_done = 0;
  bool mismatched = false;
};

/// A run without times: each pending event may be the next. Host threads do one thing per event:
/// launch an act, do a step of the host, or read a message; and the last to arrive at the creation
/// of a communicator goes on in an event of its own. So every timing of the plan is an order of
/// these events (docs/explanation/check.md). Plans with faults are not for it: theirs have times.
class Stepper {
 public:
  explicit Stepper(const Plan& plan);
  ~Stepper();
  Stepper(const Stepper&) = delete;
  Stepper& operator=(const Stepper&) = delete;

  const State& state() const;
  /// What may happen next; nothing where the run is over.
  const std::vector<Event>& pending() const { return pending_; }
  std::uint64_t acts_done() const;
  /// Whether acts have met that do not fit.
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
