// What every stream of every rank did when, and where it stands still at the end, as a picture.
#pragma once

#include <cstdint>
#include <optional>

#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/measure/timeline.hpp"
#include "viz/draw/scene.hpp"

namespace pipesim::viz {

/// The most rows that a picture has, after ranks that did the same are folded; and unfolded.
inline constexpr std::size_t kMaxRows = 1024;
inline constexpr std::size_t kMaxAllRows = 4096;

struct TimelineStyle : PictureStyle {
  double width = 1280;                  // in points
  std::optional<std::int64_t> from_ns;  // what of the time is shown
  std::optional<std::int64_t> to_ns;
};

/// A row per rank and lane, lower ones where there are many. Ranks that did the same at the same
/// times are one, unless `style.all`. Throws DrawingError where there are too many rows.
Scene draw_timeline(const models::TaskGraph& graph, const models::Simulation& run,
                    const models::Timeline& timeline, const TimelineStyle& style);

}  // namespace pipesim::viz
