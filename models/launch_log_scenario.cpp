// A log of launches beside a scenario that stands for the same job.
#include <algorithm>
#include <set>

#include "models/launch_log.hpp"
#include "models/names.hpp"

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
    auto& groups = hints.collectives[names.op(id)];
    if (std::find(groups.begin(), groups.end(), members) == groups.end()) {
      groups.push_back(std::move(members));
    }
  }
  return hints;
}

std::vector<CountDifference> compare(const LaunchLog& log, const Explanation& simulated) {
  std::vector<CountDifference> differences;
  const auto ranks = static_cast<std::uint32_t>(std::max(log.ranks.size(), simulated.ranks.size()));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::set<std::string> known;
    const auto logged = [&](const std::string& name) -> const LoggedOp* {
      if (rank >= log.ranks.size()) return nullptr;
      const auto& ops = log.ranks[rank].ops;
      const auto at =
          std::find_if(ops.begin(), ops.end(), [&](const LoggedOp& op) { return op.name == name; });
      return at == ops.end() ? nullptr : &*at;
    };
    if (rank < simulated.ranks.size()) {
      for (const ActorCounts& actor : simulated.ranks[rank].actors) {
        known.insert(actor.name);
        const LoggedOp* op = logged(actor.name);
        CountDifference difference{rank, actor.name, 0, 0, actor.entered, actor.launched};
        if (op != nullptr) difference.logged_entered = op->entered;
        if (op != nullptr) difference.logged_launched = op->launched;
        const bool same = difference.logged_entered == actor.entered &&
                          difference.logged_launched == actor.launched;
        if (!same) differences.push_back(std::move(difference));
      }
    }
    if (rank >= log.ranks.size()) continue;
    for (const LoggedOp& op : log.ranks[rank].ops) {
      if (known.count(op.name) > 0) continue;
      differences.push_back({rank, op.name, op.entered, op.launched, 0, 0});
    }
  }
  return differences;
}

}  // namespace pipesim::models
