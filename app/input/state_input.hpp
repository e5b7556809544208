// A saved end state: stores the inputs of a run, and reruns it.
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
  bool interrupted = false;  // interrupted before the saved state
};

/// Reruns the scenario of `state` up to the saved end, with `options`. Prints mistakes in the
/// scenario under `scenario_path`, and then fails for `file`, the file of the state. `origin` names
/// the version that wrote the state.
Rerun run_again(const formats::SavedState& state, const std::string& scenario_path,
                const std::string& origin, sim::RunOptions options, TextInput& file,
                const Console& console);

}  // namespace pipesim::app
