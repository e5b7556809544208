// `pipesim fix`: the smallest changes after which a hang is gone.
#pragma once

#include <optional>
#include <string>

#include "app/input/scenario_input.hpp"
#include "app/output/console.hpp"

namespace pipesim::app {

struct FixCommand {
  ScenarioFiles files;
  bool json = false;
  std::optional<std::string> folder;  // for the patches, as fix_1.yaml, ...
};

/// Runs the command and returns its exit code: kExitGood where there is a fix, or nothing to fix.
/// Throws FileError.
int run_fix(const FixCommand& command, const Console& console);

}  // namespace pipesim::app
