// Splits of communicators on which calls are pending.
#include <algorithm>
#include <map>
#include <set>

#include "models/lint/lint_rules.hpp"

namespace pipesim::models {
namespace {

// Walks the program of one rank, each block once.
class SplitLint {
 public:
  SplitLint(const TaskGraph& graph, std::uint32_t rank, std::vector<LintFinding>& findings)
      : graph_(graph), rank_(rank), findings_(findings) {}

  void walk(const std::vector<ProgramStep>& steps) {
    for (const ProgramStep& step : steps) {
      if (step.times == 0 || (step.on && !step.on->contains(rank_))) continue;
      if (step.actor != kNoIndex) do_step(step.actor);
      for (const std::uint32_t actor : step.list) do_step(actor);
      walk(step.block);
    }
  }

 private:
  // The last call of a communicator, and what knows that it is done: calls of one communicator end
  // in their order.
  struct PendingCall {
    std::uint32_t actor = kNoIndex;
    std::set<std::uint32_t> streams;
    std::set<std::uint32_t> events;
  };

  void do_step(std::uint32_t index);
  void do_calls(std::uint32_t index);
  void report(std::uint32_t split, std::uint32_t communicator, std::uint32_t call);

  const TaskGraph& graph_;
  std::uint32_t rank_;
  std::vector<LintFinding>& findings_;
  std::map<std::uint32_t, PendingCall> pending_;  // by communicator
};

void SplitLint::do_step(std::uint32_t index) {
  const ActorTemplate& actor = graph_.actors[index];
  if (!actor.on.contains(rank_) || !actor.step) return;
  const StepTemplate& step = *actor.step;
  switch (step.role) {
    case sim::Role::kCalls:
      do_calls(index);
      break;
    case sim::Role::kRecord:
      for (auto& [communicator, call] : pending_) {
        if (call.streams.count(actor.stream) > 0) call.events.insert(step.event);
      }
      break;
    case sim::Role::kWait:
      for (auto& [communicator, call] : pending_) {
        if (call.events.count(step.event) > 0) call.streams.insert(actor.stream);
      }
      break;
    case sim::Role::kSynchronize:
      std::erase_if(pending_, [&](const auto& entry) {
        const std::set<std::uint32_t>& reached = entry.second.streams;
        return step.streams.empty() ||
               std::any_of(step.streams.begin(), step.streams.end(),
                           [&](std::uint32_t stream) { return reached.count(stream) > 0; });
      });
      break;
    case sim::Role::kAwait:
      std::erase_if(pending_,
                    [&](const auto& entry) { return entry.second.events.count(step.event) > 0; });
      break;
    default:
      break;
  }
  if (actor.behind == kNoIndex) return;
  for (auto& [communicator, call] : pending_) {
    if (call.streams.count(actor.behind) > 0) call.streams.insert(actor.stream);
  }
}

// What the host waits for is done when it goes on.
void SplitLint::do_calls(std::uint32_t index) {
  const ActorTemplate& actor = graph_.actors[index];
  const ShortList<CallTemplate>& calls = actor.step->calls;
  if (!calls.empty() && calls[0].operation == Operation::kSplit) {
    const auto call = pending_.find(calls[0].communicator);
    if (call != pending_.end()) report(index, call->first, call->second.actor);
    return;
  }
  for (const CallTemplate& call : calls) {
    const CommunicatorTemplate& communicator = graph_.communicators[call.communicator];
    if (communicator.on_host || call.operation == Operation::kDestroy) continue;
    const Group& group = graph_.groups[communicator.group];
    const std::uint32_t list = group.list_of(rank_);
    if (list == kNoIndex || group.lists[list].size() < 2) continue;
    if (actor.blocking) {
      pending_.erase(call.communicator);
    } else {
      pending_.insert_or_assign(call.communicator, PendingCall{index, {actor.stream}, {}});
    }
  }
}

void SplitLint::report(std::uint32_t split, std::uint32_t communicator, std::uint32_t call) {
  const ActorTemplate& actor = graph_.actors[split];
  LintFinding finding;
  finding.rule = kSplitPending;
  finding.place = actor.place;
  finding.message = quoted(actor.name) + " splits communicator " +
                    quoted(graph_.communicators[communicator].name) + " while " +
                    quoted(graph_.actors[call].name) + " may not be done";
  finding.ops = {actor.name};
  finding.ranks = RankSet({rank_});
  finding.why =
      "NCCL's guide wants no outstanding operations on a communicator that is split: it may "
      "deadlock";
  finding.advice = "let the host wait for the communicator's calls first, by `synchronize`";
  findings_.push_back(std::move(finding));
}

}  // namespace

void lint_splits(const TaskGraph& graph, const Lowered& lowered,
                 std::vector<LintFinding>& findings) {
  for (const sim::ThreadId id : ids_of(lowered.plan.threads)) {
    const std::uint32_t thread = lowered.thread_template[id];
    if (thread == kNoIndex || graph.threads[thread].program.empty()) continue;
    SplitLint(graph, lowered.plan.threads[id].rank.value, findings)
        .walk(graph.threads[thread].program);
  }
}

}  // namespace pipesim::models
