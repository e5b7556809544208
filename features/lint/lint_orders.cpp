// Rule group-order for three or more communicators, and for initializations. Looks for a cycle in
// the orders in which host threads make collective calls and initialize communicators.
// lint_programs.cpp reports pairs of communicators called in opposite order.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "features/lint/lint_rules.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::CommunicatorId;
using sim::ThreadId;

// Maximum number of ops read per thread. Programs repeat, so later ops seldom add an order.
constexpr std::uint32_t kMaxOrderedOps = 1'024;
// Maximum number of pairs of neighboring calls; lint_orders() reads no further pairs.
constexpr std::size_t kMaxEdges = 1'000'000;
constexpr std::size_t kMaxStarts = 100;  // maximum number of calls from which to look for a cycle

// The k-th collective call on a communicator, or the initialization of a communicator.
struct Meeting {
  bool creates = false;
  std::uint32_t communicator = 0;  // plan id; for an initialization, template index
  std::uint32_t part = 0;  // k; for an initialization, the index of the rank's list in the group

  friend auto operator<=>(const Meeting&, const Meeting&) = default;
};

// Two calls of a rank in program order.
struct Before {
  std::uint32_t rank = 0;
  ActorId first;
  ActorId second;
};

class CycleLint : PlanLint {
 public:
  using PlanLint::PlanLint;

  void run();

 private:
  using Edges = std::map<Meeting, std::vector<Before>>;

  // Returns the shortest cycle found, without the calls between two calls of one rank. Returns an
  // empty list if there is no cycle, or if lint_programs() reports it.
  std::vector<Before> cycle();
  void read(ThreadId id);
  std::vector<Meeting> meetings_of(ActorId id, std::uint32_t rank);
  void leave_cycles();
  std::vector<Before> cycle_through(const Meeting& start) const;
  bool is_covered(const std::vector<Before>& cycle) const;

  std::map<Meeting, Edges> next_;
  std::size_t edges_ = 0;
  // Number of calls of the current thread, by communicator.
  std::map<std::uint32_t, std::uint32_t> made_;
};

std::vector<Meeting> CycleLint::meetings_of(ActorId id, std::uint32_t rank) {
  const ActorTemplate& step = names_.actor(id);
  if (!step.step || step.step->implied) return {};
  if (step.step->role == sim::Role::kCreate) {
    const std::uint32_t communicator = step.step->communicator;
    const Group& group = graph_.groups[graph_.communicators[communicator].group];
    return {{true, communicator, group.list_of(rank)}};
  }
  std::vector<Meeting> meetings;
  for (const sim::CallId call_id : plan_.calls_of(id)) {
    const sim::Call& call = plan_.calls[call_id];
    const sim::Communicator& of = plan_.communicators[call.communicator];
    if (call.kind != sim::CallKind::kCollective || of.ranks_end - of.ranks < 2) continue;
    meetings.push_back({false, call.communicator.value, made_[call.communicator.value]++});
  }
  // Calls of one group have no order.
  if (meetings.size() > 1) meetings.clear();
  return meetings;
}

void CycleLint::read(ThreadId id) {
  const sim::Thread& thread = plan_.threads[id];
  const std::uint32_t end = std::min(thread.program_end, thread.program + kMaxOrderedOps);
  made_.clear();
  std::optional<std::pair<Meeting, ActorId>> last;
  for (std::uint32_t i = thread.program; i < end && edges_ < kMaxEdges; ++i) {
    const ActorId actor = plan_.op(thread, i);
    for (const Meeting& meeting : meetings_of(actor, thread.rank.value)) {
      if (last) {
        next_[last->first][meeting].push_back({thread.rank.value, last->second, actor});
        ++edges_;
      }
      next_.try_emplace(meeting);
      last = {meeting, actor};
    }
  }
}

// Removes calls without predecessors from `next_`, until only cycles and their successors are left.
void CycleLint::leave_cycles() {
  std::map<Meeting, std::size_t> before;
  for (const auto& [from, edges] : next_) {
    for (const auto& [to, ranks] : edges) ++before[to];
  }
  std::vector<Meeting> free;
  for (const auto& [meeting, edges] : next_) {
    if (before.count(meeting) == 0) free.push_back(meeting);
  }
  while (!free.empty()) {
    const Meeting meeting = free.back();
    free.pop_back();
    for (const auto& [to, ranks] : next_[meeting]) {
      if (--before[to] == 0) free.push_back(to);
    }
    next_.erase(meeting);
  }
}

std::vector<Before> CycleLint::cycle_through(const Meeting& start) const {
  std::map<Meeting, Meeting> from;
  std::deque<Meeting> open = {start};
  while (!open.empty() && from.count(start) == 0) {
    const Meeting at = open.front();
    open.pop_front();
    const auto edges = next_.find(at);
    if (edges == next_.end()) continue;
    for (const auto& [to, ranks] : edges->second) {
      if (from.try_emplace(to, at).second) open.push_back(to);
    }
  }
  if (from.count(start) == 0) return {};
  std::vector<Meeting> path = {start};
  for (Meeting at = from.at(start); at != start; at = from.at(at)) path.push_back(at);
  path.push_back(start);
  std::reverse(path.begin(), path.end());
  std::vector<Before> cycle;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const std::vector<Before>& ranks = next_.at(path[i]).at(path[i + 1]);
    const auto same = std::find_if(ranks.begin(), ranks.end(), [&](const Before& it) {
      return !cycle.empty() && it.rank == cycle.back().rank;
    });
    if (same != ranks.end()) {
      cycle.back().second = same->second;
    } else {
      cycle.push_back(ranks.front());
    }
  }
  if (cycle.size() > 1 && cycle.front().rank == cycle.back().rank) {
    cycle.front().first = cycle.back().first;
    cycle.pop_back();
  }
  return cycle;
}

// Whether lint_programs() reports the cycle: two communicators in opposite orders, without an
// initialization.
bool CycleLint::is_covered(const std::vector<Before>& cycle) const {
  return cycle.size() < 3 && std::none_of(cycle.begin(), cycle.end(), [&](const Before& it) {
           return names_.actor(it.first).step->role == sim::Role::kCreate;
         });
}

std::vector<Before> CycleLint::cycle() {
  for (const ThreadId id : ids_of(plan_.threads)) read(id);
  leave_cycles();
  std::vector<Before> shortest;
  std::size_t starts = 0;
  for (const auto& [meeting, edges] : next_) {
    if (++starts > kMaxStarts) break;
    std::vector<Before> found = cycle_through(meeting);
    const bool shorter = shortest.empty() || found.size() < shortest.size();
    if (found.size() > 1 && shorter) shortest = std::move(found);
  }
  return is_covered(shortest) ? std::vector<Before>() : shortest;
}

void CycleLint::run() {
  const std::vector<Before> found = cycle();
  if (found.empty()) return;
  std::vector<std::uint32_t> ranks;
  std::vector<std::string> ops;
  std::vector<std::string> calls;
  bool creates = false;
  for (const Before& it : found) {
    const std::string& first = names_.name(it.first);
    calls.push_back(
        fmt::format("rank {} calls '{}' before '{}'", it.rank, first, names_.name(it.second)));
    ops.push_back(first);
    ranks.push_back(it.rank);
    creates = creates || names_.actor(it.first).step->role == sim::Role::kCreate;
  }
  findings_.push_back(
      {.rule = kGroupOrder,
       .place = names_.actor(found.front().second).place,
       .message = fmt::format("no order fits all ranks: {}", fmt::join(calls, ", ")),
       .ops = std::move(ops),
       .ranks = RankSet(std::move(ranks)),
       .why = creates
                  ? "the host of each rank is stuck in one initialization until its peers join it"
                  : "each rank may block in a different collective first; this works only if all "
                    "of them can run at the same time: no host waits between them, and devices "
                    "have enough kernel slots",
       .advice = creates ? "create communicators in the same order on all ranks"
                         : "call collectives of several groups in the same order on all ranks"});
}

}  // namespace

void lint_orders(const TaskGraph& graph, const Lowered& lowered,
                 std::vector<LintFinding>& findings) {
  // Calls that differ or are missing have no order to compare.
  const std::set<std::string_view> others = {kCollectiveOrder, kCollectiveBranch, kMeeting,
                                             kGroupOrder};
  if (std::any_of(findings.begin(), findings.end(),
                  [&](const LintFinding& it) { return others.contains(it.rule); })) {
    return;
  }
  CycleLint(graph, lowered, findings).run();
}

}  // namespace pipesim::models
