// Diagnoses the stacks of all ranks of a job that hangs: finds groups of ranks at one place, and
// the stragglers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/outside_text.hpp"
#include "models/result/explanation.hpp"

#include "features/diagnose/evidence.hpp"
#include "features/diagnose/stack_places.hpp"

namespace pipesim::models {

struct ThreadStack {
  std::uint32_t rank = 0;
  OutsideText process;             // pid and command: "1234: python train.py"
  OutsideText thread;              // name or number
  bool active = false;             // whether it runs
  std::vector<StackFrame> frames;  // innermost first
  EvidencePlace source;            // `file` is an index into StackDumps::files
};

struct StackDumps {
  OutsideText name;  // title of the report
  std::vector<ThreadStack> threads;
  bool numbered = false;  // whether some processes got their rank from their order
  std::map<std::uint32_t, OutsideText> names;  // names of the ranks numbered this way: "process 41"
  std::map<std::uint32_t, OutsideText> pids;   // pids of the other ranks, if known
  std::vector<OutsideText> files;
  std::uint64_t helpers = 0;  // processes that are not ranks: launchers, data workers
  // Positions of a rank's data workers: "process 41 in __getitem__ (data.py:7)"
  std::map<std::uint32_t, std::vector<OutsideText>> workers;
  bool rendezvous = false;  // whether a launcher waits for other nodes to join
};

struct StackGroup {
  OutsideText thread;
  std::vector<std::uint32_t> ranks;  // ascending
  std::vector<StackFrame> frames;
  bool active = false;  // whether the thread runs on some rank
  WaitPlace place = WaitPlace::kUnknown;
  OutsideText op;  // the frame that shows the wait: "all_reduce"
  // Positions of other threads that may hold a lock or a result that this thread waits for:
  // "prefetch in load (a.py:3)"
  std::vector<OutsideText> others;
};

enum class StackVerdict : std::uint8_t {
  kStragglers,  // most ranks wait in a collective, and some do not
  kDifferent,   // all ranks wait in collectives, but in different collectives: no rank is blamed
  kAlike,       // all ranks are at one place
  kUndecided,   // no rank is known to wait in a collective
};

/// Returns the text of a verdict for reports: "odd ones out".
std::string_view verdict_name(StackVerdict verdict);

struct StackDiagnosis {
  StackVerdict verdict = StackVerdict::kUndecided;
  std::vector<StackGroup> groups;    // sorted by thread, the largest group first
  std::vector<std::uint32_t> roots;  // ranks to look at first
  std::uint32_t ranks = 0;
  std::vector<OutsideText> notes;  // other facts: two threads of a rank in collectives at once
  /// For kStragglers: each waiting rank waits for each straggler, because stacks do not show which
  /// ranks share a collective. For other verdicts, no waits are known.
  Explanation explanation;
  std::vector<Wait> waits;
};

/// Groups threads with the same name by equal stacks. If a rank has a main thread, only this thread
/// counts. If the main thread waits for another thread, a thread that waits for other ranks counts
/// instead; in the backward pass, the thread that works counts.
StackDiagnosis diagnose(const StackDumps& dumps);

/// Converts stacks to calls. Each waiting rank is in the first call of a group for its op, and the
/// stragglers have not made this call. Without stragglers, there are no calls.
Evidence stack_evidence(const StackDumps& dumps, const StackDiagnosis& diagnosis);

/// Returns the position of each rank's host. Skips hosts whose stack shows neither a wait nor a
/// position (an idle thread of an actor runtime, a finished thread).
std::map<std::uint32_t, HostStanding> host_standings(const StackDumps& dumps);

}  // namespace pipesim::models
