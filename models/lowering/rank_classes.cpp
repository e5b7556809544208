#include "models/lowering/rank_classes.hpp"

#include <algorithm>

namespace pipesim::models {
namespace {

using RankPair = std::pair<std::uint32_t, std::uint32_t>;

// Returns each pair of sending and receiving rank, with the template of the first sending actor.
std::map<RankPair, std::uint32_t> first_senders(const Lowered& lowered) {
  const sim::Plan& plan = lowered.plan;
  std::map<RankPair, std::uint32_t> first;
  const auto note = [&](sim::ActorId sender, std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    const std::uint32_t index = lowered.actor_template[sender];
    const auto [found, is_new] = first.emplace(RankPair{from, to}, index);
    if (!is_new) found->second = std::min(found->second, index);
  };
  for (const sim::ActorId id : ids_of(plan.actors)) {
    for (const sim::CallId call : plan.calls_of(id)) {
      if (plan.calls[call].kind != sim::CallKind::kSend) continue;
      const sim::Channel& channel = plan.channels[plan.calls[call].channel];
      note(id, plan.communicator_ranks[channel.from].value,
           plan.communicator_ranks[channel.to].value);
    }
  }
  for (const sim::Edge& edge : plan.edges) {
    const sim::ActorId producer = plan.registers[edge.source].producer;
    note(producer, plan.actors[producer].rank.value, plan.actors[edge.consumer].rank.value);
  }
  return first;
}

}  // namespace

std::vector<RankSet> rank_classes(const Lowered& lowered, const RankSet& ranks) {
  const sim::Plan& plan = lowered.plan;
  std::vector<std::vector<std::uint32_t>> keys(plan.rank_count);
  for (const sim::ActorId id : ids_of(plan.actors)) {
    const sim::Actor& actor = plan.actors[id];
    std::vector<std::uint32_t>& key = keys[actor.rank.value];
    key.push_back(lowered.actor_template[id]);
    key.push_back(actor.ops);
    for (const sim::RegisterId reg : plan.registers_of(id))
      key.push_back(plan.registers[reg].slots);
  }
  // Threads with the same program share one range.
  for (const sim::Thread& thread : plan.threads) {
    keys[thread.rank.value].push_back(thread.program);
    keys[thread.rank.value].push_back(thread.program_end);
  }
  return ranks_by_key(ranks, [&](std::uint32_t rank) { return std::move(keys[rank]); });
}

std::vector<std::uint32_t> rank_positions(const Lowered& lowered) {
  const std::uint32_t count = lowered.plan.rank_count;
  const std::map<RankPair, std::uint32_t> first = first_senders(lowered);
  std::vector<std::vector<std::uint32_t>> next(count);
  std::vector<bool> reached(count, false);
  for (const auto& [pair, index] : first) {
    const auto other = first.find({pair.second, pair.first});
    if (other != first.end() && other->second <= index) continue;
    next[pair.first].push_back(pair.second);
    reached[pair.second] = true;
  }
  std::vector<std::uint32_t> positions(count, 0);
  std::vector<std::uint32_t> at;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    if (!reached[rank]) at.push_back(rank);
  }
  std::vector<bool> seen(count, false);
  for (std::uint32_t position = 1; !at.empty(); ++position) {
    std::vector<std::uint32_t> behind;
    for (const std::uint32_t rank : at) {
      for (const std::uint32_t to : next[rank]) {
        if (seen[to]) continue;
        seen[to] = true;
        positions[to] = position;
        behind.push_back(to);
      }
    }
    at = std::move(behind);
  }
  return positions;
}

}  // namespace pipesim::models
