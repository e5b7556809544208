// `pipesim run`: simulate a scenario and report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/until.hpp"
#include "app/views.hpp"
#include "formats/scenario.hpp"

namespace pipesim::app {

struct RunCommand {
  std::string path;  // `-`: standard input
  std::vector<formats::Setting> settings;
  bool list_parameters = false;  // only say what --set can set
  std::optional<Until> until;
  sim::EngineKind engine = sim::EngineKind::kAuto;
  sim::Jitter jitter;
  std::optional<std::string> state_path;  // for `pipesim explain`; `-`: standard output
  Views views;
};

/// Runs the command and returns its exit code. Throws FileError.
int run_run(const RunCommand& command, const Console& console);

}  // namespace pipesim::app
