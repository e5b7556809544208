// A picture of each rank's memory use over time.
#pragma once

#include <cstdint>
#include <optional>

#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "models/result/memory.hpp"
#include "models/result/simulation.hpp"
#include "viz/pictures/scene.hpp"

namespace pipesim::viz {

/// Maximum number of panels if nothing is folded.
inline constexpr std::size_t kMaxPanels = 150;

/// Draws one panel per rank, all to the same scale, with permanent memory at the bottom and
/// temporary memory above. `fold`: equal ranks share a panel, and a picture larger than a page
/// shows only some panels. `limit` is drawn as a line. Throws DrawingError if no memory is ever in
/// use, or if there are more than kMaxPanels panels.
Scene draw_memory(const models::TaskGraph& graph, const models::Simulation& run,
                  const models::MemoryUse& use, const models::RankSet& ranks, bool fold,
                  std::optional<std::int64_t> limit = {});

}  // namespace pipesim::viz
