#include "tests/twin/twin.hpp"

#include <initializer_list>

namespace pipesim::twin {
namespace {

/// Returns a hash of the words, mixed as in [8].
std::uint64_t mixed(std::initializer_list<std::int64_t> words) {
  std::uint64_t h = 0x9e3779b97f4a7c15ULL;
  for (const std::int64_t word : words) {
    h = (h ^ static_cast<std::uint64_t>(word)) * 0xff51afd7ed558ccdULL;
    h = h ^ (h >> 32);
  }
  return h;
}

/// Returns the fingerprint of a run [8].
std::uint64_t fingerprint(const Machine& machine, Verdict verdict) {
  std::vector<int> first_actors(static_cast<std::size_t>(machine.spec.ranks), -1);
  for (int a = count_of(machine.spec.actors); a-- > 0;) {
    first_actors.at(static_cast<std::size_t>(machine.rank_of(a))) = a;
  }
  std::vector<std::uint64_t> digests(static_cast<std::size_t>(machine.spec.ranks), 0);
  for (const auto& [op, times] : machine.times) {
    const auto rank = static_cast<std::size_t>(machine.rank_of(op.actor));
    digests.at(rank) +=
        mixed({op.actor - first_actors.at(rank), op.k, times.launch, times.start, times.end});
  }
  std::uint64_t sum = 0;
  for (int rank = 0; rank < machine.spec.ranks; ++rank) {
    sum += mixed({rank, static_cast<std::int64_t>(at(digests, rank))});
  }
  const std::uint64_t f = (sum ^ static_cast<std::uint64_t>(verdict)) * 0xff51afd7ed558ccdULL;
  return f ^ (f >> 32);
}

/// Whether all ops are done [6].
bool is_completed(const Machine& machine) {
  for (int a = 0; a < count_of(machine.spec.actors); ++a) {
    if (at(machine.done, a) < machine.actor(a).ops) return false;
  }
  return true;
}

/// Returns the verdict [7, 10.6] of a run that is stuck and has no mismatch.
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
  for (int count : machine.done) result.ops_done += count;
  result.times = machine.times;
  result.log = machine.log;
  result.fingerprint = fingerprint(machine, result.verdict);
  result.branches = machine.branches;
  return result;
}

std::string text(const Died& died) {
  return "rank " + std::to_string(died.rank) + " at " + std::to_string(died.time) + ": " +
         text(died.why) + (died.op ? " in " + text(op_node(*died.op)) : "") +
         (died.after_quiescence ? ", after the rest" : "");
}

Times times_of(const Result& result, Op op) {
  const auto found = result.times.find(op);
  return found == result.times.end() ? Times{} : found->second;
}

std::map<Op, std::int64_t> enters_of(const Result& result) {
  std::map<Op, std::int64_t> enters;
  for (const LogLine& line : result.log) {
    if (!line.returns) enters[line.op] = line.time;
  }
  return enters;
}

}  // namespace pipesim::twin
