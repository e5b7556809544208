// `pipesim lint`: what is legal but suspect, without a run.
#pragma once

#include <string>
#include <vector>

#include "app/input/scenario_input.hpp"
#include "app/output/console.hpp"

namespace pipesim::app {

struct LintCommand {
  ScenarioFiles files;
  std::vector<std::string> ignored;  // rules, of which nothing is told; each is one
  bool json = false;
};

/// Runs the command and returns its exit code: kExitBad where something is suspect. Throws
/// FileError.
int run_lint(const LintCommand& command, const Console& console);

}  // namespace pipesim::app
