// Rule split-pending: splits of communicators with pending calls.
#include <fmt/format.h>

#include "features/lint/lint_rules.hpp"
#include "features/lint/pending_calls.hpp"

namespace pipesim::models {
namespace {

// Checks the splits of one rank's program.
class SplitLint {
 public:
  SplitLint(const TaskGraph& graph, std::uint32_t rank, std::vector<LintFinding>& findings)
      : graph_(graph), rank_(rank), findings_(findings) {}

  void do_step(std::uint32_t index);

 private:
  void do_calls(std::uint32_t index);
  void report(std::uint32_t split, std::uint32_t communicator, std::uint32_t call);

  const TaskGraph& graph_;
  std::uint32_t rank_;
  std::vector<LintFinding>& findings_;
  PendingCalls pending_;  // by communicator
};

void SplitLint::do_step(std::uint32_t index) {
  const ActorTemplate& actor = graph_.actors[index];
  if (!actor.on.contains(rank_) || !actor.step) return;
  if (actor.step->role == sim::Role::kCalls) do_calls(index);
  std::erase_if(pending_, [&](const auto& it) { return it.second.is_awaited(*actor.step); });
  follow(actor, pending_);
}

// Tracks pending calls. Reports a split of a communicator with a pending call. A blocking call is
// done when the host continues.
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
    if (communicator.on_host || is_of_host(call.operation)) continue;
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
  findings_.push_back(
      {.rule = kSplitPending,
       .place = actor.place,
       .message =
           fmt::format("'{}' splits communicator '{}' while '{}' may not be done", actor.name,
                       graph_.communicators[communicator].name, graph_.actors[call].name),
       .ops = {actor.name},
       .ranks = RankSet({rank_}),
       .why =
           "NCCL's guide wants no outstanding operations on a communicator that is split: it may "
           "deadlock",
       .advice = "let the host wait for the communicator's calls first, by `synchronize`"});
}

}  // namespace

void lint_splits(const TaskGraph& graph, const Lowered& lowered,
                 std::vector<LintFinding>& findings) {
  for_each_program(graph, lowered,
                   [&](std::uint32_t rank, const std::vector<ProgramStep>& program) {
                     SplitLint lint(graph, rank, findings);
                     walk(program, rank, [&](std::uint32_t actor) { lint.do_step(actor); });
                   });
}

}  // namespace pipesim::models
