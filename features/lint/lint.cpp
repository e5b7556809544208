#include "features/lint/lint.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "features/lint/lint_rules.hpp"

namespace pipesim::models {
namespace {

// Reports fewer than 2 p micro-batches for p stages. With m micro-batches, the idle fraction of a
// step is (p - 1) / m (Narayanan et al., arXiv 2104.04473): a third or more if m < 2 p. OneFlow
// also sizes its buffers between forward and backward for 2 p micro-batches.
void lint_micro_batches(std::int64_t micro_batches, std::uint32_t stages, Place place,
                        std::vector<LintFinding>& findings) {
  if (stages < 2 || micro_batches >= std::int64_t{2} * stages) return;
  findings.push_back(
      {.rule = kMicroBatches,
       .place = place,
       .message = fmt::format("{}{} for {} stages, fewer than twice as many", micro_batches,
                              micro_batches == 1 ? " micro-batch" : " micro-batches", stages),
       .why =
           fmt::format("the pipeline barely fills: each rank is idle for the time of {}{} while it "
                       "works on {}, and a hang that needs a full pipeline does not show",
                       stages - 1, stages == 2 ? " micro-batch" : " micro-batches", micro_batches),
       .advice = fmt::format("give the step {} micro-batches or more", std::int64_t{2} * stages)});
}

// Returns the number of distinct ranks in a schedule. Several stages on one rank count once,
// because they fill each other's gaps.
std::uint32_t width(const Schedule& schedule) {
  std::vector<std::uint32_t> ranks = schedule.rank_of_stage;
  std::sort(ranks.begin(), ranks.end());
  return static_cast<std::uint32_t>(std::unique(ranks.begin(), ranks.end()) - ranks.begin());
}

RankSet joined(const RankSet& a, const RankSet& b) {
  std::vector<std::uint32_t> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return RankSet(std::move(all));
}

// Merges findings with the same rule and place. In a graph without places, merges findings with the
// same rule and message.
std::vector<LintFinding> folded(std::vector<LintFinding> findings) {
  std::vector<LintFinding> result;
  std::map<std::tuple<std::string_view, Place, std::string>, std::size_t> known;
  for (LintFinding& finding : findings) {
    const bool placed = finding.place.line > 0;
    const auto [at, is_new] = known.try_emplace(
        {finding.rule, finding.place, placed ? "" : finding.message}, result.size());
    if (is_new) {
      result.push_back(std::move(finding));
      continue;
    }
    LintFinding& first = result[at->second];
    first.ranks = joined(first.ranks, finding.ranks);
    for (std::string& op : finding.ops) {
      if (std::find(first.ops.begin(), first.ops.end(), op) == first.ops.end()) {
        first.ops.push_back(std::move(op));
      }
    }
  }
  return result;
}

std::size_t number_of(std::string_view rule) {
  const std::vector<LintRule>& rules = lint_rules();
  return static_cast<std::size_t>(
      std::find_if(rules.begin(), rules.end(), [&](const LintRule& r) { return r.name == rule; }) -
      rules.begin());
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a row per rule
const std::vector<LintRule>& lint_rules() {
  static const std::vector<LintRule> kRules = {
      {kBufferStream,
       "an op on a stream with collectives, while its inputs and readers are on other streams",
       {"oneflow#8087"}},
      {kControlCredits,
       "a control register with fewer slots than the data of the same op",
       {"oneflow#8226"}},
      {kPartialSum,
       "a partial sum made from a broadcast: a tensor on one rank, zeros on others",
       {"oneflow#8226"}},
      {kCollectiveStreams,
       "collectives of one group on different streams on different ranks",
       {"trl#6798"}},
      {kCollectiveOrder,
       "ranks of one communicator that do not make the same calls in one order",
       {"DeepSpeed#4726", "Megatron-LM#3401", "pytorch#33148"}},
      {kCollectiveBranch,
       "a collective that some ranks of the communicator never call",
       {"vllm#43547", "sglang#24694", "pytorch#77562", "Megatron-LM#1444", "maxdiffusion#426"}},
      {kMeeting,
       "a split, create or destroy that some ranks of the communicator never call",
       {"pytorch#134314", "pytorch#25390", "pytorch#194775"}},
      {kSplitPending,
       "a split of a communicator whose earlier calls may not be done",
       {"api/comms.rst"}},
      {kSendFirst,
       "ranks that each send before they receive, in a pair or a ring",
       {"nccl#479", "nccl#783", "ray#45594", "pytorch#172668", "pytorch#195760", "torch-ccl#72"}},
      {kMessageOrder,
       "sends and recvs of a communicator that wait for each other in their order",
       {"pytorch#109401"}},
      {kMessageSize,
       "a send and its recv of different sizes",
       {"pytorch#113376", "Megatron-LM#1450"}},
      {kGroupOrder,
       "ranks that make collective calls of two communicators in different orders",
       {"torchrec#4149", "nccl#899"}},
      {kHostSync, "a host that waits between collectives of two groups", {"torchrec#4149"}},
      {kSendSync,
       "two hosts that each wait for a send before they call the recv of the other's",
       {"Megatron-LM#167", "Megatron-LM#420"}},
      {kCommunicatorOrder,
       "calls of two communicators by threads of a rank that nothing orders",
       {"nccl#195", "nccl#208", "nccl#522"}},
      {kLockOrder,
       "locks that threads of a process take in opposite orders",
       {"LMCache#2823", "LMCache#4676", "pytorch#97833"}},
      {kLockHeld,
       "a lock that a thread holds while it waits for its device or for other ranks",
       {"TensorRT-LLM#16170", "jax#11637", "pytorch#109159"}},
      {kKernelSlots,
       "more streams with calls that wait for peers than the device has kernel slots",
       {"nccl#195", "rccl#2191"}},
      {kUnused, "a parameter, group, stream or block that nothing uses", {"pytorch#116590"}},
      {kShadowedGroup,
       "a communicator with the name of a group whose ranks are others",
       {"pytorch#116590"}},
      {kMicroBatches, "fewer micro-batches than twice the stages", {"arXiv:2104.04473"}},
      {kRankCollective,
       "script: a collective under a test of the rank, so that some ranks skip it",
       {"TensorRT-LLM#14020", "pytorch#77562"}},
      {kRankBarrier,
       "script: a barrier under a test of the rank, so that some ranks skip it",
       {"autocast#386"}},
      {kRankGroup, "script: new_group on some ranks only", {"Cornstarch#76", "pytorch#25390"}},
      {kRankExit,
       "script: a return, break or continue under a test of the rank, before collectives",
       {"DeepSpeed#8262"}},
      {kRankLoop,
       "script: a loop with collectives whose number of turns depends on the rank",
       {"verl#5591"}},
      {kRankOrder,
       "script: a loop with collectives whose order depends on the rank",
       {"Megatron-LM#6616"}},
      {kSetOrder, "script: a loop over a set, with collectives", {"Megatron-LM#2218"}},
      {kLocalBranch,
       "script: collectives that depend on a rank's own clock, loss, chance or errors",
       {"sglang#37143", "pytorch-lightning#379", "vllm#43547"}},
      {kSwallowedError,
       "script: an except that goes on, after or before collectives",
       {"Automodel#2468", "pytorch#44353"}},
      {kDroppedWork,
       "script: an isend, irecv or asynchronous collective that nothing waits for",
       {"pytorch#75512"}},
      {kPollMessage, "script: a loop until is_completed() of a send or recv", {"pytorch#30723"}},
      {kThreadGroup, "script: collectives of two threads on one group", {"KempnerForge#104"}},
  };
  return kRules;
}

const LintRule& lint_rule(std::string_view name) { return lint_rules()[number_of(name)]; }

void put_in_order(std::vector<LintFinding>& findings) {
  std::stable_sort(
      findings.begin(), findings.end(), [](const LintFinding& a, const LintFinding& b) {
        return std::pair(a.place, number_of(a.rule)) < std::pair(b.place, number_of(b.rule));
      });
}

std::optional<std::vector<LintFinding>> lint(const TaskGraph& graph, Diagnostics& diagnostics) {
  std::vector<LintFinding> findings;
  if (graph.logical) {
    const LogicalGraph& model = *graph.logical;
    lint_micro_batches(model.training.accumulation, model.layout.stages, model.layout.stages_place,
                       findings);
    return findings;
  }
  const std::optional<Lowered> lowered = lower(graph, diagnostics);
  if (!lowered) return std::nullopt;
  if (graph.pipeline && !graph.pipeline->schedule.partial) {
    const Schedule& schedule = graph.pipeline->schedule;
    lint_micro_batches(schedule.micro_batches, width(schedule), graph.pipeline->place, findings);
  }
  lint_actors(graph, *lowered, findings);
  lint_streams(graph, *lowered, findings);
  lint_programs(graph, *lowered, findings);
  lint_orders(graph, *lowered, findings);
  lint_splits(graph, *lowered, findings);
  lint_messages(graph, *lowered, findings);
  lint_waits(graph, *lowered, findings);
  lint_locks(graph, *lowered, findings);
  findings = folded(std::move(findings));
  put_in_order(findings);
  return findings;
}

}  // namespace pipesim::models
