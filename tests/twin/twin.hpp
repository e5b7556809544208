// The twin: a second, slow and obvious implementation of docs/reference/rules.md, written from that
// text alone, with which the engine is compared. The twin shares no code with sim/.
//
//   spec.hpp     a plan                         section 1
//   machine.hpp  the run                        sections 2 to 6, 9.1 to 9.5, 10.1 to 10.5
//   waits.hpp    the wait-for graph             sections 7, 9.6, 10.6
//   twin.hpp     the verdict and fingerprint    sections 6 to 8, 10.6
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/twin/machine.hpp"
#include "tests/twin/spec.hpp"
#include "tests/twin/waits.hpp"

namespace pipesim::twin {

enum class End { kCompleted, kStuck };

/// Verdicts, with the numbers of section 8.
enum class Verdict { kCompleted = 0, kDeadlock = 1, kStarved = 2, kMismatch = 3, kCrashed = 4 };

struct Result {
  End end = End::kStuck;
  Verdict verdict = Verdict::kStarved;
  std::int64_t last_progress = 0;
  std::int64_t ops_done = 0;
  std::map<Op, Times> times;         // times of launched ops
  std::vector<LogLine> log;          // in writing order
  WaitEdges waits;                   // waits of a stuck run
  std::vector<Mismatch> mismatches;  // in recording order
  std::vector<Died> deaths;          // sorted by time
  std::uint64_t fingerprint = 0;
  std::set<std::string> branches;  // rare branches of the rules that the run took
};

/// Runs a plan by the rules. Throws std::logic_error for a run with the verdict "limit", which the
/// twin does not cover.
Result simulate(const Spec& spec);

/// Returns "rank 1 at 5: watchdog in act 3#0".
std::string text(const Died& died);

/// Returns the times of an op, launched or not.
Times times_of(const Result& result, Op op);

/// Returns when each op's thread entered it, from the log.
std::map<Op, std::int64_t> enters_of(const Result& result);

}  // namespace pipesim::twin
