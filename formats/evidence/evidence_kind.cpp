#include "formats/evidence/evidence_kind.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pipesim::formats {

const std::vector<std::string>& evidence_kinds() {
  static const std::vector<std::string> kKinds = {"flight-recorder", "nccl-log", "oneflow",
                                                  "boxing", "stacks"};
  return kKinds;
}

std::optional<EvidenceKind> find_evidence_kind(std::string_view name) {
  const auto found = std::find(evidence_kinds().begin(), evidence_kinds().end(), name);
  if (found == evidence_kinds().end()) return std::nullopt;
  return static_cast<EvidenceKind>(found - evidence_kinds().begin());
}

EvidenceKind kind_of_evidence(std::string_view beginning) {
  constexpr char kPickle = '\x80';
  const std::size_t first = beginning.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return EvidenceKind::kFlightRecorder;
  if (beginning[first] == '{' || beginning[first] == kPickle) return EvidenceKind::kFlightRecorder;
  // The output of a job has lines of all kinds: those that only NCCL and its watchdog write come
  // first.
  constexpr std::array<std::pair<std::string_view, EvidenceKind>, 9> kMarks = {{
      {"WorkNCCL(", EvidenceKind::kNcclLog},
      {"NCCL INFO ", EvidenceKind::kNcclLog},
      {"NCCL WARN ", EvidenceKind::kNcclLog},
      {"NCCL work: ", EvidenceKind::kNcclLog},
      {"src_op_name,", EvidenceKind::kBoxing},
      {"Boxing route: ", EvidenceKind::kBoxing},
      {"before: ", EvidenceKind::kLaunchLog},
      {"after: ", EvidenceKind::kLaunchLog},
      {"Thread ", EvidenceKind::kStacks},
  }};
  const auto* found = std::find_if(kMarks.begin(), kMarks.end(), [&](const auto& mark) {
    return beginning.find(mark.first) != std::string_view::npos;
  });
  return found == kMarks.end() ? EvidenceKind::kFlightRecorder : found->second;
}

}  // namespace pipesim::formats
