// NCCL requires all ranks to call collectives in the same order. If data does not order two
// collectives, ranks can choose different orders, and then they hang.
//
// The order follows the data; if the data leaves the order open, the order follows the file. Each
// collective waits for the previous one on its rank, through a control register of one slot. So the
// previous collective cannot run ahead either, and the ops alternate: a#1 b#1 a#2 b#2 ... on every
// rank. The price of a fixed order is less overlap.
#include <map>
#include <string>
#include <vector>

#include "models/graph/graph_edit.hpp"
#include "models/graph/topological_order.hpp"
#include "models/layers/chains.hpp"
#include "models/layers/shipped_passes.hpp"
#include "models/lowering/lowering.hpp"

namespace pipesim::models {
namespace {

// Returns the actors in topological order. Actors on a cycle come last, in file order.
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

// Returns, by actor template, the number of ops on the template's first rank; 0 for a template on
// no rank.
std::vector<std::uint32_t> ops_of(const Lowered& lowered, std::size_t actors) {
  std::vector<std::uint32_t> ops(actors, 0);
  for (const sim::ActorId id : ids_of(lowered.plan.actors)) {
    std::uint32_t& known = ops[lowered.actor_template[id]];
    if (known == 0) known = lowered.plan.actors[id].ops;
  }
  return ops;
}

void run_order_collectives(TaskGraph& graph, const PassOptions& options, Diagnostics& diagnostics) {
  const auto group = find_group(graph, options.text("group"), diagnostics);
  if (!group) return;
  const std::optional<Lowered> lowered = lower(graph, diagnostics);
  if (!lowered) return;
  const std::vector<std::uint32_t> ops = ops_of(*lowered, graph.actors.size());

  std::vector<std::uint32_t> last(graph.ranks, kNoIndex);  // by rank: last collective so far
  for (const std::uint32_t index : data_order(graph)) {
    const ActorTemplate& actor = graph.actors[index];
    if (!actor.collective || actor.collective->group != *group) continue;
    std::map<std::uint32_t, std::vector<std::uint32_t>> ranks_by_predecessor;
    for (const std::uint32_t rank : actor.on) {
      if (last[rank] != kNoIndex) ranks_by_predecessor[last[rank]].push_back(rank);
      last[rank] = index;
    }
    for (auto& [before, ranks] : ranks_by_predecessor) {
      if (ops[before] != ops[index]) {
        diagnostics.error(actor.place, Code::kPassTarget,
                          "'" + graph.actors[before].name + "' runs " +
                              std::to_string(ops[before]) + " times and '" + actor.name + "' " +
                              std::to_string(ops[index]) + " times, so they cannot alternate");
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
