// `pipesim import`: from the files of other tools to scenarios.
#pragma once

#include <optional>
#include <string>

#include "app/output/console.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::app {

struct ImportCommand {
  std::string path;                   // `-`: standard input
  std::optional<std::string> output;  // else standard output
  bool lower = false;                 // add sends and receives as PyTorch does
  bool fsdp = false;                  // and what FSDP does before them
  bool csv = false;                   // write a schedule file, no scenario
};

/// `pipesim import torch-schedule`. Returns the exit code. Throws FileError.
int run_import_schedule(const ImportCommand& command, const Console& console);

/// `pipesim import oneflow-plan`, of which only `path` and `output` matter. Returns the exit code.
/// Throws FileError.
int run_import_plan(const ImportCommand& command, const Console& console);

}  // namespace pipesim::app
