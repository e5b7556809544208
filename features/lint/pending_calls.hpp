// Calls of a rank's program that may be unfinished, for rules that walk the program of each rank.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"

namespace pipesim::models {

/// A call that may be unfinished, with the streams and events that come after its end.
struct PendingCall {
  std::uint32_t actor = kNoIndex;
  std::set<std::uint32_t> streams{};
  std::set<std::uint32_t> events{};

  /// Adds the event that the step `actor` records after this call, or the stream that it makes wait
  /// for this call.
  void follow(const ActorTemplate& actor);

  /// Whether the host returns from `step` only after this call: `step` synchronizes all streams, or
  /// waits for a stream or event that comes after this call.
  bool is_awaited(const StepTemplate& step) const;
};

/// The last call of each communicator or group. Calls of one communicator end in order.
using PendingCalls = std::map<std::uint32_t, PendingCall>;

inline void follow(const ActorTemplate& actor, PendingCalls& pending) {
  for (auto& [where, call] : pending) call.follow(actor);
}

/// Calls `do_step` for each step of the program of `rank`, in order and each block once.
template <typename DoStep>
void walk(const std::vector<ProgramStep>& steps, std::uint32_t rank, const DoStep& do_step) {
  for (const ProgramStep& step : steps) {
    if (step.times == 0 || (step.on && !step.on->contains(rank))) continue;
    if (step.actor != kNoIndex) do_step(step.actor);
    for (const std::uint32_t actor : step.list) do_step(actor);
    walk(step.block, rank, do_step);
  }
}

/// Calls `walk_thread` with the rank and the program of each thread that has a program.
template <typename WalkThread>
void for_each_program(const TaskGraph& graph, const Lowered& lowered,
                      const WalkThread& walk_thread) {
  for (const sim::ThreadId id : ids_of(lowered.plan.threads)) {
    const std::uint32_t thread = lowered.thread_template[id];
    if (thread == kNoIndex || graph.threads[thread].program.empty()) continue;
    walk_thread(lowered.plan.threads[id].rank.value, graph.threads[thread].program);
  }
}

}  // namespace pipesim::models
