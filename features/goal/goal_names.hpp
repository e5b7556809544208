// The names of the ops of a GOAL file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "sim/ids.hpp"

#include "features/goal/goal_reader.hpp"

namespace pipesim::formats {

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
