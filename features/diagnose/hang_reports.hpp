// PyTorch's own reports of a hang in the output of a job:
// * the watchdog's desync report;
// * ranks missing from a monitoredBarrier;
// * the output of the dump analyzer;
// * mismatched calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/outside_text.hpp"

#include "features/diagnose/evidence.hpp"
#include "features/diagnose/log_lines.hpp"

namespace pipesim::formats {

/// Characters that end a value in a line of a report.
inline constexpr std::string_view kValueEnds = " ,)<";

/// Converts "ALLREDUCE" to "all_reduce", the name in the Flight Recorder.
std::string op_name(std::string_view type);

class HangReports {
 public:
  /// Reads a line of one of these reports. Returns false for other lines.
  bool take(const LogLine& line, const models::EvidencePlace& place);

  /// Returns one more than the largest job rank in the reports.
  std::uint32_t ranks() const;

  /// Adds the reported facts to `evidence`, which must have all ranks.
  void add_to(models::Evidence& evidence) const;

  /// Adds notes about facts that belong to no known rank of the job.
  void add_notes(std::vector<models::OutsideText>& notes) const;

 private:
  /// The report of TORCH_NCCL_DESYNC_DEBUG=1, which numbers all calls from 1.
  struct Desync {
    std::map<std::uint32_t, std::int64_t> finished;
    std::map<std::uint32_t, std::pair<std::int64_t, std::string>> started;
    models::EvidencePlace place;
    std::int64_t number = -1;  // call number in the heading of the current list of ranks
    bool started_list = false;
  };
  /// The output of torch.distributed's dump analyzer (torchfrtrace) for one collective.
  struct FrTrace {
    std::uint64_t sequence = 0;
    models::OutsideText group;
    models::OutsideText op;
    std::set<std::uint32_t> missing;
    std::set<std::uint32_t> expected;
    models::OutsideText errors;  // the differences that the analyzer found
    models::EvidencePlace place;
  };
  /// A call in a report of TORCH_DISTRIBUTED_DEBUG=DETAIL. A report has the call of one rank and a
  /// mismatched call of another rank, both with their ranks in the group.
  struct Fingerprint {
    std::uint32_t local = 0;
    std::uint64_t sequence = 0;
    models::OutsideText op;
    models::OutsideText shape;  // sizes of the tensor: "[10, 20]"
    models::OutsideText types;
    bool has_tensors = false;

    friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
  };
  struct Difference {
    std::optional<std::uint32_t> rank;  // rank in the job of the process that logged the report
    Fingerprint own;
    std::optional<Fingerprint> other;
    bool trusts_other = false;  // whether `other` certainly is the call that its rank made
    models::EvidencePlace place;
  };

  bool take_desync(const LogLine& line, const models::EvidencePlace& place);
  bool take_barrier(const LogLine& line, const models::EvidencePlace& place);
  bool take_fr_trace(const LogLine& line, const models::EvidencePlace& place);
  bool take_fr_table(std::string_view text, const models::EvidencePlace& place);
  bool take_fingerprint(const LogLine& line, const models::EvidencePlace& place);
  static std::optional<Fingerprint> fingerprint(std::string_view text);
  static std::string told(const Fingerprint& fingerprint);
  static models::RecordedOp op_of(const Fingerprint& fingerprint);
  std::optional<std::uint32_t> rank_of(const Fingerprint& fingerprint) const;
  std::optional<std::uint32_t> peer_of(const Difference& difference) const;
  void check_heading(const LogLine& line, std::string_view text);
  void check_numbers(const LogLine& line, std::optional<std::uint32_t> local);
  void add_unplaced(models::Evidence& evidence) const;
  void add_desync(models::Evidence& evidence) const;
  void add_barrier(models::Evidence& evidence) const;
  void add_fr_traces(models::Evidence& evidence) const;
  void add_fingerprints(models::Evidence& evidence) const;

  Desync desync_;
  std::map<std::uint32_t, models::EvidencePlace> barrier_waits_;    // ranks that wait in a barrier
  std::map<std::uint32_t, models::EvidencePlace> barrier_missing_;  // ranks that did not arrive
  // A rank whose reports number ranks in a group instead of the job; nullopt if there is no such
  // rank.
  std::optional<std::uint32_t> numbered_by_;
  std::vector<FrTrace> traces_;        // collectives that not all ranks joined
  std::vector<FrTrace> trace_errors_;  // collectives whose calls differ
  bool in_errors_ = false;             // whether the current block is of `trace_errors_`
  bool in_fr_table_ = false;  // whether the lines are of the analyzer's table of collectives
  std::vector<Difference> differences_;
};

}  // namespace pipesim::formats
