// Which process of RAS's reports is which rank of the job. RAS numbers the ranks of communicators,
// and these are ranks of the job only where a communicator spans it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "formats/evidence/ras_report.hpp"
#include "models/postmortem/evidence_merge.hpp"

namespace pipesim::formats {

/// Members of communicators as numbers: those below `ranks()` are ranks of the job, the others
/// stand for processes whose rank is not known.
class RasJob {
 public:
  /// Both must outlive it.
  RasJob(const std::vector<RasReport>& reports, const models::KnownJob& known);

  std::uint32_t ranks() const { return ranks_; }

  /// The number of a member of the last report.
  std::uint32_t number_of(const RasCommunicator& communicator, const RasMember& member);

  /// How many numbers there are by now.
  std::uint32_t size() const { return ranks_ + static_cast<std::uint32_t>(names_.size()); }

  /// What reports call a number that is not a rank: "rank 3 of communicator ab12 (process 41 on
  /// node1, GPU 3)".
  const std::string& name_of(std::uint32_t number) const { return names_[number - ranks_]; }

  /// The rank of a process, if it is known.
  std::optional<std::uint32_t> rank_of(const models::ProcessId& process) const;

 private:
  void collect(const RasReport& report);
  bool spans(const RasReport& report, const RasCommunicator& communicator) const;
  std::optional<std::uint32_t> known_rank(const models::ProcessId& process) const;
  bool is_only(const models::ProcessId& process) const;

  const models::KnownJob& known_;
  std::set<const models::ProcessId*, ByProcess> processes_;
  bool all_listed_ = true;  // each member of a communicator has its process told
  // By communicators that span the job.
  std::map<const models::ProcessId*, std::uint32_t, ByProcess> rank_of_;
  std::set<std::string> spanning_;  // their hashes
  std::uint32_t ranks_ = 0;
  std::map<std::string, std::uint32_t> number_of_name_;  // of those that are not ranks
  std::vector<std::string> names_;
};

}  // namespace pipesim::formats
