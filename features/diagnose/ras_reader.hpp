// Reads reports of NCCL's RAS subsystem (since 2.24): the text of `ncclras -v`, or `ncclras -f
// json` (since 2.28).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/outside_text.hpp"

#include "features/diagnose/evidence.hpp"
#include "features/diagnose/evidence_merge.hpp"

namespace pipesim::formats {

inline constexpr std::size_t kMaxRasBytes = std::size_t{64} << 20;

/// Whether a log contains the text of a report.
inline bool has_ras_text(std::string_view log) {
  return log.find("Communicators... (") != std::string_view::npos;
}

struct RasMember {
  std::uint32_t rank = 0;  // rank in the communicator
  models::ProcessId process;
  models::ProcessState state = models::ProcessState::kNotTold;
  std::map<models::OutsideText, std::int64_t> counts;  // launches by operation
  models::EvidencePlace place;
};

/// Members with one count: "7 ranks have launched up to operation 64". RAS lists the members of
/// small groups only.
struct RasParty {
  std::uint32_t size = 0;
  std::int64_t count = 0;
  std::vector<std::uint32_t> ranks;
  models::EvidencePlace place;
};

struct RasCommunicator {
  models::OutsideText hash;
  std::uint32_t size = 0;
  std::map<std::uint32_t, RasMember> members;
  // Parties by operation; only in text reports.
  std::map<models::OutsideText, std::vector<RasParty>> parties;

  /// Returns the member with this rank, and adds it if it is new.
  RasMember& member(std::uint32_t rank) {
    RasMember& it = members[rank];
    it.rank = rank;
    return it;
  }
};

/// One report.
struct RasReport {
  std::map<std::string, RasCommunicator> communicators;  // communicators by hash
  std::uint32_t gpus = 0;                                // GPUs of the job; 0: unknown
  std::vector<models::ProcessStanding> lost;             // lost processes of unknown rank
  std::vector<models::OutsideText> notes;                // other facts, as text
};

/// Combines the reports of one job. Counts are launches by hosts. A rank with a smaller count lags;
/// a rank with a larger count waits for the lagging rank or has run ahead. RAS does not count sends
/// and recvs.
class RasReader {
 public:
  /// Reads a file. Returns false, with an error, if the file has no report.
  bool read(const std::string& text, models::Diagnostics& diagnostics,
            const std::string& name = {});

  /// Returns the evidence in the last report. Ranks come from the processes in `known`, or from a
  /// communicator that spans the job. Other processes that block the job are in `unplaced`. A
  /// difference of one launch can disappear, so it counts only if the job is known to hang
  /// (`hangs`, or a difference of several launches), or if all reports repeat this count.
  models::Evidence evidence(bool hangs, const models::KnownJob& known = {}) const;

  /// Returns notes on other facts in the reports.
  std::vector<models::OutsideText> notes() const;

 private:
  bool sees_nothing_wrong() const;
  bool is_repeated(const std::string& hash, const std::string& op, std::uint32_t rank) const;

  std::vector<std::string> files_;
  std::vector<RasReport> reports_;
};

}  // namespace pipesim::formats
