// GOAL: the text format of LogGOPSim for programs of sends, receives and calculations. docs/goal.md
// describes it; the grammar is that of LogGOPSim's src/LogGOPSim/txt2bin.re.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/diagnostics.hpp"
#include "sim/ids.hpp"
#include "sim/loggops.hpp"

namespace pipesim::formats {

/// Above so many bytes a file is refused: places in it are numbers of 32 bits.
inline constexpr std::size_t kMostGoalBytes = 0xffffffff;

struct GoalFile {
  sim::LogGopsProgram program;
  std::vector<std::uint32_t> offsets;  // of each op: where its statement begins in the text
};

/// The program in `text`. Ops are numbered as they stand there. Nothing where there are mistakes,
/// which `diagnostics` then has, at most 20 of them. One pass; no allocation per statement.
std::optional<GoalFile> read_goal(std::string_view text, models::Diagnostics& diagnostics);

/// Finds out how the ops of a file are called, and where they stand. File and text must outlive it.
class GoalNames {
 public:
  GoalNames(const GoalFile& file, std::string_view text);

  /// Its label, or without one what it is and its line: "send@12".
  std::string name(sim::ActorId op) const;

  models::Place place(sim::ActorId op) const;

  /// The statement without its label: "send 1024b to 1 tag 7".
  std::string_view statement(sim::ActorId op) const;

 private:
  const GoalFile& file_;
  std::string_view text_;
  std::vector<std::uint32_t> lines_before_;  // each block of the text
};

}  // namespace pipesim::formats
