// Programs as lanes of steps from left to right, with loops as boxes: what a rank does one after
// the other, at most a page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/measure/timeline.hpp"
#include "viz/draw/scene.hpp"

namespace pipesim::viz {

/// A step, or a loop of steps.
struct LaneStep {
  models::WorkKind kind = models::WorkKind::kCompute;
  std::vector<std::string> lines;  // the first is its name
  std::string tip;
  std::uint32_t number = 0;  // of whoever makes it
  bool differs = false;      // from the lane that its own is compared with

  std::uint64_t times = 1;  // of `parts`
  std::vector<LaneStep> parts;
};

struct TaskLane {
  std::string name;  // "ranks 0-15 (x16)"; empty: that of the lane above
  std::string note;  // beside it
  std::vector<LaneStep> steps;
};

/// What all lanes have in common.
struct TaskLanes {
  std::string title;
  std::vector<std::string> about;
  std::vector<TaskLane> lanes;
};

/// Throws DrawingError where the lanes take more than a page, unless `all`.
Scene draw_lanes(const TaskLanes& lanes, bool all);

/// One of a sequence or, where it has parts, as many of these one after the other as `times` says.
struct Repeat {
  std::size_t first = 0;  // where it begins in what was given
  std::uint64_t times = 1;
  std::size_t period = 1;  // how much of that its parts are
  std::vector<Repeat> parts;
};

/// Finds loops in a sequence: always the one that covers most from there on, the shortest of
/// equals.
std::vector<Repeat> find_repeats(const std::vector<std::uint32_t>& tokens);

}  // namespace pipesim::viz
