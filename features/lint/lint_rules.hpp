// The rules of lint.hpp, each family in its own file. A rule reports one finding per rank or op;
// lint() merges findings with the same cause.
#pragma once

#include <vector>

#include "models/lowering/lowering.hpp"
#include "models/lowering/names.hpp"

#include "features/lint/lint.hpp"

namespace pipesim::models {

inline constexpr std::string_view kBufferStream = "buffer-stream";
inline constexpr std::string_view kControlCredits = "control-credits";
inline constexpr std::string_view kPartialSum = "partial-sum";
inline constexpr std::string_view kCollectiveStreams = "collective-streams";
inline constexpr std::string_view kCollectiveOrder = "collective-order";
inline constexpr std::string_view kCollectiveBranch = "collective-branch";
inline constexpr std::string_view kMeeting = "meeting";
inline constexpr std::string_view kSplitPending = "split-pending";
inline constexpr std::string_view kSendFirst = "send-first";
inline constexpr std::string_view kMessageOrder = "message-order";
inline constexpr std::string_view kMessageSize = "message-size";
inline constexpr std::string_view kGroupOrder = "group-order";
inline constexpr std::string_view kHostSync = "host-sync";
inline constexpr std::string_view kSendSync = "send-sync";
inline constexpr std::string_view kCommunicatorOrder = "communicator-order";
inline constexpr std::string_view kLockOrder = "lock-order";
inline constexpr std::string_view kLockHeld = "lock-held";
inline constexpr std::string_view kKernelSlots = "device-room";
inline constexpr std::string_view kUnused = "unused";  // features/lint/unused_names.hpp
inline constexpr std::string_view kShadowedGroup = "shadowed-group";
inline constexpr std::string_view kMicroBatches = "micro-batches";

// Rules for scripts. python/pipesim/linter checks them and words their findings.
inline constexpr std::string_view kRankCollective = "rank-collective";
inline constexpr std::string_view kRankBarrier = "rank-barrier";
inline constexpr std::string_view kRankGroup = "rank-group";
inline constexpr std::string_view kRankExit = "rank-exit";
inline constexpr std::string_view kRankLoop = "rank-loop";
inline constexpr std::string_view kRankOrder = "rank-order";
inline constexpr std::string_view kSetOrder = "set-order";
inline constexpr std::string_view kLocalBranch = "local-branch";
inline constexpr std::string_view kSwallowedError = "swallowed-error";
inline constexpr std::string_view kDroppedWork = "dropped-work";
inline constexpr std::string_view kPollMessage = "poll-message";
inline constexpr std::string_view kThreadGroup = "thread-group";

/// Maximum number of ops read per thread. Programs repeat, so later ops seldom add a finding.
inline constexpr std::uint32_t kMaxOpsOfThread = 4'096;

/// The graph and plan that a rule checks, and the list of its findings.
class PlanLint {
 public:
  PlanLint(const TaskGraph& graph, const Lowered& lowered, std::vector<LintFinding>& findings)
      : graph_(graph),
        plan_(lowered.plan),
        lowered_(lowered),
        names_(graph, lowered),
        findings_(findings) {}

 protected:
  const TaskGraph& graph_;
  const sim::Plan& plan_;
  const Lowered& lowered_;
  Names names_;
  std::vector<LintFinding>& findings_;
};

/// Checks the rules buffer-stream, control-credits, partial-sum.
void lint_actors(const TaskGraph& graph, const Lowered& lowered,
                 std::vector<LintFinding>& findings);

/// Checks the rules collective-streams, device-room.
void lint_streams(const TaskGraph& graph, const Lowered& lowered,
                  std::vector<LintFinding>& findings);

/// Checks the rules collective-order, collective-branch, group-order, host-sync, meeting.
void lint_programs(const TaskGraph& graph, const Lowered& lowered,
                   std::vector<LintFinding>& findings);

/// Checks the rule group-order for cases that lint_programs() does not report. Call after
/// lint_programs().
void lint_orders(const TaskGraph& graph, const Lowered& lowered,
                 std::vector<LintFinding>& findings);

/// Checks the rule split-pending.
void lint_splits(const TaskGraph& graph, const Lowered& lowered,
                 std::vector<LintFinding>& findings);

/// Checks the rules send-first, message-order, message-size.
void lint_messages(const TaskGraph& graph, const Lowered& lowered,
                   std::vector<LintFinding>& findings);

/// Checks the rules lock-order, lock-held.
void lint_locks(const TaskGraph& graph, const Lowered& lowered, std::vector<LintFinding>& findings);

/// Checks the rules send-sync, communicator-order, shadowed-group.
void lint_waits(const TaskGraph& graph, const Lowered& lowered, std::vector<LintFinding>& findings);

}  // namespace pipesim::models
