// When devices work, from the times of the acts of a run that kept them.
#pragma once

#include <cstdint>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"

namespace pipesim::models {

/// From `begin_ns` up to `end_ns`; empty where these are equal.
struct Interval {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  bool empty() const { return begin_ns >= end_ns; }
};

/// Looks at one run. All must outlive it. A collective or a call that waits for its peers does not
/// work, nor does a wait for an event.
///
/// Of a collective actor that is exact. What a call works is its own `takes` before its end (of a
/// group, the longest of the calls that hold each other back), which is exact unless its peers say
/// another time, a call of the group has to wait after the others, or durations vary.
class DeviceTimes {
 public:
  DeviceTimes(const TaskGraph& graph, const Lowered& lowered, const sim::Outcome& outcome)
      : graph_(graph), lowered_(lowered), plan_(lowered.plan), outcome_(outcome) {}

  /// True for ops and calls on a stream of a device.
  bool on_device(sim::ActorId id) const;

  /// When act `k` of an actor on a device works, if it does. One that has not ended works up to the
  /// last progress of the run.
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
