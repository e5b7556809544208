// Explains why a real job hangs, from evidence: builds the wait-for graph of the pending calls, in
// the terms of a simulated run. docs/how-to/diagnose.md separates certain waits from assumed waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/result/explanation.hpp"

#include "features/diagnose/collective_match.hpp"
#include "features/diagnose/evidence.hpp"

namespace pipesim::models {

/// The reason why waits end at a rank.
enum class RootReason : std::uint8_t {
  kNotCalled,      // has not made a call that other ranks wait for, and has no pending call
  kDeviceStopped,  // its device does not report a call as done that its peers have done
  kDied,           // its process is dead, or failed with its own error
  kStopped,        // its process is stopped
  kUnexplained,    // no rank is to blame: all members made the call, yet it does not end
};

/// Returns the text of a reason for reports: "has not called".
std::string_view reason_name(RootReason reason);

struct DiagnosisRoot {
  RootReason reason = RootReason::kNotCalled;
  std::uint32_t rank = 0;          // kUnexplained: the first rank that waits
  std::uint32_t waiting = 0;       // number of calls that wait for the root, directly or not
  Wait first;                      // an example of these waits
  std::uint32_t group = kNoIndex;  // the group of the waiting call in `first`
  EvidencePlace place;             // the source of the waiting call
  // kDeviceStopped: the sequence number, in the group of `first`, of the last call that `peer` has
  // done.
  std::uint64_t peer_came = 0;
  std::uint32_t peer = 0;  // kDeviceStopped: a rank whose device has done this or later calls
};

/// A rank that may be the root: it may not have made a call that other ranks wait for, or its
/// position is unknown. A suspect is never blamed.
struct Suspect {
  std::uint32_t rank = 0;
  bool behind = false;  // whether it has certainly not made the call, but may be blocked elsewhere
  bool starts = false;  // whether it runs, and the others wait for it to join the job
  std::uint32_t waiting = 0;       // number of calls that may wait for it
  Wait first;                      // an example of these waits
  std::uint32_t group = kNoIndex;  // the group of the waiting call in `first`
  EvidencePlace place;             // the source of the waiting call
};

/// The position of a rank.
struct RankStanding {
  std::uint32_t rank = 0;
  bool has_dump = false;
  bool spins = false;         // whether a pending call has started on its device
  std::uint32_t pending = 0;  // number of calls that are not done
  std::optional<OpInfo> at;   // the current call
};

/// The progress of members of a group; each distinct progress has its own object.
struct GroupStanding {
  std::uint32_t group = 0;
  std::vector<std::uint32_t> ranks;  // ranks with this progress
  std::int64_t called = -1;          // sequence number of the last call; -1: none, or not known
  std::int64_t completed = -1;       // -1: none; kUncounted: not known
  std::uint32_t pending = 0;
  bool at_least = false;  // whether the ranks may have called more
};

struct Diagnosis {
  Explanation explanation;                // verdict, cycle, mismatches; kLimit: undecided
  std::vector<Wait> waits;                // all waits
  std::vector<DiagnosisRoot> roots;       // the roots of the explanation, with reasons
  std::vector<Suspect> suspects;          // empty if there is a root, a cycle or a mismatch
  std::vector<ProcessStanding> unplaced;  // processes of unknown rank that are dead or may be roots
  std::vector<CollectiveCheck> checks;    // all checks, including matches
  std::vector<RankStanding> ranks;        // standings of all ranks
  std::vector<GroupStanding> groups;      // groups whose members differ or that have pending calls
  std::uint32_t pending = 0;              // number of calls that are not done
};

Diagnosis diagnose(const Evidence& evidence);

/// Whether the job may not hang, but still start: ranks that run have yet to join it.
bool may_start(const Diagnosis& diagnosis);

}  // namespace pipesim::models
