// Maps the processes in RAS reports to ranks of the job. RAS numbers ranks within communicators;
// these are ranks of the job only if a communicator spans the job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "features/diagnose/evidence_merge.hpp"
#include "features/diagnose/ras_report.hpp"

namespace pipesim::formats {

/// Numbers the members of communicators. Numbers below `ranks()` are ranks of the job; larger
/// numbers stand for processes of unknown rank.
class RasJob {
 public:
  /// `reports` and `known` must outlive the object.
  RasJob(const std::vector<RasReport>& reports, const models::KnownJob& known);

  std::uint32_t ranks() const { return ranks_; }

  /// Returns the number of a member in the last report.
  std::uint32_t number_of(const RasCommunicator& communicator, const RasMember& member);

  /// Returns how many numbers are in use.
  std::uint32_t size() const { return ranks_ + static_cast<std::uint32_t>(names_.size()); }

  /// Returns the name of a number that is not a rank: "rank 3 of communicator ab12 (process 41 on
  /// node1, GPU 3)".
  const std::string& name_of(std::uint32_t number) const { return names_[number - ranks_]; }

  /// Returns the rank of a process, if known.
  std::optional<std::uint32_t> rank_of(const models::ProcessId& process) const;

 private:
  void collect(const RasReport& report);
  bool spans(const RasReport& report, const RasCommunicator& communicator) const;
  std::optional<std::uint32_t> known_rank(const models::ProcessId& process) const;
  bool is_only(const models::ProcessId& process) const;

  const models::KnownJob& known_;
  std::set<const models::ProcessId*, ByProcess> processes_;
  bool all_listed_ = true;  // whether each member of a communicator has a known process
  // Ranks by process, from communicators that span the job.
  std::map<const models::ProcessId*, std::uint32_t, ByProcess> rank_of_;
  std::set<std::string> spanning_;  // hashes of communicators that span the job
  std::uint32_t ranks_ = 0;
  std::map<std::string, std::uint32_t> number_of_name_;  // numbers of processes of unknown rank
  std::vector<std::string> names_;
};

}  // namespace pipesim::formats
