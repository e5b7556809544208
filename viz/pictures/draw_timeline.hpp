// A picture of a run: the ops of every stream of every rank over time, and the blocked ops at its
// end.
#pragma once

#include <cstdint>
#include <optional>

#include "models/graph/task_graph.hpp"
#include "models/result/simulation.hpp"
#include "models/result/timeline.hpp"
#include "viz/pictures/scene.hpp"

namespace pipesim::viz {

/// Maximum number of rows: kMaxRows if identical ranks are folded, kMaxAllRows if nothing is
/// folded.
inline constexpr std::size_t kMaxRows = 1024;
inline constexpr std::size_t kMaxAllRows = 4096;

struct TimelineStyle : PictureStyle {
  double width = 1280;                  // width of the picture, in points
  std::optional<std::int64_t> from_ns;  // time range of the picture; default: the whole run
  std::optional<std::int64_t> to_ns;
};

/// Draws one row per rank and lane; the more rows, the lower each row. Ranks with the same ops at
/// the same times share their rows, unless `style.all`. Throws DrawingError if there are too many
/// rows.
Scene draw_timeline(const models::TaskGraph& graph, const models::Simulation& run,
                    const models::Timeline& timeline, const TimelineStyle& style);

}  // namespace pipesim::viz
