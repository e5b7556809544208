// One report of NCCL's RAS subsystem, as its readers produce it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/outside_text.hpp"

#include "features/diagnose/evidence.hpp"

namespace pipesim::formats {

/// Orders the processes of reports without copying them. Reports list one process per GPU.
struct ByProcess {
  bool operator()(const models::ProcessId* a, const models::ProcessId* b) const { return *a < *b; }
};

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

struct RasReport {
  std::map<std::string, RasCommunicator> communicators;  // communicators by hash
  std::uint32_t gpus = 0;                                // GPUs of the job; 0: unknown
  std::vector<models::ProcessStanding> lost;             // lost processes of unknown rank
  std::vector<models::OutsideText> notes;                // other facts, as text
};

/// Returns the number as a rank, or nullopt if it is out of range.
inline std::optional<std::uint32_t> ras_rank(std::optional<std::int64_t> number) {
  const bool good =
      number && *number >= 0 && *number < static_cast<std::int64_t>(models::kMaxEvidenceRanks);
  return good ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

/// Reads the output of `ncclras -v`, printed once or several times. `file` is the index of the file
/// in places. Returns an empty list if the text has no report.
std::vector<RasReport> read_ras_text(const std::string& text, std::uint32_t file);

/// Reads the output of `ncclras -f json`, printed once or several times. Returns an empty list,
/// with an error, if the text has no report.
std::vector<RasReport> read_ras_json(const std::string& text, std::uint32_t file,
                                     models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
