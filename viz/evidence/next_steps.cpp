#include "viz/evidence/next_steps.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

using models::RootReason;

// "of rank 7 (process 41 on node1, GPU 3)".
std::string of_rank(const models::Evidence& evidence, std::uint32_t rank) {
  const std::string& process = evidence.ranks[rank].process.name;
  return fmt::format("rank {}{}", rank,
                     process.empty() ? "" : fmt::format(" ({})", models::printable(process)));
}

std::string of_ranks(const models::Evidence& evidence, const std::vector<std::uint32_t>& ranks) {
  return ranks.size() == 1 ? of_rank(evidence, ranks.front()) : ranks_text(ranks);
}

bool has_dumps(const models::Evidence& evidence) {
  return std::any_of(evidence.ranks.begin(), evidence.ranks.end(),
                     [](const auto& rank) { return rank.has_dump && rank.complete; });
}

void add_for_roots(const models::Evidence& evidence, const models::Diagnosis& diagnosis,
                   std::vector<std::string>& steps) {
  std::vector<std::uint32_t> unseen;
  std::vector<std::uint32_t> stopped;
  std::vector<std::uint32_t> died;
  bool unexplained = false;
  for (const models::DiagnosisRoot& root : diagnosis.roots) {
    switch (root.reason) {
      case RootReason::kNotCalled:
        if (!evidence.ranks[root.rank].host) {
          unseen.push_back(root.rank);
        } else {
          steps.push_back(fmt::format(
              "look at what rank {} does in {}, and dump its stack again: does it move?", root.rank,
              models::printable(evidence.ranks[root.rank].host->at)));
        }
        break;
      case RootReason::kDeviceStopped:
        stopped.push_back(root.rank);
        break;
      case RootReason::kDied:
        died.push_back(root.rank);
        break;
      case RootReason::kUnexplained:
        unexplained = true;
        break;
    }
  }
  if (!unseen.empty()) {
    steps.push_back(fmt::format("py-spy dump --pid PID, on the host of {}: where it stands",
                                of_ranks(evidence, unseen)));
  }
  if (!stopped.empty()) {
    steps.push_back(fmt::format("dmesg -T | grep -i xid, on the host of {}: errors of its GPU",
                                of_ranks(evidence, stopped)));
  }
  if (!died.empty() || !evidence.lost_processes.empty()) {
    steps.push_back(
        fmt::format("dmesg -T | grep -iE 'killed process|xid', on the host of {}: why it ended",
                    died.empty() ? models::printable(evidence.lost_processes.front().name)
                                 : of_ranks(evidence, died)));
  }
  if (unexplained) {
    steps.emplace_back("ncclras -v, twice: which rank is behind, or that no host is");
    steps.emplace_back("dmesg -T | grep -i xid, and the links' error counters, on all hosts");
  }
}

}  // namespace

std::vector<std::string> next_steps(const models::Evidence& evidence,
                                    const models::Diagnosis& diagnosis) {
  std::vector<std::string> steps;
  const sim::Verdict verdict = diagnosis.explanation.verdict;
  if (verdict == sim::Verdict::kCompleted) return steps;
  if (verdict == sim::Verdict::kMismatch) {
    steps.emplace_back(
        "TORCH_DISTRIBUTED_DEBUG=DETAIL, in the next run: the shapes of the calls that differ");
    return steps;
  }
  if (!diagnosis.explanation.cycle.empty()) {
    steps.emplace_back(
        "pipesim diagnose ... --as-scenario hang.yaml, then pipesim fix hang.yaml: what breaks "
        "the cycle");
    return steps;
  }
  if (!diagnosis.suspects.empty()) {
    std::vector<std::uint32_t> ranks;
    for (const models::Suspect& suspect : diagnosis.suspects) ranks.push_back(suspect.rank);
    steps.push_back(fmt::format("py-spy dump --pid PID, on the host of {}: where {}",
                                of_ranks(evidence, ranks),
                                ranks.size() == 1 ? "it stands" : "they stand"));
  }
  add_for_roots(evidence, diagnosis, steps);
  const bool open = verdict == sim::Verdict::kLimit;
  if (open && steps.empty()) steps.emplace_back("ncclras -f json, twice: how far each rank came");
  if (open && !has_dumps(evidence)) {
    steps.emplace_back(
        "TORCH_FR_BUFFER_SIZE=2000 (older: TORCH_NCCL_TRACE_BUFFER_SIZE), in the next run: each "
        "rank's calls in dumps");
  }
  return steps;
}

}  // namespace pipesim::viz
