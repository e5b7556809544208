// Combines a launch log with a scenario of the same job: takes hints from the scenario, and
// compares op counts.
#include <algorithm>
#include <iterator>
#include <map>

#include "models/lowering/names.hpp"

#include "features/diagnose/launch_log.hpp"

namespace pipesim::models {

LaunchLogHints hints_of(const TaskGraph& graph, const Lowered& lowered) {
  LaunchLogHints hints;
  hints.only_these = true;
  for (const std::string& phase : graph.phases)
    hints.phases.emplace_back(phase, std::vector<std::string>());
  for (const ActorTemplate& actor : graph.actors) {
    if (actor.phase != kNoIndex) hints.phases[actor.phase].second.push_back(actor.name);
  }
  const Names names(graph, lowered);
  const sim::Plan& plan = lowered.plan;
  for (const sim::ActorId id : ids_of(plan.actors)) {
    if (!plan.actors[id].collective.valid()) continue;
    const sim::Collective& collective = plan.collectives[plan.actors[id].collective];
    std::vector<std::uint32_t> members;
    for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
      members.push_back(plan.members[i].rank.value);
    }
    std::sort(members.begin(), members.end());
    auto& groups = hints.collectives[names.name(id)];
    if (std::find(groups.begin(), groups.end(), members) == groups.end()) {
      groups.push_back(std::move(members));
    }
  }
  return hints;
}

std::vector<CountDifference> compare(const LaunchLog& log, const Explanation& simulated) {
  std::vector<CountDifference> differences;
  static const LoggedRank kNoLog;
  static const RankReport kNoRun;
  const std::size_t ranks = std::max(log.ranks.size(), simulated.ranks.size());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    // Collects ops in the order of the scenario, then ops that only the log has, in log order.
    std::vector<CountDifference> ops;
    std::map<std::string, std::size_t> known;
    const auto number = static_cast<std::uint32_t>(rank);
    for (const ActorCounts& actor :
         (rank < simulated.ranks.size() ? simulated.ranks[rank] : kNoRun).actors) {
      known.emplace(actor.name, ops.size());
      ops.push_back({number, actor.name, 0, 0, actor.entered, actor.launched});
    }
    for (const LoggedOp& op : (rank < log.ranks.size() ? log.ranks[rank] : kNoLog).ops) {
      const auto [at, is_new] = known.emplace(op.name, ops.size());
      if (is_new) ops.push_back({number, op.name, 0, 0, 0, 0});
      ops[at->second].logged_entered = op.entered;
      ops[at->second].logged_launched = op.launched;
    }
    std::copy_if(ops.begin(), ops.end(), std::back_inserter(differences),
                 [](const CountDifference& it) {
                   return it.logged_entered != it.simulated_entered ||
                          it.logged_launched != it.simulated_launched;
                 });
  }
  return differences;
}

}  // namespace pipesim::models
