// Who sends what when in a collective algorithm, as a picture.
#pragma once

#include <cstdint>
#include <string>

#include "models/algorithm/algorithm_network.hpp"
#include "viz/draw/scene.hpp"

namespace pipesim::viz {

/// The most steps that are drawn.
inline constexpr std::size_t kMaxDrawnSteps = 20'000;

/// Ranks as lanes, in each a row for every thread block; a step is a box in the color of its first
/// chunk, as far right as the longest chain of steps before it. Steps that `run` did not do are
/// hatched. Throws DrawingError where there are too many steps.
Scene draw_algorithm(const models::CollectiveAlgorithm& algorithm,
                     const models::AlgoNetwork& network, const models::AlgoRun& run,
                     const std::string& title);

}  // namespace pipesim::viz
