// GOAL: the text format of LogGOPSim for programs of sends, receives and calculations.
// docs/reference/goal.md describes it; the grammar is that of LogGOPSim's src/LogGOPSim/txt2bin.re.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "sim/loggops/loggops.hpp"

namespace pipesim::formats {

/// Above so many bytes a file is refused: places in it are numbers of 32 bits.
inline constexpr std::size_t kMaxGoalBytes = 0xffffffff;

struct GoalFile {
  sim::LogGopsProgram program;
  std::vector<std::uint32_t> offsets;  // of each op: where its statement begins in the text
};

/// The program in `text`. Ops are numbered as they stand there. Nothing where there are mistakes,
/// which `diagnostics` then has, at most 20 of them. One pass; no allocation per statement.
std::optional<GoalFile> read_goal(std::string_view text, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
