// When acts happened, as far as a run was asked to record it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/ids.hpp"
#include "sim/plan.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

/// When an act was launched, started and ended, and when its thread entered it; kNever for what has
/// not happened.
struct ActTimes {
  Time launch = kNever;
  Time start = kNever;
  Time end = kNever;
  Time enter = kNever;

  friend constexpr bool operator==(const ActTimes&, const ActTimes&) = default;
};

/// The times of the acts of a plan: 32 bytes per act, but for actors of which just the last is
/// kept.
class ActTimesTable {
 public:
  /// Keeps nothing.
  ActTimesTable() = default;

  /// Of each actor all acts, or of those in `last_only` one: the last that came.
  ActTimesTable(const Plan& plan, const std::vector<ActorId>& last_only)
      : rows_(plan.actors.size()) {
    for (const ActorId id : last_only) rows_[id].step = 0;
    std::uint64_t count = 0;
    for (const ActorId id : ids_of(plan.actors)) {
      rows_[id].first = count;
      count += rows_[id].step == 0 ? 1 : plan.actors[id].acts;
    }
    times_.resize(count);
  }

  bool empty() const { return times_.empty(); }

  /// Of act `k` (from 0), which there is; of an actor of which one is kept, that one.
  const ActTimes& of(ActorId actor, std::uint64_t k) const { return times_[index(actor, k)]; }
  ActTimes& of(ActorId actor, std::uint64_t k) { return times_[index(actor, k)]; }

  /// Whether all acts of an actor are kept, one behind the other.
  bool keeps_all(ActorId actor) const { return rows_[actor].step != 0; }

  /// What is kept, actor by actor.
  const std::vector<ActTimes>& all() const { return times_; }

  friend bool operator==(const ActTimesTable& a, const ActTimesTable& b) {
    return a.times_ == b.times_;  // of one plan and one choice of actors
  }

 private:
  struct Row {
    std::uint64_t first = 0;
    std::uint64_t step = 1;
  };

  std::size_t index(ActorId actor, std::uint64_t k) const {
    const Row& row = rows_[actor];
    return row.first + k * row.step;
  }

  IdVector<ActorId, Row> rows_;
  std::vector<ActTimes> times_;
};

}  // namespace pipesim::sim
