#include "app/input/state_input.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/input/until.hpp"
#include "app/output/progress.hpp"

namespace pipesim::app {

Rerun run_again(const formats::SavedState& state, const std::string& scenario_path,
                const std::string& origin, sim::RunOptions options, TextInput& file,
                const Console& console) {
  std::optional<Until> until;
  if (!state.until.empty()) {
    until = parse_until(state.until);
    if (!until) {
      file.fail(models::Code::kOwnFile,
                fmt::format("cannot read its '--until {}': {}", state.until, origin));
    }
  }
  TextInput input(scenario_path, state.scenario, console, state.patches);
  auto scenario = formats::read_scenario(state.scenario, state.settings, input.diagnostics(),
                                         {.patches = state.patches});
  std::optional<models::Simulation> simulation;
  if (scenario) {
    WatchedRun watched(console);
    options.stop = watched.options.stop;
    options.progress = watched.options.progress;
    options.jitter = state.jitter;
    if (state.interrupted) options.max_events = state.events;
    simulation = simulate_until(scenario->graph, until, options, input.diagnostics());
  }
  input.report();
  if (!simulation)
    file.fail(models::Code::kOwnFile, fmt::format("its scenario cannot be run: {}", origin));
  const bool stopped = simulation->outcome.end == sim::RunEnd::kInterrupted;
  const bool reached = state.interrupted && simulation->outcome.events == state.events;
  return {std::move(*scenario), std::move(*simulation), stopped && !reached};
}

}  // namespace pipesim::app
