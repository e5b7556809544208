// Lists of ranks on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pipesim::app {

/// Reads "0,1,4..7" or "0,1,4-7". Returns the ranks in increasing order, without duplicates.
/// Returns nullopt if `text` is not such a list, or has a rank that no job can have.
std::optional<std::vector<std::uint32_t>> parse_rank_list(const std::string& text);

}  // namespace pipesim::app
