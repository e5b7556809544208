#include "features/diagnose/evidence_kind.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pipesim::formats {

const std::vector<std::string>& evidence_kinds() {
  static const std::vector<std::string> kKinds = {"flight-recorder", "nccl-log", "oneflow",
                                                  "boxing",          "stacks",   "ras"};
  return kKinds;
}

std::optional<EvidenceKind> find_evidence_kind(std::string_view name) {
  const auto found = std::find(evidence_kinds().begin(), evidence_kinds().end(), name);
  if (found == evidence_kinds().end()) return std::nullopt;
  return static_cast<EvidenceKind>(found - evidence_kinds().begin());
}

std::optional<EvidenceKind> known_kind_of_evidence(std::string_view text) {
  constexpr char kPickle = '\x80';
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (text[first] == kPickle) return EvidenceKind::kFlightRecorder;
  if (text[first] == '{') {
    if (has("\"communicators\"")) return EvidenceKind::kRas;
    return has("\"entries\"") || has("\"version\"") ? std::optional(EvidenceKind::kFlightRecorder)
                                                    : std::nullopt;
  }
  // The output of a job has lines of all kinds, so marks that only NCCL and its watchdog write come
  // first.
  constexpr std::array<std::pair<std::string_view, EvidenceKind>, 20> kMarks = {{
      {"WorkNCCL(", EvidenceKind::kNcclLog},
      {"NCCL INFO ", EvidenceKind::kNcclLog},
      {"NCCL WARN ", EvidenceKind::kNcclLog},
      {"NCCL work: ", EvidenceKind::kNcclLog},
      {"last enqueued work: ", EvidenceKind::kNcclLog},
      {"ProcessGroupNCCL", EvidenceKind::kNcclLog},
      {"missing ranks: {", EvidenceKind::kNcclLog},
      {"failed to pass monitoredBarrier", EvidenceKind::kNcclLog},
      {"]: Traceback (most", EvidenceKind::kNcclLog},
      {"Communicators... (", EvidenceKind::kRas},
      {"src_op_name,", EvidenceKind::kBoxing},
      {"Boxing route: ", EvidenceKind::kBoxing},
      {" before: ", EvidenceKind::kLaunchLog},
      {" after: ", EvidenceKind::kLaunchLog},
      {"Thread ", EvidenceKind::kStacks},
      {"(most recent call first)", EvidenceKind::kStacks},
      {"=== Rank ", EvidenceKind::kStacks},
      {"\"thread_id\"", EvidenceKind::kStacks},
      {"before: ", EvidenceKind::kLaunchLog},
      {"after: ", EvidenceKind::kLaunchLog},
  }};
  const auto* found =
      std::find_if(kMarks.begin(), kMarks.end(), [&](const auto& mark) { return has(mark.first); });
  return found == kMarks.end() ? std::nullopt : std::optional(found->second);
}

EvidenceKind kind_of_evidence(std::string_view beginning) {
  return known_kind_of_evidence(beginning).value_or(EvidenceKind::kFlightRecorder);
}

}  // namespace pipesim::formats
