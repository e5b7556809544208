// The pictures of `pipesim draw`, except the wait-for graph (wait_for_dot.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/result/memory.hpp"
#include "models/result/simulation.hpp"
#include "models/result/timeline.hpp"
#include "viz/pictures/scene.hpp"

namespace pipesim::viz {

/// Maximum number of rows of a timeline: kMaxRows if identical ranks are folded, kMaxAllRows if
/// nothing is folded.
inline constexpr std::size_t kMaxRows = 1024;
inline constexpr std::size_t kMaxAllRows = 4096;

struct TimelineStyle : PictureStyle {
  double width = 1280;                  // width of the picture, in points
  std::optional<std::int64_t> from_ns;  // time range of the picture; default: the whole run
  std::optional<std::int64_t> to_ns;
};

/// Draws the ops of every stream of every rank over time, and the blocked ops at the end: one row
/// per rank and lane. Many rows are drawn lower. Ranks with the same ops at the same times share
/// their rows, unless `style.all`. Throws DrawingError if there are too many rows.
Scene draw_timeline(const models::TaskGraph& graph, const models::Simulation& run,
                    const models::Timeline& timeline, const TimelineStyle& style);

/// A run with its timeline.
struct TimelineRun {
  const models::TaskGraph* graph = nullptr;
  const models::Simulation* run = nullptr;
  const models::Timeline* timeline = nullptr;
  std::string model{};  // PictureStyle::model of this run
};

/// Draws several timelines below each other, on one scale.
Scene draw_timelines(const std::vector<TimelineRun>& runs, const TimelineStyle& style);

/// Maximum number of tasks in a layout.
inline constexpr std::size_t kMaxTasks = 600;

/// Draws a task graph. Actors have a frame per class of ranks, with a frame per stream, and arrows
/// between tasks. Host programs and schedules have a lane per class or rank, and so do actors that
/// would be too small to read. A lane shows the steps in order, with loops as frames (lanes.hpp).
///
/// Unless `style.all`, identical ranks (models/lowering/rank_classes.hpp) are drawn once, and their
/// rare extra tasks are marked. Throws DrawingError, for example if `style.all` asks for more than
/// kMaxTasks tasks.
std::string draw_tasks(const models::TaskGraph& graph, const models::Lowered& lowered,
                       const models::RankSet& ranks, const PictureStyle& style,
                       PictureFormat format);

/// Draws pipeline stages, or classes of identical ranks, and the data sent between them, in columns
/// in pipeline order. A schedule has one column per rank, with a box for each stage
/// and its cost. Other graphs have one box per class of ranks (models/lowering/rank_classes.hpp).
/// Arrows are labeled with the data sent. `fold`: equal neighbors share a column if the columns do
/// not fit on one line.
Scene draw_stages(const models::TaskGraph& graph, const models::Lowered& lowered, bool fold);

/// Maximum number of panels of memory if nothing is folded.
inline constexpr std::size_t kMaxPanels = 150;

/// Draws the memory use over time: one panel per rank, all to the same scale, with permanent memory
/// at the bottom and temporary memory above. `fold`: equal ranks share a panel, and a picture
/// larger than a page shows only some panels. `limit` is drawn as a line. Throws DrawingError if no
/// memory is ever in use, or if there are more than kMaxPanels panels.
Scene draw_memory(const models::TaskGraph& graph, const models::Simulation& run,
                  const models::MemoryUse& use, const models::RankSet& ranks, bool fold,
                  std::optional<std::int64_t> limit = {});

}  // namespace pipesim::viz
