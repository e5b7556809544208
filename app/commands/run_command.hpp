// `pipesim run`: simulate a scenario and report.
#pragma once

#include <optional>
#include <string>

#include "app/input/scenario_input.hpp"
#include "app/input/until.hpp"
#include "app/output/console.hpp"
#include "app/output/views.hpp"

namespace pipesim::app {

struct RunCommand {
  ScenarioFiles files;
  bool list_parameters = false;  // only say what --set can set
  std::optional<Until> until;
  std::optional<std::string> replay_path;  // an order that `pipesim check` has written
  sim::EngineKind engine = sim::EngineKind::kAuto;
  sim::Jitter jitter;
  std::optional<std::string> state_path;  // for `pipesim explain`; `-`: standard output
  Views views;
};

/// Runs the command and returns its exit code. Throws FileError.
int run_run(const RunCommand& command, const Console& console);

}  // namespace pipesim::app
