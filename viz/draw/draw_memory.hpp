// How much memory each rank of a run has in use over time, as a picture.
#pragma once

#include <cstdint>
#include <optional>

#include "models/explain/simulation.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "models/measure/memory.hpp"
#include "viz/draw/scene.hpp"

namespace pipesim::viz {

/// The most panels that a picture has where nothing is folded.
inline constexpr std::size_t kMaxPanels = 150;

/// A panel per rank, all to one scale: what is held all the time below what comes and goes. `fold`:
/// ranks alike are one, and of more than a page some are shown. `limit` is drawn as a line. Throws
/// DrawingError where nothing is in use at any time, or there are too many panels.
Scene draw_memory(const models::TaskGraph& graph, const models::Simulation& run,
                  const models::MemoryUse& use, const models::RankSet& ranks, bool fold,
                  std::optional<std::int64_t> limit = {});

}  // namespace pipesim::viz
