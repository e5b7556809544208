// How much memory each rank of a run has in use over time, as a picture.
#pragma once

#include <cstdint>

#include "models/memory.hpp"
#include "models/rank_set.hpp"
#include "models/simulation.hpp"
#include "models/task_graph.hpp"
#include "viz/scene.hpp"

namespace pipesim::viz {

/// The most panels that a picture has, after ranks alike are folded.
inline constexpr std::size_t kMostPanels = 100;

/// A panel per rank, all to one scale. Ranks alike are one, if `fold`. Throws DrawingError where
/// nothing is in use at any time, or there are too many panels.
Scene draw_memory(const models::TaskGraph& graph, const models::Simulation& run,
                  const models::MemoryUse& use, const models::RankSet& ranks, bool fold);

}  // namespace pipesim::viz
