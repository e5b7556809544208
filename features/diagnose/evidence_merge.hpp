// Merges several kinds of evidence of one job.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "features/diagnose/evidence.hpp"

namespace pipesim::models {

/// Facts about the job as a whole.
struct KnownJob {
  std::vector<std::pair<ProcessId, std::uint32_t>> processes;  // processes with their ranks
  std::uint32_t ranks = 0;                                     // 0: unknown
};

KnownJob known_job(const Evidence& evidence);

/// Adds the facts of `other` to `evidence`. Two groups count as one if they share a name and one of
/// them has all members of the other. If both sides count the calls of a rank in a group, keeps the
/// larger count, which is the later one. If the counts differ, adds a line to `notes`.
void merge_evidence(Evidence& evidence, Evidence other, std::vector<OutsideText>& notes);

/// Adds the positions of hosts. Their places are in `files`. Skips ranks that `evidence` does not
/// have.
void add_hosts(Evidence& evidence, const std::map<std::uint32_t, HostStanding>& hosts,
               const std::vector<OutsideText>& files);

}  // namespace pipesim::models
