// Programs as lanes: the steps of a rank from left to right, with loops as boxes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/result/timeline.hpp"
#include "viz/pictures/scene.hpp"

namespace pipesim::viz {

/// A step, or a loop of steps.
struct LaneStep {
  models::WorkKind kind = models::WorkKind::kCompute;
  std::vector<std::string> lines;  // text in the box; the first line is the name
  std::string tip;
  std::uint32_t number = 0;  // index of the step's actor in TaskGraph::actors
  bool differs = false;      // whether the lane with which this lane is compared lacks the step
  bool missing = false;      // whether only the lane with which this lane is compared has the step

  std::uint64_t times = 1;  // iterations of `parts`
  std::vector<LaneStep> parts;
};

struct TaskLane {
  std::string name;  // "ranks 0-15 (x16)"; empty: same name as the lane above
  std::string note;  // text next to the name
  std::vector<LaneStep> steps;
};

/// All lanes of a picture, with its title and the lines below the title.
struct TaskLanes {
  std::string title;
  std::vector<std::string> about;
  std::vector<TaskLane> lanes;
};

/// Draws the lanes. Throws DrawingError if they do not fit on a page, unless `all`.
Scene draw_lanes(const TaskLanes& lanes, bool all);

/// One token of a sequence or, if `parts` is not empty, `times` repetitions of `parts`.
struct Repeat {
  std::size_t first = 0;  // index of the first token
  std::uint64_t times = 1;
  std::size_t period = 1;  // number of tokens in one repetition
  std::vector<Repeat> parts;
};

/// Finds loops in a sequence. At each position, picks the loop that covers the most tokens; among
/// equals, the one with the shortest period.
std::vector<Repeat> find_repeats(const std::vector<std::uint32_t>& tokens);

/// Returns the step of the token at `first`. In a loop, the step stands for the tokens at `first` +
/// each of `offsets`, one per iteration.
using StepOfToken =
    std::function<LaneStep(std::size_t first, const std::vector<std::size_t>& offsets)>;

/// Returns the steps of a sequence of tokens, with its loops.
std::vector<LaneStep> find_loops(const std::vector<std::uint32_t>& tokens, const StepOfToken& step);

}  // namespace pipesim::viz
