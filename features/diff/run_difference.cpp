#include "features/diff/run_difference.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "models/lowering/names.hpp"
#include "models/result/expectation.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::kNever;
using sim::OpTimes;

constexpr std::int64_t kNeverLast = std::numeric_limits<std::int64_t>::max();

const OpTimes& times_of(const TimedRun& run, ActorId id, std::uint32_t k) {
  const sim::Outcome& outcome = run.simulation.outcome;
  return outcome.op_times.of(id, k);
}

const sim::Plan& plan_of(const TimedRun& run) { return run.simulation.lowered.plan; }

// Returns the earliest time at which the two ops differ; nullopt if they do not differ. An event
// that never happens counts as later than all others.
std::optional<std::int64_t> first_difference(const OpTimes& a, const OpTimes& b) {
  std::optional<std::int64_t> result;
  const auto look = [&](sim::Time before, sim::Time after) {
    if (before == after) return;
    const std::int64_t moment = std::min(before == kNever ? kNeverLast : before.ns,
                                         after == kNever ? kNeverLast : after.ns);
    result = std::min(result.value_or(kNeverLast), moment);
  };
  look(a.launch, b.launch);
  look(a.start, b.start);
  look(a.end, b.end);
  return result;
}

std::optional<std::int64_t> duration(const OpTimes& times, bool on_host) {
  if (times.end == kNever) return std::nullopt;
  const sim::Time begin = on_host ? times.enter : times.start;
  if (begin == kNever) return std::nullopt;
  return times.end.ns - begin.ns;
}

class Comparison {
 public:
  Comparison(const TimedRun& before, const TimedRun& after)
      : before_(before),
        after_(after),
        before_names_(before.graph, before.simulation.lowered),
        after_names_(after.graph, after.simulation.lowered) {}

  RunDifference run() {
    for (const ActorId id : ids_of(plan_of(after_).actors)) {
      others_.emplace(std::pair(plan_of(after_).actors[id].rank.value, after_names_.name(id)), id);
    }
    for (const ActorId id : ids_of(plan_of(before_).actors)) {
      const auto other =
          others_.find({plan_of(before_).actors[id].rank.value, before_names_.name(id)});
      if (other != others_.end()) compare(id, other->second);
    }
    for (PaceChange& change : pace_) {
      if (change.largest_ns != 0) result_.pace.push_back(std::move(change));
    }
    const auto size = [](const PaceChange& change) {
      return std::abs(change.after_ns - change.before_ns);
    };
    std::stable_sort(result_.pace.begin(), result_.pace.end(),
                     [&](const PaceChange& a, const PaceChange& b) { return size(a) > size(b); });
    compare_orders();
    return std::move(result_);
  }

 private:
  MovedOp moved(ActorId id, ActorId other, std::uint32_t k) const {
    const OpName op = before_names_.op(id, k);
    return {plan_of(before_).actors[id].rank.value, op.name, op.number, times_of(before_, id, k),
            times_of(after_, other, k)};
  }

  PaceChange& pace_of(const std::string& op) {
    const auto [place, is_new] = pace_index_.emplace(op, pace_.size());
    if (is_new) {
      pace_.emplace_back();
      pace_.back().op = op;
    }
    return pace_[place->second];
  }

  void compare(ActorId id, ActorId other) {
    const std::uint32_t ops =
        std::min(plan_of(before_).actors[id].ops, plan_of(after_).actors[other].ops);
    PaceChange& pace = pace_of(before_names_.name(id));
    result_.ops_in_both += ops;
    for (std::uint32_t k = 0; k < ops; ++k) {
      const OpTimes& a = times_of(before_, id, k);
      const OpTimes& b = times_of(after_, other, k);
      if (const auto moment = first_difference(a, b)) {
        ++result_.ops_moved;
        if (!result_.first || *moment < result_.first_ns) {
          result_.first = moved(id, other, k);
          result_.first_ns = *moment;
        }
      }
      const auto old = duration(a, !plan_of(before_).actors[id].stream.valid());
      const auto now = duration(b, !plan_of(after_).actors[other].stream.valid());
      if (!old || !now) continue;
      ++pace.ops;
      pace.before_ns += *old;
      pace.after_ns += *now;
      if (std::abs(*now - *old) <= std::abs(pace.largest_ns)) continue;
      pace.largest_ns = *now - *old;
      pace.largest = moved(id, other, k);
    }
  }

  using Op = std::pair<std::string, std::uint32_t>;
  using Place = std::pair<std::uint32_t, std::string>;

  // Returns the ops of each stream in launch order. Ops launched at the same time keep the order in
  // which their threads entered them.
  static std::map<Place, std::vector<Op>> orders(const TimedRun& run, const Names& names) {
    std::map<Place, std::vector<std::pair<std::int64_t, Op>>> all;
    for (const sim::LogEntry& entry : run.simulation.outcome.log) {
      if (entry.after || entry.k >= plan_of(run).actors[entry.actor].ops) continue;
      const OpTimes& times = times_of(run, entry.actor, entry.k);
      if (times.launch == kNever) continue;
      const std::uint32_t rank = plan_of(run).actors[entry.actor].rank.value;
      const OpName op = names.op(entry.actor, entry.k);
      all[{rank, names.stream_of(entry.actor)}].emplace_back(times.launch.ns,
                                                             Op(op.name, op.number));
    }
    std::map<Place, std::vector<Op>> result;
    for (auto& [place, ops] : all) {
      std::stable_sort(ops.begin(), ops.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (auto& [launch, op] : ops) result[place].push_back(std::move(op));
    }
    return result;
  }

  static std::vector<Op> common(const std::vector<Op>& ops, const std::vector<Op>& others) {
    const std::set<Op> known(others.begin(), others.end());
    std::vector<Op> result;
    for (const Op& op : ops) {
      if (known.count(op) > 0) result.push_back(op);
    }
    return result;
  }

  void compare_orders() {
    const auto old_orders = orders(before_, before_names_);
    const auto new_orders = orders(after_, after_names_);
    for (const auto& [place, ops] : old_orders) {
      const auto other = new_orders.find(place);
      if (other == new_orders.end()) continue;
      const std::vector<Op> before = common(ops, other->second);
      const std::vector<Op> after = common(other->second, ops);
      const auto [a, b] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
      if (a == before.end() || b == after.end()) continue;
      const auto text = [](const Op& op) { return op.first + "#" + std::to_string(op.second); };
      result_.orders.push_back({place.first, place.second,
                                static_cast<std::uint64_t>(a - before.begin()) + 1, text(*a),
                                text(*b)});
    }
  }

  const TimedRun& before_;
  const TimedRun& after_;
  Names before_names_;
  Names after_names_;
  std::map<Place, ActorId> others_;
  std::map<std::string, std::size_t> pace_index_;
  std::vector<PaceChange> pace_;
  RunDifference result_;
};

std::string party(const WaitParty& of) {
  if (of.kind == sim::WaitNodeKind::kOutside) return "the outside";
  std::string rank = "rank " + std::to_string(of.rank);
  if (of.kind == sim::WaitNodeKind::kRank) return rank;
  return rank + " " + of.op.name + "#" + std::to_string(of.op.number);
}

}  // namespace

RunEndFigures end_figures(const Explanation& explanation) {
  RunEndFigures result;
  result.verdict = verdict_name(explanation.verdict);
  result.cause = cause_name(explanation.cause);
  result.time_ns = explanation.time_ns;
  result.fingerprint = explanation.fingerprint;
  result.ops_done = explanation.ops_done;
  result.ops_expected = explanation.ops_expected;
  for (const Wait& wait : explanation.cycle) result.cycle.push_back(party(wait.from));
  for (const Root& root : explanation.roots) result.roots.push_back(party(root.party));
  for (const RankReport& rank : explanation.ranks) {
    for (const ActorCounts& actor : rank.actors) {
      result.counts.push_back({rank.rank, actor.name, actor.done, actor.expected});
    }
  }
  return result;
}

RunDifference compare_runs(const TimedRun& before, const TimedRun& after) {
  return Comparison(before, after).run();
}

}  // namespace pipesim::models
