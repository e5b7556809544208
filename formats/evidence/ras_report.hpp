// One report of NCCL's RAS subsystem, as its readers fill it in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/outside_text.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::formats {

/// Orders processes of reports, which have one for each GPU, without a copy of them.
struct ByProcess {
  bool operator()(const models::ProcessId* a, const models::ProcessId* b) const { return *a < *b; }
};

struct RasMember {
  std::uint32_t rank = 0;  // in the communicator
  models::ProcessId process;
  models::ProcessState state = models::ProcessState::kNotTold;
  std::map<models::OutsideText, std::int64_t> counts;  // of launches, by operation
  models::EvidencePlace place;
};

/// "7 ranks have launched up to operation 64"; members are listed of small groups only.
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
  std::map<models::OutsideText, std::vector<RasParty>> parties;  // by operation, of text

  /// The member with this rank, which is made if it is new.
  RasMember& member(std::uint32_t rank) {
    RasMember& it = members[rank];
    it.rank = rank;
    return it;
  }
};

struct RasReport {
  std::map<std::string, RasCommunicator> communicators;  // by hash
  std::uint32_t gpus = 0;                                // of the job; 0: not told
  std::vector<models::ProcessStanding> lost;             // whose rank is not told
  std::vector<models::OutsideText> notes;                // what else it says, in words
};

/// The rank, if a report can have it.
inline std::optional<std::uint32_t> ras_rank(std::optional<std::int64_t> number) {
  const bool good =
      number && *number >= 0 && *number < static_cast<std::int64_t>(models::kMaxEvidenceRanks);
  return good ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

/// Reads what `ncclras -v` prints, once or several times. `file` is the index that places name.
/// Nothing: it is no report.
std::vector<RasReport> read_ras_text(const std::string& text, std::uint32_t file);

/// Reads what `ncclras -f json` prints, once or several times. Nothing, with an error, where it is
/// no report.
std::vector<RasReport> read_ras_json(const std::string& text, std::uint32_t file,
                                     models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
