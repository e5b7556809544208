// Where a job stands when it hangs, in as few words as two ends can be compared by: of a simulated
// run, or of evidence of a real one.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "models/diagnosis.hpp"
#include "models/explanation.hpp"

namespace pipesim::models {

struct EndPlace {
  std::string name;  // of the file or folder
  std::string verdict;
  std::set<std::uint32_t> blamed;  // ranks of the cycle; without one those at which waits end
  bool named = false;              // `at` has calls as their communicators name them
  std::vector<std::string> at;     // of each rank: the call it stands at, without its number
  std::vector<bool> waits;         // of each rank: something of it is not done
  std::vector<bool> known;         // of each rank: there is evidence of it
};

/// `name` is told of it.
EndPlace end_place(const Diagnosis& diagnosis, std::string name);
EndPlace end_place(const Explanation& explanation, std::string name);

struct EndDifference {
  bool verdict = false;
  bool blamed = false;
  bool ranks = false;                // they are not as many
  std::vector<std::uint32_t> waits;  // ranks that wait in one and not in the other
  std::vector<std::uint32_t> at;  // ranks that stand at another call, where both tell calls alike

  bool any() const { return verdict || blamed || ranks || !waits.empty() || !at.empty(); }
};

/// Numbers of calls do not count: a job that is started again hangs in the same place in another
/// step.
EndDifference compare(const EndPlace& a, const EndPlace& b);

}  // namespace pipesim::models
