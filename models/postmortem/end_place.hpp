// Where a job stands when it hangs, in as few words as two ends can be compared by: of a simulated
// run, or of evidence of a real one.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/postmortem/diagnosis.hpp"
#include "models/postmortem/launch_log.hpp"
#include "models/postmortem/stack_evidence.hpp"

namespace pipesim::models {

/// What an end is told in: what two of them call the same.
enum class EndWords : std::uint8_t {
  kOps,       // of a task graph
  kCalls,     // of communicators
  kLaunches,  // of ops of a task graph
  kStacks,
};

struct EndPlace {
  OutsideText name;  // of the file or folder
  EndWords words = EndWords::kOps;
  std::string verdict;
  bool decided = true;             // of stacks: who is to blame is known
  std::set<std::uint32_t> blamed;  // ranks of the cycle; without one those at which waits end
  std::vector<OutsideText> at;     // of each rank: where it stands, without numbers of calls
  std::vector<bool> waits;         // of each rank: something of it is not done
  std::vector<bool> known;         // of each rank: there is evidence of it
};

/// `name` is told of it.
EndPlace end_place(const Diagnosis& diagnosis, std::string name);
EndPlace end_place(const Explanation& explanation, std::string name);
EndPlace end_place(const LaunchLog& log, const LaunchLogDiagnosis& diagnosis, std::string name);
EndPlace end_place(const StackDiagnosis& diagnosis, std::string name);

struct EndDifference {
  bool verdict = false;
  bool blamed = false;
  bool ranks = false;                // they are not as many
  std::vector<std::uint32_t> waits;  // ranks that wait in one and not in the other
  std::vector<std::uint32_t> at;  // ranks that stand at another call, where both tell calls alike

  bool any() const { return verdict || blamed || ranks || !waits.empty() || !at.empty(); }
};

/// Numbers of calls do not count: a job that is started again hangs in the same place in another
/// step. Of stacks the verdict is not that of others, and is not compared with it; who is to blame
/// is, where stacks say it.
EndDifference compare(const EndPlace& a, const EndPlace& b);

}  // namespace pipesim::models
