// The times of ops, to the extent that a run records them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/ids.hpp"
#include "sim/plan.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

/// The times at which an op was launched, started and ended, and at which its thread entered it;
/// kNever for an event that has not happened.
struct OpTimes {
  Time launch = kNever;
  Time start = kNever;
  Time end = kNever;
  Time enter = kNever;

  friend constexpr bool operator==(const OpTimes&, const OpTimes&) = default;
};

/// The times of a plan's ops: 32 bytes per op. Some actors keep only their last op.
class OpTimesTable {
 public:
  OpTimesTable() = default;

  /// Keeps the times of all ops of each actor; for actors in `last_only`, only of the last op.
  OpTimesTable(const Plan& plan, const std::vector<ActorId>& last_only)
      : rows_(plan.actors.size()) {
    for (const ActorId id : last_only) rows_[id].step = 0;
    std::uint64_t count = 0;
    for (const ActorId id : ids_of(plan.actors)) {
      rows_[id].first = count;
      count += rows_[id].step == 0 ? 1 : plan.actors[id].ops;
    }
    times_.resize(count);
  }

  bool empty() const { return times_.empty(); }

  /// Returns the times of op `k` (from 0), which must exist. If the actor keeps one op, returns the
  /// times of that op.
  const OpTimes& of(ActorId actor, std::uint64_t k) const { return times_[index(actor, k)]; }
  OpTimes& of(ActorId actor, std::uint64_t k) { return times_[index(actor, k)]; }

  /// Whether the actor keeps all its ops, one after another in the table.
  bool keeps_all(ActorId actor) const { return rows_[actor].step != 0; }

  /// Returns all times in the table, grouped by actor.
  const std::vector<OpTimes>& all() const { return times_; }

  friend bool operator==(const OpTimesTable& a, const OpTimesTable& b) {
    return a.times_ == b.times_;  // both tables have the same plan and `last_only`
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
  std::vector<OpTimes> times_;
};

}  // namespace pipesim::sim
