// Detects the kind of evidence in a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::formats {

enum class EvidenceKind : std::uint8_t {
  kFlightRecorder,
  kNcclLog,
  kLaunchLog,
  kBoxing,
  kStacks,
  kRas,
};

/// Returns the names of the kinds for users, in the order of enum EvidenceKind: "flight-recorder"
/// and so on.
const std::vector<std::string>& evidence_kinds();

/// Returns the kind with this name, or nullopt.
std::optional<EvidenceKind> find_evidence_kind(std::string_view name);

/// Detects the kind from the content of a file, or from its first kilobytes. Returns nullopt if no
/// kind matches.
std::optional<EvidenceKind> known_kind_of_evidence(std::string_view text);

/// Detects the kind like known_kind_of_evidence(), but unknown content counts as a dump of the
/// Flight Recorder, whose reader reports the mistake.
EvidenceKind kind_of_evidence(std::string_view beginning);

}  // namespace pipesim::formats
