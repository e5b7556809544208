// What the claims of a diagnosis rest on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/postmortem/diagnosis.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::viz {

/// "#7", "none", "?".
std::string call_number_text(std::int64_t number);

/// "rank 1's host is in load_config (data.py:40)"; empty if no stack tells it.
std::string host_standing_text(const models::RankEvidence& of, std::uint32_t rank);

/// "is dead", of a process whose rank is not known.
std::string_view unplaced_text(const models::ProcessStanding& process);

/// The file and line of each claim, as a table that fits `width`; empty if there is none.
std::string reasons_table(const models::Evidence& evidence, const models::Diagnosis& diagnosis,
                          std::size_t width);

}  // namespace pipesim::viz
