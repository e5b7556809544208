// `pipesim explain`: open a saved end state.
#pragma once

#include <string>

#include "app/output/console.hpp"
#include "app/output/views.hpp"

namespace pipesim::app {

struct ExplainCommand {
  std::string path;  // of the state; `-`: standard input
  Views views;
};

/// Runs the command and returns its exit code, which is that of the run. Throws FileError.
int run_explain(const ExplainCommand& command, const Console& console);

}  // namespace pipesim::app
