// The twin: a second, slow and obvious implementation of docs/reference/rules.md, written from that
// text alone, against which the engine is held. It shares no code with sim/.
//
// spec.hpp     what a plan says           section 1
// machine.hpp  how it runs                sections 2 to 6, 9.1 to 9.5, 10.1 to 10.5
// waits.hpp    who waits for whom         sections 7, 9.6, 10.6
// here         the verdict and the print  sections 6 to 8, 10.6
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

/// With the numbers of section 8.
enum class Verdict { kCompleted = 0, kDeadlock = 1, kStarved = 2, kMismatch = 3, kCrashed = 4 };

struct Result {
  End end = End::kStuck;
  Verdict verdict = Verdict::kStarved;
  std::int64_t last_progress = 0;
  std::int64_t acts_done = 0;
  std::map<Act, Times> times;        // of the acts that were launched
  std::vector<LogLine> log;          // in the order in which it was written
  WaitEdges waits;                   // kStuck
  std::vector<Mismatch> mismatches;  // in the order in which they were recorded
  std::vector<Died> deaths;          // in the order in which they happened
  std::uint64_t fingerprint = 0;
  std::set<std::string> branches;  // rare ways of the rules that were taken
};

/// Runs a plan by the rules. The verdict "limit" is not covered: it throws std::logic_error.
Result simulate(const Spec& spec);

/// The verdict of a run that is stuck and has no mismatch.
Verdict verdict_of(const WaitEdges& waits);

/// "rank 1 at 5: watchdog in act 3#0".
std::string text(const Died& died);

/// The times of an act, also of one that was not launched.
Times times_of(const Result& result, Act act);

/// When the thread of each act entered it, by the log.
std::map<Act, std::int64_t> enters_of(const Result& result);

}  // namespace pipesim::twin
