#include "features/diagnose/next_steps.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "viz/report/styled.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::RootReason;

constexpr const char* kFixCycle =
    "pipesim diagnose ... --as-scenario hang.yaml, then pipesim fix hang.yaml: find a change that "
    "breaks the cycle";

constexpr const char* kRecord =
    "pipesim record --ranks N SCRIPT: run all ranks on this machine, and see where they part";
constexpr const char* kStacksOfAll =
    "py-spy dump --pid PID, of every rank: in which call does each host wait?";

// Names a rank and its process: "rank 7 (process 41 on node1, GPU 3)".
std::string of_rank(const models::Evidence& evidence, std::uint32_t rank) {
  const std::string& process = evidence.ranks[rank].process.name;
  return fmt::format("rank {}{}", rank, process.empty() ? "" : fmt::format(" ({})", process));
}

std::string of_ranks(const models::Evidence& evidence, const std::vector<std::uint32_t>& ranks) {
  return ranks.size() == 1 ? of_rank(evidence, ranks.front()) : ranks_text(ranks);
}

// Suggests a stack dump: "py-spy dump --pid 41, on node1: where is rank 7?".
std::string stack_step(const models::ProcessId& id, const std::string& whose) {
  return fmt::format("py-spy dump --pid {}, on {}: where is {}?", id.pid.empty() ? "PID" : id.pid,
                     id.host.empty() ? "its host" : id.host, whose);
}

std::string stack_step(const models::Evidence& evidence, const std::vector<std::uint32_t>& ranks) {
  if (ranks.size() == 1) {
    return stack_step(evidence.ranks[ranks.front()].process.id, ranks_text(ranks));
  }
  return fmt::format("py-spy dump --pid PID, on the hosts of {}: see where each process is",
                     ranks_text(ranks));
}

std::string continue_step(const models::ProcessId& id, const std::string& who) {
  return fmt::format("kill -CONT {}, on {}: lets {} continue", id.pid, id.host, who);
}

// Suggests stack dumps, because a call pending on the device does not prove that the host waits for
// the call.
void add_for_hosts_of(const std::vector<models::Wait>& cycle, const models::Evidence& evidence,
                      std::vector<std::string>& steps) {
  std::set<std::uint32_t> unknown;
  for (const models::Wait& wait : cycle) {
    if (!evidence.ranks[wait.from.rank].host) unknown.insert(wait.from.rank);
  }
  if (unknown.empty()) return;
  const bool one = unknown.size() == 1;
  const std::string ranks = ranks_text({unknown.begin(), unknown.end()});
  steps.push_back(
      fmt::format("py-spy dump --pid PID, on the host{} of {}: check that {} in {} pending call{}, "
                  "as the cycle assumes",
                  one ? "" : "s", ranks, one ? "it waits" : "these ranks wait",
                  one ? "its" : "their", one ? "" : "s"));
}

void add_for_unplaced(const models::Diagnosis& diagnosis, std::vector<std::string>& steps) {
  constexpr std::size_t kMaxSteps = 8;
  for (const models::ProcessStanding& process : diagnosis.unplaced) {
    if (steps.size() == kMaxSteps) return;
    if (process.state == models::ProcessState::kDead) continue;
    if (process.state == models::ProcessState::kStopped) {
      steps.push_back(continue_step(process.id, process.name));
      continue;
    }
    const std::string name = process.name;
    if (!process.id.pid.empty()) {
      steps.push_back(stack_step(process.id, name.substr(0, name.find(" ("))));
    } else if (name.find(" communicator ") != std::string::npos) {
      steps.push_back(fmt::format("ncclras -f json: which process is {}", name));
    } else {
      steps.emplace_back(
          "py-spy dump --pid PID, on all hosts: which rank does not wait like the others?");
      return;
    }
  }
}

bool has_dumps(const models::Evidence& evidence) {
  return std::any_of(evidence.ranks.begin(), evidence.ranks.end(),
                     [](const auto& rank) { return rank.has_dump && rank.complete; });
}

// Returns the next step for a rank whose host is at a known place.
std::string host_step(std::uint32_t rank, const std::string& at) {
  if (at.starts_with("its data loader")) {
    return fmt::format(
        "py-spy dump --subprocesses --pid PID, of rank {}: where are its data "
        "workers?",
        rank);
  }
  if (at.starts_with("a debugger")) {
    return fmt::format("type 'continue' in the debugger of rank {}, or remove its breakpoint",
                       rank);
  }
  return fmt::format("look at what rank {} does in {}, and dump its stack again: does it move?",
                     rank, at);
}

void add_for_roots(const models::Evidence& evidence, const models::Diagnosis& diagnosis,
                   std::vector<std::string>& steps) {
  std::vector<std::uint32_t> unseen;
  std::vector<std::uint32_t> stopped;
  std::vector<std::uint32_t> died;
  std::vector<std::uint32_t> paused;
  bool unexplained = false;
  bool open_group = false;
  for (const models::DiagnosisRoot& root : diagnosis.roots) {
    switch (root.reason) {
      case RootReason::kNotCalled:
        if (!evidence.ranks[root.rank].host) {
          unseen.push_back(root.rank);
        } else {
          steps.push_back(host_step(root.rank, evidence.ranks[root.rank].host->at));
        }
        break;
      case RootReason::kDeviceStopped:
        stopped.push_back(root.rank);
        break;
      case RootReason::kDied:
        // The kernel did not end this process.
        if (evidence.ranks[root.rank].process.reason.find("sizes differ") != std::string::npos) {
          steps.emplace_back(kRecord);
        } else {
          died.push_back(root.rank);
        }
        break;
      case RootReason::kStopped:
        paused.push_back(root.rank);
        break;
      case RootReason::kUnexplained:
        (evidence.groups[root.group].all_members ? unexplained : open_group) = true;
        break;
    }
  }
  if (!unseen.empty()) {
    steps.push_back(stack_step(evidence, unseen));
  }
  if (!stopped.empty()) {
    steps.push_back(fmt::format("dmesg -T | grep -i xid, on the host of {}: look for GPU errors",
                                of_ranks(evidence, stopped)));
  }
  for (const std::uint32_t rank : paused) {
    steps.push_back(continue_step(evidence.ranks[rank].process.id, fmt::format("rank {}", rank)));
  }
  const auto dead = std::find_if(
      diagnosis.unplaced.begin(), diagnosis.unplaced.end(),
      [](const auto& process) { return process.state == models::ProcessState::kDead; });
  if (!died.empty() || dead != diagnosis.unplaced.end()) {
    steps.push_back(
        fmt::format("dmesg -T | grep -iE 'killed process|xid', on the host of {}: why it ended",
                    died.empty() ? std::string(dead->name) : of_ranks(evidence, died)));
  }
  const bool any_host = std::any_of(evidence.ranks.begin(), evidence.ranks.end(),
                                    [](const auto& rank) { return rank.host.has_value(); });
  if (open_group && !any_host && steps.empty()) steps.emplace_back(kStacksOfAll);
  if (unexplained || (evidence.launched_alike && diagnosis.pending > 0)) {
    steps.emplace_back("ncclras -v, twice: does a rank lag behind?");
    steps.emplace_back("dmesg -T | grep -i xid, and the links' error counters, on all hosts");
  }
}

}  // namespace

std::vector<std::string> next_steps(const models::Evidence& evidence,
                                    const models::Diagnosis& diagnosis) {
  std::vector<std::string> steps;
  const sim::Verdict verdict = diagnosis.explanation.verdict;
  if (verdict == sim::Verdict::kCompleted) return steps;
  const bool has_detail =
      std::any_of(evidence.groups.begin(), evidence.groups.end(),
                  [](const auto& group) { return group.name == "fingerprints"; });
  if (verdict == sim::Verdict::kMismatch && has_detail) return {kRecord};
  if (verdict == sim::Verdict::kMismatch) {
    steps.emplace_back(
        "TORCH_DISTRIBUTED_DEBUG=DETAIL, in the next run: the shapes of the calls that differ");
    return steps;
  }
  if (!diagnosis.explanation.cycle.empty()) {
    steps.emplace_back(kFixCycle);
    add_for_hosts_of(diagnosis.explanation.cycle, evidence, steps);
    return steps;
  }
  if (verdict == sim::Verdict::kDeadlock) return {kRecord};
  if (evidence.ranks.empty() && diagnosis.unplaced.empty()) {
    return {"pipesim collect, on each host, while the ranks wait: which of them are there?"};
  }
  if (models::may_start(diagnosis)) return {"pipesim collect, again: has the job started?"};
  if (!diagnosis.suspects.empty()) {
    std::vector<std::uint32_t> ranks;
    for (const models::Suspect& suspect : diagnosis.suspects) ranks.push_back(suspect.rank);
    steps.push_back(stack_step(evidence, ranks));
  }
  add_for_unplaced(diagnosis, steps);
  add_for_roots(evidence, diagnosis, steps);
  const bool open = verdict == sim::Verdict::kLimit;
  const bool any_host = std::any_of(evidence.ranks.begin(), evidence.ranks.end(),
                                    [](const auto& rank) { return rank.host.has_value(); });
  if (open && steps.empty() && (!evidence.gaps.empty() || any_host)) {
    const bool all_hosts = std::all_of(evidence.ranks.begin(), evidence.ranks.end(),
                                       [](const auto& rank) { return rank.host.has_value(); });
    steps.emplace_back(all_hosts ? kRecord : kStacksOfAll);
  }
  if (open && steps.empty()) steps.emplace_back("ncclras -f json, twice: how far each rank came");
  if (open && !has_dumps(evidence)) {
    steps.emplace_back(
        "TORCH_FR_BUFFER_SIZE=2000 (older: TORCH_NCCL_TRACE_BUFFER_SIZE), in the next run: each "
        "rank's calls in dumps");
  }
  return steps;
}

// Suggests steps for launch logs, which show the progress of hosts but not the members of a
// collective.
std::vector<std::string> next_steps(const models::LaunchLogDiagnosis& diagnosis) {
  const models::Explanation& explanation = diagnosis.explanation;
  if (explanation.verdict == sim::Verdict::kCompleted) return {};
  if (!explanation.cycle.empty()) return {kFixCycle};
  std::vector<std::string> steps;
  if (!diagnosis.has_groups) {
    steps.emplace_back(
        "pipesim diagnose oneflow ... --group RANKS, or --scenario FILE: who waits for whom in "
        "collectives");
  }
  const auto& ranks = diagnosis.roots.empty() ? diagnosis.behind : diagnosis.roots;
  steps.push_back(fmt::format("gdb -p PID -batch -ex 'thread apply all bt', on {}: where {}",
                              ranks.empty() ? "every host" : "the host of " + ranks_text(ranks),
                              ranks.size() == 1 ? "it is" : "they are"));
  return steps;
}

std::string next_text(const std::vector<std::string>& steps, const TextOptions& options) {
  if (steps.empty()) return {};
  std::string text = fmt::format("\n{}\n", styled(options, ansi::kBold, "Next:"));
  for (const std::string& step : steps) text += paragraph(step, options.width, 2, 4);
  return text;
}

}  // namespace pipesim::viz
