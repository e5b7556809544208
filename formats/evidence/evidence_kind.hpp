// Which kind of evidence of a real hang a file is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::formats {

enum class EvidenceKind : std::uint8_t { kFlightRecorder, kNcclLog, kLaunchLog, kBoxing, kStacks };

/// "flight-recorder" and the others, in the order of the enumeration: what users call them.
const std::vector<std::string>& evidence_kinds();

/// Nothing where no kind is called so.
std::optional<EvidenceKind> find_evidence_kind(std::string_view name);

/// By what a file begins with: some thousands of bytes are enough. What looks like nothing known is
/// taken for a dump of the Flight Recorder, whose reader says what it is not.
EvidenceKind kind_of_evidence(std::string_view beginning);

}  // namespace pipesim::formats
