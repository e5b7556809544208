// A picture of a collective algorithm: each rank's sends and receives over time.
#pragma once

#include <cstdint>
#include <string>

#include "viz/pictures/scene.hpp"

#include "features/algorithm/algorithm_network.hpp"

namespace pipesim::viz {

/// Maximum number of steps in a picture.
inline constexpr std::size_t kMaxDrawnSteps = 20'000;

/// Draws one lane per rank with one row per thread block. A step is a box in the color of its first
/// chunk. Its column is the length of the longest chain of steps before it. Steps that `run` did
/// not reach are hatched. Throws DrawingError if there are more than kMaxDrawnSteps steps.
Scene draw_algorithm(const models::CollectiveAlgorithm& algorithm,
                     const models::AlgoNetwork& network, const models::AlgoRun& run,
                     const std::string& title);

}  // namespace pipesim::viz
