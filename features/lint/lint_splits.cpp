// Rule split-pending: splits of communicators with pending calls.
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
  const StepTemplate& step = *actor.step;
  switch (step.role) {
    case sim::Role::kCalls:
      do_calls(index);
      break;
    case sim::Role::kSynchronize:
      std::erase_if(pending_,
                    [&](const auto& entry) { return is_synchronized(step, entry.second); });
      break;
    case sim::Role::kAwait:
      std::erase_if(pending_,
                    [&](const auto& entry) { return entry.second.events.count(step.event) > 0; });
      break;
    default:
      break;
  }
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
  for_each_program(graph, lowered,
                   [&](std::uint32_t rank, const std::vector<ProgramStep>& program) {
                     SplitLint lint(graph, rank, findings);
                     walk(program, rank, [&](std::uint32_t actor) { lint.do_step(actor); });
                   });
}

}  // namespace pipesim::models
