// Where the ranks of a real job stand in the record of its script, for people.
#pragma once

#include <string>
#include <vector>

#include "models/record/job_standing.hpp"

namespace pipesim::viz {

/// A line for the ranks that stand alike. Places are lines of the script.
std::string job_places_text(const models::Record& record,
                            const std::vector<models::RankPlace>& places);

}  // namespace pipesim::viz
