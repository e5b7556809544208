// The position of each rank in a hung job, in a short form to compare two hangs. The hang is
// simulated, or comes from evidence of a real job.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "models/result/explanation.hpp"

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/launch_log.hpp"
#include "features/diagnose/stack_evidence.hpp"

namespace pipesim::models {

/// The vocabulary of an end. Positions in two ends are comparable if the ends share a vocabulary.
enum class EndWords : std::uint8_t {
  kOps,       // ops of a task graph
  kCalls,     // calls on communicators
  kLaunches,  // launches of ops of a task graph
  kStacks,
};

struct EndPlace {
  OutsideText name;  // name of the file or folder
  EndWords words = EndWords::kOps;
  std::string verdict;
  bool decided = true;  // whether the ranks to blame are known; they are not for some stacks
  std::set<std::uint32_t> blamed;  // ranks of the cycle; without a cycle, the root causes
  std::vector<OutsideText> at;     // [rank]: its current calls, without sequence numbers
  std::vector<bool> waits;         // [rank]: whether any of its ops is not done
  std::vector<bool> known;         // [rank]: whether there is evidence of its position
};

/// Summarizes a hang, which reports call `name`.
EndPlace end_place(const Diagnosis& diagnosis, std::string name);
EndPlace end_place(const Explanation& explanation, std::string name);
EndPlace end_place(const LaunchLog& log, const LaunchLogDiagnosis& diagnosis, std::string name);
EndPlace end_place(const StackDiagnosis& diagnosis, std::string name);

struct EndDifference {
  bool verdict = false;
  bool blamed = false;
  bool ranks = false;                // whether the numbers of ranks differ
  std::vector<std::uint32_t> waits;  // ranks that wait in only one of the two hangs
  std::vector<std::uint32_t> at;     // ranks in different calls, if the two ends share a vocabulary

  bool any() const { return verdict || blamed || ranks || !waits.empty() || !at.empty(); }
};

/// Compares two hangs. Ignores sequence numbers, because a restarted job hangs at the same place in
/// another step. Stacks have their own verdicts: if only one hang comes from stacks, `compare`
/// ignores the verdicts, and compares the blamed ranks only if the stacks show them.
EndDifference compare(const EndPlace& a, const EndPlace& b);

}  // namespace pipesim::models
