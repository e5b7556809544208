// The ops of a plan that run a pipeline schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/graph/pipeline.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/plan.hpp"

namespace pipesim::models {

/// The ops of a slot: op `k` (from 0) of each actor from `first` to `last`.
struct SlotOps {
  sim::ActorId first;
  sim::ActorId last;
  std::uint32_t k = 0;
};

/// Returns the first computing actor of a slot; an invalid id if all actors are calls.
inline sim::ActorId first_that_computes(const sim::Plan& plan, const SlotOps& ops) {
  for (std::uint32_t id = ops.first.value; id <= ops.last.value; ++id) {
    if (plan.actors[sim::ActorId{id}].role == sim::Role::kOp) return sim::ActorId{id};
  }
  return sim::ActorId();
}

/// The ops of the slots of all ranks in a plan.
class PipelineOps {
 public:
  /// Keeps references to both arguments.
  PipelineOps(const Pipeline& pipeline, const Lowered& lowered)
      : pipeline_(pipeline), lowered_(lowered), threads_(pipeline.rank_count()) {
    const sim::Plan& plan = lowered.plan;
    for (const sim::ThreadId id : ids_of(plan.threads)) {
      const std::uint32_t rank = plan.threads[id].rank.value;
      if (rank < threads_.size()) threads_[rank].push_back(id);
    }
  }

  const Actions& row(std::uint32_t rank) const {
    return pipeline_.schedule.ranks[pipeline_.row_of(rank)];
  }

  /// Calls `visit` for each non-empty slot of the row of `rank`, in order, with the index of the
  /// slot in the row and its SlotOps.
  template <typename Visit>
  void for_each_slot(std::uint32_t rank, const Visit& visit) const {
    const Actions& actions = row(rank);
    const sim::Plan& plan = lowered_.plan;
    std::size_t slot = 0;
    for (const sim::ThreadId thread_id : threads_[rank]) {
      const sim::Thread& thread = plan.threads[thread_id];
      std::vector<Met> actors;  // actors of the thread so far, by position after its first actor
      for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
        const sim::ActorId id = plan.op(thread, i);
        const std::uint32_t index = id.value - thread.first_actor.value;
        for (std::size_t next = actors.size(); next <= index; ++next) {
          const auto other = thread.first_actor.value + static_cast<std::uint32_t>(next);
          actors.push_back({parts_of(sim::ActorId{other}), 0});
        }
        Met& actor = actors[index];
        if (actor.parts == 0) continue;
        while (slot < actions.size() && actions[slot].none()) ++slot;
        if (slot == actions.size()) return;  // only steps after the schedule are left
        visit(slot, SlotOps{id, sim::ActorId{id.value + actor.parts - 1}, actor.ops++});
        i += actor.parts - 1;
        slot = slot_end(actions, slot);
      }
    }
  }

  /// Returns the number of actors of a slot that begins with actor `id`; 0 if no slot begins with
  /// this actor. The actors of a slot have consecutive ids.
  std::uint32_t parts_of(sim::ActorId id) const {
    const std::uint32_t from = lowered_.actor_template[id];
    const bool made = from >= pipeline_.first_actor && from < pipeline_.end_actor;
    if (!made || sim::on_host(lowered_.plan.actors[id].role)) return 0;
    return pipeline_.parts[from - pipeline_.first_actor];
  }

 private:
  // An actor found in a program.
  struct Met {
    std::uint32_t parts = 0;
    std::uint32_t ops = 0;  // number of the actor's ops so far
  };

  const Pipeline& pipeline_;
  const Lowered& lowered_;
  std::vector<std::vector<sim::ThreadId>> threads_;  // by rank: its threads
};

}  // namespace pipesim::models
