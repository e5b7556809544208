// What every stream of every rank did when, and where it stands still at the end, as a picture.
#pragma once

#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/measure/timeline.hpp"
#include "viz/draw/scene.hpp"

namespace pipesim::viz {

/// The most rows that a picture has, after ranks that did the same are folded.
inline constexpr std::size_t kMaxRows = 400;

/// A row per rank and lane. Ranks that did the same at the same times are one, if `fold`. Throws
/// DrawingError where there are too many rows.
Scene draw_timeline(const models::TaskGraph& graph, const models::Simulation& run,
                    const models::Timeline& timeline, bool fold);

}  // namespace pipesim::viz
