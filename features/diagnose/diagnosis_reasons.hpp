// The evidence for the claims of a diagnosis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/evidence.hpp"

namespace pipesim::viz {

/// Formats the number of a call: "#7", "none", "?".
std::string call_number_text(std::int64_t number);

/// Returns "rank 1's host is in load_config (data.py:40)"; empty if no stack shows the position.
std::string host_standing_text(const models::RankEvidence& of, std::uint32_t rank);

/// Returns the state of a process of unknown rank, such as "is dead".
std::string_view unplaced_text(const models::ProcessStanding& process);

/// Returns a table of the claims with their files and lines, at most `width` characters wide.
/// Returns an empty string if no claim has a file.
std::string reasons_table(const models::Evidence& evidence, const models::Diagnosis& diagnosis,
                          std::size_t width);

}  // namespace pipesim::viz
