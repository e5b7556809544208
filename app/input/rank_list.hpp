// Ranks as users list them on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pipesim::app {

/// "0,1,4..7" or "0,1,4-7", in increasing order and each once. Nothing if `text` is not such a
/// list, or has a rank beyond the largest that a job can have.
std::optional<std::vector<std::uint32_t>> parse_rank_list(const std::string& text);

}  // namespace pipesim::app
