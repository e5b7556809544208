// What logs of all ranks say of a job in which every launch wrote a line before it and one after
// it: where host threads stand, how many rounds each rank launched, and who waits in which
// collective.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/outside_text.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::models {

/// An op of one rank. "launched" is what its log knows: not whether the device has done it.
struct LoggedOp {
  OutsideText name;
  OutsideText thread;
  OutsideText stream;          // of logs that tell it
  std::uint32_t entered = 0;   // lines before
  std::uint32_t launched = 0;  // lines after
  std::uint64_t line = 0;      // of the last of them, in the order of the log
};

/// A host thread of one rank.
struct LoggedThread {
  OutsideText name;
  OutsideText last_entered;         // with its number: "F0#3"
  OutsideText last_launched;        // empty: none
  std::vector<std::uint32_t> open;  // ops of the rank that it entered and did not leave
};

struct LoggedRank {
  bool has_log = false;
  OutsideText source;         // the file that its first line is in
  std::vector<LoggedOp> ops;  // in the order in which they were first entered
  std::vector<LoggedThread> threads;
};

struct LaunchLog {
  OutsideText name;  // of the report
  OutsideText format;
  std::vector<LoggedRank> ranks;
};

/// What logs do not say.
struct LaunchLogHints {
  /// Columns of the table: a name, and the ops that are in it. None: a column for each stream.
  std::vector<std::pair<std::string, std::vector<std::string>>> phases;
  /// Ops of which the members of a group wait for each other, and these groups. An op that is not
  /// here is a collective if its name has "nccl" in it, of the groups of `groups`.
  std::map<std::string, std::vector<std::vector<std::uint32_t>>> collectives;
  std::vector<std::vector<std::uint32_t>> groups;
  bool only_these = false;  // `collectives` has all of them
};

/// Where a rank stands in one column.
struct LoggedProgress {
  std::size_t column = 0;
  std::uint32_t rounds = 0;    // in which every op was launched
  std::uint32_t expected = 0;  // the most launches that any op has: more are not known of
  OutsideText launched;        // of the next round the last op that was launched; empty: none
  OutsideText next;            // and the first that was not
  bool open = false;           // it was entered
};

struct LoggedStanding {
  std::uint32_t rank = 0;
  bool has_log = false;
  std::uint32_t rounds = 0;  // of all ops together
  std::vector<LoggedProgress> progress;
};

struct LaunchLogDiagnosis {
  Explanation explanation;  // verdict, cycle, roots of what is known to wait; kLimit: undecided
  std::vector<Wait> waits;
  std::vector<OutsideText> columns;
  std::vector<LoggedStanding> ranks;
  std::vector<std::uint32_t> behind;  // ranks that launched the fewest rounds, if not all did
  std::vector<std::uint32_t> roots;   // ranks of the cycle, else those at which waits end, else
                                      // `behind`, if it is known who waits for whom in collectives
  std::vector<ActInfo> open;          // launches that were entered and not left
  bool has_groups = false;            // it is known who waits for whom in collectives
  Evidence evidence;  // the collectives that ranks wait in, as calls; without known groups
                      // there are none
};

LaunchLogDiagnosis diagnose(const LaunchLog& log, const LaunchLogHints& hints);

/// What the scenario that `lowered` was made from says of such a job: its phases, and who does
/// which collective with whom.
LaunchLogHints hints_of(const TaskGraph& graph, const Lowered& lowered);

/// An op that a log and the end of a simulated run do not agree on.
struct CountDifference {
  std::uint32_t rank = 0;
  OutsideText op;
  std::uint32_t logged_entered = 0;
  std::uint32_t logged_launched = 0;
  std::uint32_t simulated_entered = 0;
  std::uint32_t simulated_launched = 0;
};

/// Where the log of a real end and the end of a run differ, by rank, then in the order of the
/// scenario, with what only the log has behind. Empty: they stand in the same place.
std::vector<CountDifference> compare(const LaunchLog& log, const Explanation& simulated);

}  // namespace pipesim::models
