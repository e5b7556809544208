// Several kinds of evidence of one job as one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/postmortem/evidence.hpp"

namespace pipesim::models {

/// What evidence tells of a job as a whole.
struct KnownJob {
  std::vector<std::pair<ProcessId, std::uint32_t>> processes;  // and their ranks
  std::uint32_t ranks = 0;                                     // 0: not known
};

KnownJob known_job(const Evidence& evidence);

/// Adds what `other` says to `evidence`. Groups of one name, of which one has all members of the
/// other, are one. Where both count the calls of a rank in a group, the larger count is the later
/// one; `notes` gets a line where they differ.
void merge_evidence(Evidence& evidence, Evidence other, std::vector<OutsideText>& notes);

/// Adds where hosts stand; places are in `files`. Ranks beyond those of `evidence` are left out if
/// it has any.
void add_hosts(Evidence& evidence, const std::map<std::uint32_t, HostStanding>& hosts,
               const std::vector<OutsideText>& files);

}  // namespace pipesim::models
