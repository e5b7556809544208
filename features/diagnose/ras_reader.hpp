// Reads reports of NCCL's RAS subsystem (since 2.24): the text of `ncclras -v`, or `ncclras -f
// json` (since 2.28).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"

#include "features/diagnose/evidence.hpp"
#include "features/diagnose/evidence_merge.hpp"
#include "features/diagnose/ras_report.hpp"

namespace pipesim::formats {

inline constexpr std::size_t kMaxRasBytes = std::size_t{64} << 20;

/// Combines the reports of one job. Counts are launches by hosts. A rank with a smaller count lags;
/// a rank with a larger count waits for the lagging rank or has run ahead. RAS does not count sends
/// and recvs.
class RasReader {
 public:
  /// Reads a file. Returns false, with an error, if the file has no report.
  bool read(const std::string& text, models::Diagnostics& diagnostics,
            const std::string& name = {});

  /// Returns the evidence of the last report. Ranks come from the processes in `known`, or from a
  /// communicator that spans the job. Other processes that block the job are in `unplaced`. A
  /// difference of one launch can disappear, so it counts only if the job is known to hang
  /// (`hangs`, or a difference of several launches), or if all reports repeat this count.
  models::Evidence evidence(bool hangs, const models::KnownJob& known = {}) const;

  /// Returns notes on other facts in the reports.
  std::vector<models::OutsideText> notes() const;

 private:
  bool is_repeated(const std::string& hash, const std::string& op, std::uint32_t rank) const;

  std::vector<std::string> files_;
  std::vector<RasReport> reports_;
};

}  // namespace pipesim::formats
