// Why a real job hangs, from evidence of it: the wait-for graph of the calls that are not done, in
// the terms of a simulated run. docs/how-to/diagnose.md says what is certain in it and what is
// assumed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/postmortem/collective_match.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::models {

/// What is known of a rank at which waits end.
enum class RootReason : std::uint8_t {
  kNotCalled,      // it has not made a call that others wait for, and nothing of it is pending
  kDeviceStopped,  // its device reports nothing as done that its peers have done with it
  kDied,           // its process is dead, or failed with an error of its own
  kUnexplained,    // no rank: all members are there, and it does not move
};

/// "has not called".
std::string_view reason_name(RootReason reason);

struct DiagnosisRoot {
  RootReason reason = RootReason::kNotCalled;
  std::uint32_t rank = 0;          // kUnexplained: the first that waits
  std::uint32_t waiting = 0;       // calls that wait for it, straight or through others
  Wait first;                      // one that waits for it
  std::uint32_t group = kNoIndex;  // of that call
  EvidencePlace place;             // where it is told
  std::uint64_t peer_came = 0;     // kDeviceStopped: a number in the group of `first` that
  std::uint32_t peer = 0;          // this rank has done
};

/// A rank that may be the root: nothing says whether it made a call that others wait for, or where
/// it stands instead. Never blamed.
struct Suspect {
  std::uint32_t rank = 0;
  bool behind = false;        // it has not made that call, and waits elsewhere, as its stack says
  std::uint32_t waiting = 0;  // calls that may wait for it
  Wait first;                 // one of them
  std::uint32_t group = kNoIndex;  // of that call
  EvidencePlace place;             // where it is told
};

/// Where a rank stands.
struct RankStanding {
  std::uint32_t rank = 0;
  bool has_dump = false;
  bool spins = false;         // it recorded that a collective started that waits for peers
  std::uint32_t pending = 0;  // calls that are not done
  std::optional<ActInfo> at;  // the one that it stands at
};

/// How far the members of a group came in it; a row for each number.
struct GroupStanding {
  std::uint32_t group = 0;
  std::vector<std::uint32_t> ranks;  // that stand alike
  std::int64_t called = -1;          // number of the last call; -1: not known
  std::int64_t completed = -1;       // kUncounted
  std::uint32_t pending = 0;
  bool at_least = false;  // it may have called more
};

struct Diagnosis {
  Explanation explanation;                // verdict, cycle, mismatches; kLimit: undecided
  std::vector<Wait> waits;                // all of them
  std::vector<DiagnosisRoot> roots;       // as in the explanation, and why
  std::vector<Suspect> suspects;          // only where there is neither root, cycle nor mismatch
  std::vector<ProcessStanding> unplaced;  // of the evidence, dead ones and those that may be roots
  std::vector<CollectiveCheck> checks;    // all, also of those that match
  std::vector<RankStanding> ranks;        // of all ranks
  std::vector<GroupStanding> groups;      // where members differ or something is pending
  std::uint32_t pending = 0;              // calls that are not done
};

Diagnosis diagnose(const Evidence& evidence);

}  // namespace pipesim::models
