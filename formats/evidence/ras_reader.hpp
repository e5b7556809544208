// What NCCL's RAS subsystem reports (2.24 on): `ncclras -v`, as text, or `ncclras -f json` (2.28
// on).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/evidence/ras_report.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/postmortem/evidence.hpp"
#include "models/postmortem/evidence_merge.hpp"

namespace pipesim::formats {

inline constexpr std::size_t kMaxRasBytes = std::size_t{64} << 20;

/// Puts reports of one job together. Counts are of launches by hosts: a rank with a smaller one
/// lags, one with a larger one waits for it or has run ahead. Sends and recvs are not counted.
class RasReader {
 public:
  /// Reads a file. False, with an error, where it is no report.
  bool read(const std::string& text, models::Diagnostics& diagnostics,
            const std::string& name = {});

  /// Ranks are those of the processes in `known`, else of a communicator that spans the job.
  /// Processes of other ones that hold the job up are in `unplaced`. A difference of one launch may
  /// pass by itself: it counts only where `hangs` says that the job hangs, or a second report has
  /// it, too.
  models::Evidence evidence(bool hangs, const models::KnownJob& known = {}) const;

  /// What else the reports say, in words.
  std::vector<models::OutsideText> notes() const;

 private:
  bool is_repeated(const std::string& hash, const std::string& op, std::uint32_t rank) const;

  std::vector<std::string> files_;
  std::vector<RasReport> reports_;
};

}  // namespace pipesim::formats
