#include "tests/twin/twin.hpp"

namespace pipesim::twin {
namespace {

/// [8]
std::uint64_t fingerprint(const std::map<Act, Times>& all, Verdict verdict) {
  constexpr std::uint64_t kFactor = 0xff51afd7ed558ccdULL;
  std::uint64_t sum = 0;
  for (const auto& [act, times] : all) {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (std::int64_t word :
         {std::int64_t{act.actor}, std::int64_t{act.k}, times.launch, times.start, times.end}) {
      h = (h ^ static_cast<std::uint64_t>(word)) * kFactor;
      h = h ^ (h >> 32);
    }
    sum += h;
  }
  const std::uint64_t f = (sum ^ static_cast<std::uint64_t>(verdict)) * kFactor;
  return f ^ (f >> 32);
}

/// [6]
bool is_completed(const Machine& machine) {
  for (int a = 0; a < count_of(machine.spec.actors); ++a) {
    if (at(machine.done, a) < machine.actor(a).acts) return false;
  }
  return true;
}

/// [7, 10.6], of a run that is stuck and has no mismatch.
Verdict verdict_of(const WaitEdges& waits) {
  if (waits.empty()) return Verdict::kCrashed;
  return has_cycle(waits) ? Verdict::kDeadlock : Verdict::kStarved;
}

}  // namespace

Result simulate(const Spec& spec) {
  Machine machine(spec);
  machine.run();
  Result result;
  if (is_completed(machine)) {
    result.end = End::kCompleted;
    result.verdict = Verdict::kCompleted;
  } else {
    result.waits = wait_edges(machine);
    result.verdict = verdict_of(result.waits);
    machine.run_on();
  }
  result.mismatches = machine.mismatches;
  if (!machine.mismatches.empty()) result.verdict = Verdict::kMismatch;
  result.deaths = machine.deaths;
  result.last_progress = machine.last_progress;
  for (int count : machine.done) result.acts_done += count;
  result.times = machine.times;
  result.log = machine.log;
  result.fingerprint = fingerprint(machine.times, result.verdict);
  result.branches = machine.branches;
  return result;
}

std::string text(const Died& died) {
  return "rank " + std::to_string(died.rank) + " at " + std::to_string(died.time) + ": " +
         text(died.why) + (died.act ? " in " + text(act_node(*died.act)) : "") +
         (died.after_rest ? ", after the rest" : "");
}

Times times_of(const Result& result, Act act) {
  const auto found = result.times.find(act);
  return found == result.times.end() ? Times{} : found->second;
}

std::map<Act, std::int64_t> enters_of(const Result& result) {
  std::map<Act, std::int64_t> enters;
  for (const LogLine& line : result.log) {
    if (!line.returns) enters[line.act] = line.time;
  }
  return enters;
}

}  // namespace pipesim::twin
