#include "models/lowering/rank_classes.hpp"

#include <map>

namespace pipesim::models {

std::vector<RankSet> rank_classes(const Lowered& lowered, const RankSet& ranks) {
  const sim::Plan& plan = lowered.plan;
  std::vector<std::vector<std::uint32_t>> keys(plan.rank_count);
  for (const sim::ActorId id : ids_of(plan.actors)) {
    const sim::Actor& actor = plan.actors[id];
    std::vector<std::uint32_t>& key = keys[actor.rank.value];
    key.push_back(lowered.actor_template[id]);
    key.push_back(actor.acts);
    for (const sim::RegisterId reg : plan.registers_of(id))
      key.push_back(plan.registers[reg].slots);
  }
  // Threads with the same program have one range of it.
  for (const sim::Thread& thread : plan.threads) {
    keys[thread.rank.value].push_back(thread.program);
    keys[thread.rank.value].push_back(thread.program_end);
  }
  std::map<std::vector<std::uint32_t>, std::size_t> known;
  std::vector<std::vector<std::uint32_t>> classes;
  for (const std::uint32_t rank : ranks) {
    const auto [found, is_new] = known.emplace(std::move(keys[rank]), classes.size());
    if (is_new) classes.emplace_back();
    classes[found->second].push_back(rank);
  }
  std::vector<RankSet> result;
  result.reserve(classes.size());
  for (std::vector<std::uint32_t>& of : classes) result.emplace_back(std::move(of));
  return result;
}

}  // namespace pipesim::models
