// The picture of stages: boxes in columns from left to right, with arrows between neighbors.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "viz/pictures/scene.hpp"

namespace pipesim::viz {

struct StageCell {
  std::string name;  // "stage 3", "ranks 0-15"
  std::vector<std::string> lines;
  bool folded = false;  // represents several stages
};

/// One position in the pipeline.
struct StageColumn {
  std::string name;  // text above the column; may be empty
  std::vector<StageCell> cells;
};

/// An arrow from one cell to another; a cell is a column and a row.
struct StageFlow {
  std::pair<std::size_t, std::size_t> from;
  std::pair<std::size_t, std::size_t> to;
  std::string label;
  bool back = false;  // against the pipeline direction; dashed

  friend auto operator<=>(const StageFlow&, const StageFlow&) = default;
};

struct StageGrid {
  std::string title;
  std::vector<std::string> about;
  std::string forward;  // data that arrows carry, for the legend; empty: no arrows
  std::string back;
  std::vector<StageColumn> columns;
  std::vector<StageFlow> flows;
};

/// Draws lines of `kStageColumns` columns. An arrow between cells that are not neighbors is split
/// into two short arrows, with the names of both cells.
Scene draw_grid(StageGrid grid);

inline constexpr std::size_t kStageColumns = 8;  // columns per line

/// Groups `count` positions of a pipeline into columns [begin, end). Each position has its own
/// column if all fit on one line. Otherwise runs of equal positions are folded, except for the
/// first and last two. If more than `kMaxStageColumns` are left, neighbors are also folded.
std::vector<std::pair<std::size_t, std::size_t>> stage_columns(
    std::size_t count, bool fold, const std::function<bool(std::size_t, std::size_t)>& equal);

inline constexpr std::size_t kMaxStageColumns = 64;

}  // namespace pipesim::viz
