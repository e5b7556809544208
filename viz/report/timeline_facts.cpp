#include "viz/report/timeline_facts.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace pipesim::viz {
namespace {

using models::Lane;
using models::Slice;

using Times = std::vector<std::pair<std::int64_t, std::int64_t>>;

std::int64_t covered_ns(Times times) {
  std::sort(times.begin(), times.end());
  std::int64_t sum = 0;
  std::int64_t until = 0;
  for (const auto& [begin, end] : times) {
    sum += std::max<std::int64_t>(0, end - std::max(begin, until));
    until = std::max(until, end);
  }
  return sum;
}

}  // namespace

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
  std::map<std::uint32_t, Times> busy;  // working times of each rank
  for (const Lane& lane : timeline.lanes) {
    for (const Slice& slice : lane.slices) {
      if (slice.kind > models::WorkKind::kOverlapped || slice.work_ns >= slice.end_ns) continue;
      busy[lane.rank].emplace_back(slice.work_ns, slice.end_ns);
    }
  }
  if (busy.empty()) return "";
  double sum = 0;
  double least = 1;
  double most = 0;
  for (auto& [rank, times] : busy) {
    const double idle = 1 - static_cast<double>(covered_ns(std::move(times))) /
                                static_cast<double>(timeline.end_ns);
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

}  // namespace pipesim::viz
