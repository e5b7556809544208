// What PyTorch itself reports of a hang in a job's output: the desync report of the watchdog, a
// barrier that ranks did not reach, what its analyzer of dumps prints, and calls that differ.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/evidence/log_lines.hpp"
#include "models/outside_text.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::formats {

/// What ends a value of such a line.
inline constexpr std::string_view kValueEnds = " ,)<";

/// "ALLREDUCE" in the names of the Flight Recorder: "all_reduce".
std::string op_name(std::string_view type);

class HangReports {
 public:
  /// Takes a line that is of such a report. False: it is none.
  bool take(const LogLine& line, const models::EvidencePlace& place);

  /// One more than the largest rank of the job that they name.
  std::uint32_t ranks() const;

  /// Adds what they say. `evidence` has all ranks.
  void add_to(models::Evidence& evidence) const;

  /// Adds what is not known to be of a rank of the job, in words.
  void add_notes(std::vector<models::OutsideText>& notes) const;

 private:
  /// What TORCH_NCCL_DESYNC_DEBUG=1 writes: its numbers count all calls from 1.
  struct Desync {
    std::map<std::uint32_t, std::int64_t> finished;
    std::map<std::uint32_t, std::pair<std::int64_t, std::string>> started;
    models::EvidencePlace place;
    std::int64_t number = -1;  // of the list that is being read
    bool started_list = false;
  };
  /// What torch.distributed's analyzer of dumps (torchfrtrace) prints of one collective.
  struct FrTrace {
    std::uint64_t sequence = 0;
    models::OutsideText group;
    models::OutsideText op;
    std::set<std::uint32_t> missing;
    std::set<std::uint32_t> expected;
    models::EvidencePlace place;
  };
  /// What TORCH_DISTRIBUTED_DEBUG=DETAIL writes of a call: that of a rank, numbered in its group,
  /// and one of that group that differs.
  struct Fingerprint {
    std::uint32_t local = 0;
    std::uint64_t sequence = 0;
    models::OutsideText op;
    models::OutsideText shape;  // "[10, 20]"
    models::OutsideText types;

    friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
  };
  struct Difference {
    std::optional<std::uint32_t> rank;  // of the job: who wrote it
    Fingerprint own;
    std::optional<Fingerprint> other;
    models::EvidencePlace place;
  };

  bool take_desync(const LogLine& line, const models::EvidencePlace& place);
  bool take_barrier(const LogLine& line, const models::EvidencePlace& place);
  bool take_fr_trace(const LogLine& line, const models::EvidencePlace& place);
  bool take_fingerprint(const LogLine& line, const models::EvidencePlace& place);
  static std::optional<Fingerprint> fingerprint(std::string_view text);
  static std::string told(const Fingerprint& fingerprint);
  std::optional<std::uint32_t> rank_of(const Fingerprint& fingerprint) const;
  void check_heading(const LogLine& line, std::string_view text);
  void check_numbers(const LogLine& line, std::optional<std::uint32_t> local);
  void add_unplaced(models::Evidence& evidence) const;
  void add_desync(models::Evidence& evidence) const;
  void add_barrier(models::Evidence& evidence) const;
  void add_fr_traces(models::Evidence& evidence) const;
  void add_fingerprints(models::Evidence& evidence) const;

  Desync desync_;
  std::map<std::uint32_t, models::EvidencePlace> barrier_waits_;    // who waits in a barrier
  std::map<std::uint32_t, models::EvidencePlace> barrier_missing_;  // and who did not come
  std::optional<std::uint32_t> numbered_by_;  // reports number ranks in a group of this one
  std::vector<FrTrace> traces_;
  std::vector<Difference> differences_;
};

}  // namespace pipesim::formats
