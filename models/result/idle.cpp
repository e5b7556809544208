// Every working op is a time interval. A rank is busy during the union of its intervals.
#include "models/result/idle.hpp"

#include <algorithm>

namespace pipesim::models {

std::int64_t covered_ns(std::vector<Interval>& intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  std::int64_t sum = 0;
  std::int64_t until = 0;
  for (const Interval& interval : intervals) {
    if (interval.end_ns <= until) continue;
    sum += interval.end_ns - std::max(interval.begin_ns, until);
    until = interval.end_ns;
  }
  return sum;
}

std::vector<std::int64_t> busy_ns(const TaskGraph& graph, const Simulation& run) {
  const sim::Plan& plan = run.lowered.plan;
  const DeviceTimes times(graph, run.lowered, run.outcome);
  std::vector<std::vector<Interval>> intervals(plan.rank_count);
  for (const sim::ActorId id : ids_of(plan.actors)) {
    if (!times.on_device(id)) continue;
    for (std::uint32_t k = 0; k < plan.actors[id].ops; ++k) {
      const Interval work = times.work(id, k);
      if (!work.empty()) intervals[plan.actors[id].rank.value].push_back(work);
    }
  }
  std::vector<std::int64_t> result;
  result.reserve(intervals.size());
  for (std::vector<Interval>& of_rank : intervals) result.push_back(covered_ns(of_rank));
  return result;
}

std::int64_t idle_share(std::int64_t time_ns, std::int64_t busy, std::int64_t ranks) {
  if (time_ns <= 0 || ranks <= 0) return 0;
  // The total of all ranks can exceed 64 bits, so the loop drops low bits.
  constexpr std::int64_t kMax = std::int64_t{1} << 42;
  while (time_ns > kMax / ranks) {
    time_ns /= 2;
    busy /= 2;
  }
  const std::int64_t all = time_ns * ranks;
  if (all <= 0) return 0;
  return std::clamp((all - busy) * kWholeShare / all, std::int64_t{0}, kWholeShare);
}

}  // namespace pipesim::models
