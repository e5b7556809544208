// Reads GOAL, LogGOPSim's text format for programs of sends, receives and calculations.
// docs/reference/goal.md describes the format; LogGOPSim's src/LogGOPSim/txt2bin.re has the
// grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "sim/ids.hpp"

#include "features/goal/loggops.hpp"

namespace pipesim::formats {

/// The maximum size of a file, in bytes: positions have 32 bits.
inline constexpr std::size_t kMaxGoalBytes = 0xffffffff;

struct GoalFile {
  sim::LogGopsProgram program;
  std::vector<std::uint32_t> offsets;  // position of each op's statement in the text
};

/// Reads the program in `text`. Ops are numbered in text order. Returns nullopt after mistakes;
/// `diagnostics` lists at most 20 mistakes. Reads in one pass.
std::optional<GoalFile> read_goal(std::string_view text, models::Diagnostics& diagnostics);

/// Finds the names and places of ops. File and text must outlive the object.
class GoalNames {
 public:
  GoalNames(const GoalFile& file, std::string_view text);

  /// Returns the label of the op or, without a label, its kind and line: "send@12".
  std::string name(sim::ActorId op) const;

  models::Place place(sim::ActorId op) const;

  /// Returns the statement without its label: "send 1024b to 1 tag 7".
  std::string_view statement(sim::ActorId op) const;

 private:
  const GoalFile& file_;
  std::string_view text_;
  std::vector<std::uint32_t> lines_before_;  // number of lines before each block of the text
};

}  // namespace pipesim::formats
