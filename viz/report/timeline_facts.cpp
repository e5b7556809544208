#include "viz/report/timeline_facts.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "models/characters.hpp"
#include "models/result/idle.hpp"
#include "viz/report/wait_words.hpp"

namespace pipesim::viz {

using models::Lane;
using models::Slice;

std::map<std::uint32_t, const models::Root*> missing_ranks(const models::Explanation& end) {
  std::map<std::uint32_t, const models::Root*> result;
  for (const models::Root& root : end.roots) {
    const bool is_rank = root.party.kind == sim::WaitNodeKind::kRank;
    const bool is_cut_off = sim::facts(root.first.kind).absence == sim::Absence::kUnreachable;
    if (is_rank && !is_cut_off) result.emplace(root.party.rank, &root);
  }
  return result;
}

bool is_idle(const models::Simulation& run, const Slice& slice) {
  return slice.done && run.lowered.plan.actors[slice.actor].role == sim::Role::kWait;
}

std::string idle_text(const models::TaskGraph& graph, const models::Simulation& run,
                      const models::Timeline& timeline) {
  if (run.explanation.verdict != sim::Verdict::kCompleted || timeline.end_ns == 0) return "";
  std::map<std::uint32_t, std::vector<models::Interval>> busy;  // working times of each rank
  for (const Lane& lane : timeline.lanes) {
    for (const Slice& slice : lane.slices) {
      if (slice.kind > models::WorkKind::kOverlapped || slice.work_ns >= slice.end_ns) continue;
      busy[lane.rank].push_back({slice.work_ns, slice.end_ns});
    }
  }
  if (busy.empty()) return "";
  double sum = 0;
  double least = 1;
  double most = 0;
  for (auto& [rank, times] : busy) {
    const double idle =
        1 - static_cast<double>(models::covered_ns(times)) / static_cast<double>(timeline.end_ns);
    sum += idle;
    least = std::min(least, idle);
    most = std::max(most, idle);
  }
  const double mean = sum / static_cast<double>(busy.size());
  const char* name = graph.pipeline ? "bubble" : "without compute";
  if (most - least < 0.0005) return fmt::format("{} {:.1f} %", name, 100 * mean);
  return fmt::format("{} {:.1f} % ({:.1f} to {:.1f} % by rank)", name, 100 * mean, 100 * least,
                     100 * most);
}

std::string lane_key(const models::TaskGraph& graph, const models::Simulation& run,
                     const models::Lane& lane,
                     const std::function<bool(const models::StuckOp&)>& on_cycle) {
  const auto label = [&](sim::ActorId actor, std::uint32_t k) {
    return models::op_label(graph, run.lowered, actor, k);
  };
  std::string key = lane.name + (lane.is_thread ? "\nthread" : "\n");
  for (const models::Slice& slice : lane.slices) {
    key += fmt::format("\n{} {} {} {} {} {}", label(slice.actor, slice.k), slice.begin_ns,
                       slice.work_ns, slice.end_ns, slice.done, static_cast<int>(slice.kind));
  }
  for (const models::StuckOp& op : lane.stuck) {
    key += fmt::format("\n{} {}", label(op.actor, op.k), on_cycle(op));
    // Ranks that wait for different ranks in the same way are alike.
    for (const models::Wait& wait : op.waits) key += models::without_numbers(edge_text(wait));
  }
  return key;
}

}  // namespace pipesim::viz
