// Boxes in columns from left to right, with arrows between neighbours: how stages are drawn.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "viz/draw/scene.hpp"

namespace pipesim::viz {

struct StageCell {
  std::string name;  // "stage 3", "ranks 0-15"
  std::vector<std::string> lines;
  bool folded = false;  // it stands for several
};

/// What stands at one place of the pipeline.
struct StageColumn {
  std::string name;  // above it; may be empty
  std::vector<StageCell> cells;
};

/// From one cell to another, by column and row.
struct StageFlow {
  std::pair<std::size_t, std::size_t> from;
  std::pair<std::size_t, std::size_t> to;
  std::string label;
  bool back = false;  // against the pipeline: dashed

  friend auto operator<=>(const StageFlow&, const StageFlow&) = default;
};

struct StageGrid {
  std::string title;
  std::vector<std::string> about;
  std::string forward;  // what arrows carry, for the legend; empty: there are none
  std::string back;
  std::vector<StageColumn> columns;
  std::vector<StageFlow> flows;
};

/// Lines of `kStageColumns` columns. An arrow to a place that is not beside its own ends at the
/// edge with the name of that place.
Scene draw_grid(const StageGrid& grid);

inline constexpr std::size_t kStageColumns = 8;  // beside each other

/// Which of `count` places of a pipeline share a column: all have their own as long as a line has
/// room; then runs of equal ones are folded, except for the first and the last two; then, where
/// still more than `kMaxStageColumns` are left, neighbours.
std::vector<std::pair<std::size_t, std::size_t>> stage_columns(
    std::size_t count, bool fold, const std::function<bool(std::size_t, std::size_t)>& equal);

inline constexpr std::size_t kMaxStageColumns = 64;

}  // namespace pipesim::viz
