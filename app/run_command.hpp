// `pipesim run`: simulate a scenario and report.
#pragma once

#include <optional>
#include <string>

#include "app/console.hpp"
#include "app/scenario_input.hpp"
#include "app/until.hpp"
#include "app/views.hpp"

namespace pipesim::app {

struct RunCommand {
  ScenarioFiles files;
  bool list_parameters = false;  // only say what --set can set
  std::optional<Until> until;
  std::optional<std::string> replay_path;  // an order that `pipesim check` has written
  sim::EngineKind engine = sim::EngineKind::kAuto;
  std::optional<std::string> state_path;  // for `pipesim explain`; `-`: standard output
  Views views;
};

/// Runs the command and returns its exit code. Throws FileError.
int run_run(const RunCommand& command, const Console& console);

}  // namespace pipesim::app
