// Which acts of a plan do a pipeline schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/graph/pipeline.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/plan.hpp"

namespace pipesim::models {

/// Calls `visit` for each slot of the row of `rank`, in order, but for those that are empty: with
/// where it begins in the row, and the actor and act (from 0) that do it.
template <typename Visit>
void for_each_slot(const Pipeline& pipeline, const Lowered& lowered, std::uint32_t rank,
                   const Visit& visit) {
  const Actions& actions = pipeline.schedule.ranks[rank];
  const sim::Plan& plan = lowered.plan;
  std::vector<std::uint32_t> done;  // acts of each actor, from the first that is met
  sim::ActorId first;
  std::size_t slot = 0;
  for (const sim::Thread& thread : plan.threads) {
    if (thread.rank.value != rank) continue;
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      const sim::ActorId id = plan.act(thread, i);
      const std::uint32_t from = lowered.actor_template[id];
      const bool made = from >= pipeline.first_actor && from < pipeline.end_actor;
      if (!made || sim::on_host(plan.actors[id].role)) continue;
      while (actions[slot].none()) ++slot;
      if (!first.valid()) first = id;
      const std::uint32_t index = id.value - first.value;
      if (index >= done.size()) done.resize(std::size_t{index} + 1, 0);
      visit(slot, id, done[index]++);
      slot = slot_end(actions, slot);
    }
  }
}

}  // namespace pipesim::models
