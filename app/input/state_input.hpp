// A saved end state, which is a recipe: its run is made again.
#pragma once

#include <string>

#include "app/input/text_input.hpp"
#include "app/output/console.hpp"
#include "formats/files/state_file.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/explain/simulation.hpp"

namespace pipesim::app {

struct Rerun {
  formats::Scenario scenario;
  models::Simulation simulation;
  bool interrupted = false;  // before it reached the saved state
};

/// Runs the scenario of `state` up to the saved end, with `options`. Mistakes in the scenario are
/// printed under `scenario_path`; then `file`, which the state was read from, fails, and `origin`
/// says which version made it.
Rerun run_again(const formats::SavedState& state, const std::string& scenario_path,
                const std::string& origin, sim::RunOptions options, TextInput& file,
                const Console& console);

}  // namespace pipesim::app
