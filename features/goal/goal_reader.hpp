// Reads GOAL, LogGOPSim's text format for programs of sends, receives and calculations.
// docs/reference/goal.md describes the format; LogGOPSim's src/LogGOPSim/txt2bin.re has the
// grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"

#include "features/goal/loggops.hpp"

namespace pipesim::formats {

/// The maximum size of a file, in bytes: positions have 32 bits.
inline constexpr std::size_t kMaxGoalBytes = 0xffffffff;

struct GoalFile {
  sim::LogGopsProgram program;
  std::vector<std::uint32_t> offsets;  // position of each op's statement in the text
};

/// Reads the program in `text`. Ops are numbered in text order. Returns nullopt after mistakes;
/// `diagnostics` lists at most 20 mistakes. Reads in one pass, without an allocation per statement.
std::optional<GoalFile> read_goal(std::string_view text, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
