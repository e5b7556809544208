// NCCL wants the calls of a device in one order on all ranks. Where data alone does not say which
// of two collectives comes first, ranks may differ, and that is how hangs begin.
//
// The order is that of the data, and of the file where data leaves it open. Each collective then
// waits for the one before it on its rank, through a control register of one slot: so the earlier
// one cannot run ahead either, and the acts of all of them alternate: a#1 b#1 a#2 b#2 ... on every
// rank. That costs overlap, which is the price of one order.
#include <map>
#include <string>
#include <vector>

#include "models/graph/graph_edit.hpp"
#include "models/graph/topological_order.hpp"
#include "models/logical/chains.hpp"
#include "models/lowering/lowering.hpp"
#include "models/passes/shipped_passes.hpp"

namespace pipesim::models {
namespace {

// Actors after all that they read. What is on a cycle comes last, in the order of the file.
std::vector<std::uint32_t> data_order(const TaskGraph& graph) {
  const auto count = static_cast<std::uint32_t>(graph.actors.size());
  std::vector<std::uint32_t> order =
      topological_order(count, [&](std::uint32_t i, const auto& use) {
        for (const ReadTemplate& read : graph.actors[i].reads) use(read.actor);
      });
  std::vector<bool> done(count, false);
  for (const std::uint32_t index : order) done[index] = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!done[i]) order.push_back(i);
  }
  return order;
}

// How often an actor acts, by template, on the first of its ranks; 0 where it is on none.
std::vector<std::uint32_t> acts_of(const Lowered& lowered, std::size_t actors) {
  std::vector<std::uint32_t> acts(actors, 0);
  for (const sim::ActorId id : ids_of(lowered.plan.actors)) {
    std::uint32_t& known = acts[lowered.actor_template[id]];
    if (known == 0) known = lowered.plan.actors[id].acts;
  }
  return acts;
}

void run_order_collectives(TaskGraph& graph, const PassOptions& options, Diagnostics& diagnostics) {
  const auto group = find_group(graph, options.text("group"), diagnostics);
  if (!group) return;
  const std::optional<Lowered> lowered = lower(graph, diagnostics);
  if (!lowered) return;
  const std::vector<std::uint32_t> acts = acts_of(*lowered, graph.actors.size());

  std::vector<std::uint32_t> last(graph.ranks, kNoIndex);  // collective on each rank, so far
  for (const std::uint32_t index : data_order(graph)) {
    const ActorTemplate& actor = graph.actors[index];
    if (!actor.collective || actor.collective->group != *group) continue;
    std::map<std::uint32_t, std::vector<std::uint32_t>> ranks_by_predecessor;
    for (const std::uint32_t rank : actor.on) {
      if (last[rank] != kNoIndex) ranks_by_predecessor[last[rank]].push_back(rank);
      last[rank] = index;
    }
    for (auto& [before, ranks] : ranks_by_predecessor) {
      if (acts[before] != acts[index]) {
        diagnostics.error(actor.place, Code::kPassTarget,
                          "'" + graph.actors[before].name + "' runs " +
                              std::to_string(acts[before]) + " times and '" + actor.name + "' " +
                              std::to_string(acts[index]) + " times, so they cannot alternate");
        return;
      }
      add_control(graph, before, index, "order").on = RankSet(std::move(ranks));
    }
  }
}

}  // namespace

Pass order_collectives_pass() {
  return {"order-collectives",
          "chains the collectives of a group, so that all ranks have one order",
          {{"group", OptionType::kText, {}, "whose collectives"}},
          run_order_collectives};
}

}  // namespace pipesim::models
