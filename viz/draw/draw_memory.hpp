// How much memory each rank of a run has in use over time, as a picture.
#pragma once

#include <cstdint>

#include "models/explain/simulation.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "models/measure/memory.hpp"
#include "viz/draw/scene.hpp"

namespace pipesim::viz {

/// The most panels that a picture has, after ranks alike are folded.
inline constexpr std::size_t kMaxPanels = 100;

/// A panel per rank, all to one scale. Ranks alike are one, if `fold`. Throws DrawingError where
/// nothing is in use at any time, or there are too many panels.
Scene draw_memory(const models::TaskGraph& graph, const models::Simulation& run,
                  const models::MemoryUse& use, const models::RankSet& ranks, bool fold);

}  // namespace pipesim::viz
