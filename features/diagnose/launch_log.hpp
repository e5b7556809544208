// Diagnoses logs of all ranks with a line before and after each launch. The diagnosis shows the
// position of host threads, the iterations that each rank launched, and the waits in collectives.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/outside_text.hpp"
#include "models/result/explanation.hpp"

#include "features/diagnose/evidence.hpp"

namespace pipesim::models {

/// An op of one rank. "Launched" does not mean that the device is done.
struct LoggedOp {
  OutsideText name;
  OutsideText thread;
  OutsideText stream;          // empty if the log does not give it
  std::uint32_t entered = 0;   // number of `before:` lines
  std::uint32_t launched = 0;  // number of `after:` lines
  std::uint64_t line = 0;      // last line of the op, in log order
};

/// A host thread of one rank.
struct LoggedThread {
  OutsideText name;
  OutsideText last_entered;         // op with its number: "F0#3"
  OutsideText last_launched;        // empty: none
  std::vector<std::uint32_t> open;  // ops of the rank that it entered and did not leave
};

struct LoggedRank {
  bool has_log = false;
  OutsideText source;         // name of the file with its first line
  std::vector<LoggedOp> ops;  // ops in the order of their first lines
  std::vector<LoggedThread> threads;
};

struct LaunchLog {
  OutsideText name;  // title of the report
  OutsideText format;
  std::vector<LoggedRank> ranks;
};

/// Facts about a job that logs lack.
struct LaunchLogHints {
  /// Columns of the progress table: name and ops. If there are none, each stream is a column.
  std::vector<std::pair<std::string, std::vector<std::string>>> phases;
  /// Collectives and their groups. The members of a group wait for each other in the op. An op that
  /// is not listed is a collective, with the groups of `groups`, if its name contains "nccl".
  std::map<std::string, std::vector<std::vector<std::uint32_t>>> collectives;
  std::vector<std::vector<std::uint32_t>> groups;
  bool only_these = false;  // whether `collectives` is the full list
};

/// The progress of a rank in one column.
struct LoggedProgress {
  std::size_t column = 0;
  std::uint32_t rounds = 0;    // iterations with all ops launched
  std::uint32_t expected = 0;  // number of iterations in the log: the maximum over all ops
  OutsideText launched;        // last op launched in the next iteration; empty: none
  OutsideText next;            // first op of this iteration that was not launched
  bool open = false;           // whether `next` was entered
};

struct LoggedStanding {
  std::uint32_t rank = 0;
  bool has_log = false;
  std::uint32_t rounds = 0;  // iterations with all ops of the rank launched
  std::vector<LoggedProgress> progress;
};

struct LaunchLogDiagnosis {
  Explanation explanation;  // verdict, cycle, roots of the known waits; kLimit: undecided
  std::vector<Wait> waits;
  std::vector<OutsideText> columns;
  std::vector<LoggedStanding> ranks;
  std::vector<std::uint32_t> behind;  // ranks with the fewest launched iterations, if ranks differ
  // Ranks of the cycle; without a cycle, the root causes; without root causes, `behind` (if
  // `has_groups`).
  std::vector<std::uint32_t> roots;
  std::vector<OpInfo> open;  // launches entered but not left
  bool has_groups = false;   // whether the members of collectives are known
  Evidence evidence;  // the collectives that ranks wait in, as calls; empty without known groups
};

LaunchLogDiagnosis diagnose(const LaunchLog& log, const LaunchLogHints& hints);

/// Returns the phases of the job and the groups of its collectives, from the scenario of `lowered`.
LaunchLogHints hints_of(const TaskGraph& graph, const Lowered& lowered);

/// An op whose counts differ between a log and the end of a simulated run.
struct CountDifference {
  std::uint32_t rank = 0;
  OutsideText op;
  std::uint32_t logged_entered = 0;
  std::uint32_t logged_launched = 0;
  std::uint32_t simulated_entered = 0;
  std::uint32_t simulated_launched = 0;
};

/// Compares the log of a real hang with the end of a simulated run. The result is sorted by rank,
/// then in scenario order, with ops that only the log has at the end. An empty result means that
/// the log and the run agree.
std::vector<CountDifference> compare(const LaunchLog& log, const Explanation& simulated);

}  // namespace pipesim::models
