// Working times of devices, computed from the op times that a run kept.
#pragma once

#include <cstdint>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"

namespace pipesim::models {

/// The time from `begin_ns` up to `end_ns`, exclusive; empty if the ends are equal.
struct Interval {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  bool empty() const { return begin_ns >= end_ns; }
};

/// The working times of devices in one run; all arguments must outlive this object. A collective or
/// call does no work while waiting for peers, and a wait for an event does no work at all.
///
/// The times are exact for collective actors. A call works for its own `takes` before its end; a
/// group of calls works for the duration of its longest chain. These times are exact unless peers
/// state another time, a call of the group has to wait after the other calls, or durations vary.
class DeviceTimes {
 public:
  DeviceTimes(const TaskGraph& graph, const Lowered& lowered, const sim::Outcome& outcome)
      : graph_(graph), lowered_(lowered), plan_(lowered.plan), outcome_(outcome) {}

  /// Whether the actor runs ops or calls on a device stream.
  bool on_device(sim::ActorId id) const;

  /// Returns the working interval of op `k` of an actor on a device; empty if the op does no work.
  /// An op that has not ended works up to the last progress of the run; calls that have not ended
  /// do no work.
  Interval work(sim::ActorId id, std::uint32_t k) const;

 private:
  std::int64_t longest_calls(sim::ActorId id) const;
  Interval work_of_collective(const sim::Collective& all, std::uint32_t k, Interval own) const;

  const TaskGraph& graph_;
  const Lowered& lowered_;
  const sim::Plan& plan_;
  const sim::Outcome& outcome_;
};

}  // namespace pipesim::models
