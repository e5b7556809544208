// Which kind of evidence of a real hang a file is.
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

/// "flight-recorder" and the others, in the order of the enumeration: what users call them.
const std::vector<std::string>& evidence_kinds();

/// Nothing where no kind is called so.
std::optional<EvidenceKind> find_evidence_kind(std::string_view name);

/// By what is in a file, or in its first thousands of bytes; nothing where nothing known is there.
std::optional<EvidenceKind> known_kind_of_evidence(std::string_view text);

/// The same; what looks like nothing known is taken for a dump of the Flight Recorder, whose reader
/// says what it is not.
EvidenceKind kind_of_evidence(std::string_view beginning);

}  // namespace pipesim::formats
