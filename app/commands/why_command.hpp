// `pipesim why`: why one act is not done.
#pragma once

#include "app/input/act_query.hpp"
#include "app/input/scenario_input.hpp"
#include "app/output/console.hpp"
#include "sim/jitter.hpp"

namespace pipesim::app {

struct WhyCommand {
  ScenarioFiles files;
  ActQuery act;
  bool json = false;
  sim::Jitter jitter;
};

/// Runs the command and returns its exit code: kExitGood if the act is done, kExitBad if it never
/// will be. Throws FileError.
int run_why(const WhyCommand& command, const Console& console);

}  // namespace pipesim::app
