// The positions of a real job's ranks in the record of its script, as text.
#pragma once

#include <string>
#include <vector>

#include "features/diagnose/job_standing.hpp"

namespace pipesim::viz {

/// Returns one line for the ranks at each position. Positions are lines of the script.
std::string job_places_text(const models::Record& record,
                            const std::vector<models::RankPlace>& places);

}  // namespace pipesim::viz
