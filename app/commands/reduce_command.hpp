// `pipesim reduce`: a hanging scenario made smaller while its hang stays the same.
#pragma once

#include <optional>
#include <string>

#include "app/input/scenario_input.hpp"
#include "app/output/console.hpp"

namespace pipesim::app {

struct ReduceCommand {
  ScenarioFiles files;
  std::optional<std::string> output;  // else the scenario goes to standard output
  bool json = false;                  // what was done, as data
};

/// Runs the command and returns its exit code: kExitGood where a scenario was written, also if it
/// is no smaller. Interrupted, it writes what it has reached. Throws FileError.
int run_reduce(const ReduceCommand& command, const Console& console);

}  // namespace pipesim::app
