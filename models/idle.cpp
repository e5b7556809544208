// Each act that runs is an interval of time; the union of those of a rank is what it is busy.
#include "models/idle.hpp"

#include <algorithm>
#include <utility>

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::ActTimes;
using sim::kNever;

using Interval = std::pair<std::int64_t, std::int64_t>;

class Busy {
 public:
  Busy(const TaskGraph& graph, const Simulation& run)
      : graph_(graph), plan_(run.lowered.plan), lowered_(run.lowered), outcome_(run.outcome) {}

  std::vector<std::int64_t> run() {
    std::vector<std::vector<Interval>> intervals(plan_.rank_count);
    for (const ActorId id : ids_of(plan_.actors)) {
      if (!on_device(id)) continue;
      const std::int64_t own = plan_.actors[id].role == sim::Role::kCalls ? longest_calls(id) : 0;
      for (std::uint32_t k = 0; k < plan_.actors[id].acts; ++k) {
        const Interval found = interval(id, k, own);
        if (found.first < found.second) {
          intervals[plan_.actors[id].rank.value].push_back(found);
        }
      }
    }
    std::vector<std::int64_t> result;
    result.reserve(intervals.size());
    for (std::vector<Interval>& of_rank : intervals) result.push_back(length(of_rank));
    return result;
  }

 private:
  const ActTimes& times(ActorId id, std::uint32_t k) const { return outcome_.act_times.of(id, k); }

  bool on_device(ActorId id) const {
    const sim::Actor& actor = plan_.actors[id];
    if (!actor.stream.valid()) return false;
    if (actor.role != sim::Role::kOp && actor.role != sim::Role::kCalls) return false;
    const std::uint32_t stream = lowered_.stream_template[actor.stream];
    return stream == kNoIndex || !graph_.streams[stream].on_host;
  }

  // Of calls that hold each other back one runs after the other.
  std::int64_t longest_calls(ActorId id) const {
    const sim::IdRange<sim::CallId> calls = plan_.calls_of(id);
    std::vector<std::int64_t> length(calls.size(), 0);
    const std::uint32_t first = plan_.actors[id].calls;
    std::int64_t longest = 0;
    for (const sim::CallId call : calls) {
      const sim::Call& of = plan_.calls[call];
      std::int64_t& own = length[call.value - first];
      own = of.takes.ns + (of.after.valid() ? length[of.after.value - first] : 0);
      longest = std::max(longest, own);
    }
    return longest;
  }

  // When act `k` runs; nothing is an empty interval. `calls` is how long its calls take.
  Interval interval(ActorId id, std::uint32_t k, std::int64_t calls) const {
    const ActTimes& of = times(id, k);
    const std::int64_t last = outcome_.last_progress.ns;
    if (of.start == kNever) return {0, 0};
    const std::int64_t end = of.end == kNever ? last : std::min(of.end.ns, last);
    if (plan_.actors[id].role == sim::Role::kCalls) {
      if (of.end == kNever) return {0, 0};
      return {std::max(of.start.ns, of.end.ns - calls), end};
    }
    std::int64_t begin = of.start.ns;
    const sim::CollectiveId collective = plan_.actors[id].collective;
    if (!collective.valid()) return {begin, end};
    const sim::Collective& all = plan_.collectives[collective];
    for (std::uint32_t i = all.members; i < all.members_end; ++i) {
      const ActorId peer = plan_.members[i].actor;
      if (!peer.valid() || k >= plan_.actors[peer].acts) return {0, 0};
      if (times(peer, k).start == kNever) return {0, 0};
      begin = std::max(begin, times(peer, k).start.ns);
    }
    return {begin, end};
  }

  static std::int64_t length(std::vector<Interval>& intervals) {
    std::sort(intervals.begin(), intervals.end());
    std::int64_t sum = 0;
    std::int64_t until = 0;
    for (const auto& [begin, end] : intervals) {
      if (end <= until) continue;
      sum += end - std::max(begin, until);
      until = end;
    }
    return sum;
  }

  const TaskGraph& graph_;
  const sim::Plan& plan_;
  const Lowered& lowered_;
  const sim::Outcome& outcome_;
};

}  // namespace

std::vector<std::int64_t> busy_ns(const TaskGraph& graph, const Simulation& run) {
  return Busy(graph, run).run();
}

std::int64_t idle_share(std::int64_t time_ns, std::int64_t busy, std::int64_t ranks) {
  if (time_ns <= 0 || ranks <= 0) return 0;
  // All ranks together may be beyond 64 bits: digits of no use are dropped.
  constexpr std::int64_t kMost = std::int64_t{1} << 42;
  while (time_ns > kMost / ranks) {
    time_ns /= 2;
    busy /= 2;
  }
  const std::int64_t all = time_ns * ranks;
  if (all <= 0) return 0;
  return std::clamp((all - busy) * kWholeShare / all, std::int64_t{0}, kWholeShare);
}

}  // namespace pipesim::models
