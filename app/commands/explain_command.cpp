// The state holds what the run was made from, so it is made again, and compared with what the state
// says came of it. Every view then has all that it has after `pipesim run`.
#include "app/commands/explain_command.hpp"

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/input/scenario_input.hpp"
#include "app/input/until.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/version.hpp"
#include "formats/files/state_file.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/measure/expectation.hpp"
#include "viz/text/diagnostic_text.hpp"
#include "viz/words.hpp"

namespace pipesim::app {
namespace {

using formats::SavedState;
using models::Diagnostics;
using models::Simulation;

std::string versions(const SavedState& state) {
  return state.made_by == version()
             ? fmt::format("made by pipesim {}, and so is this", state.made_by)
             : fmt::format("made by pipesim {}; this is {}", state.made_by, version());
}

void refuse_other_end(const SavedState& state, const Simulation& simulation,
                      Diagnostics& diagnostics) {
  const models::Explanation& found = simulation.explanation;
  const bool same_version = state.made_by == version();
  models::Diagnostic& error =
      diagnostics.error({}, fmt::format("{}, {} simulates it otherwise", versions(state),
                                        same_version ? "but it" : "which"));
  error.notes.push_back(
      fmt::format("the file says {}, fingerprint {}; here it is {}, fingerprint {}",
                  models::verdict_name(state.verdict), viz::fingerprint_text(state.fingerprint),
                  models::verdict_name(found.verdict), viz::fingerprint_text(found.fingerprint)));
  error.notes.emplace_back(same_version
                               ? "the file was changed, or one of the two is a modified build"
                               : fmt::format("open it with pipesim {}", state.made_by));
}

/// The run that the state is the end of. Nothing, with a reason, where it cannot be had again.
std::optional<Simulation> run_again(const SavedState& state, const formats::Scenario& scenario,
                                    const Views& views, const Console& console,
                                    Diagnostics& diagnostics) {
  std::optional<Until> until;
  if (!state.until.empty()) {
    until = parse_until(state.until);
    if (!until) {
      diagnostics.error({}, fmt::format("it was run with --until '{}', which says nothing here: {}",
                                        state.until, versions(state)));
      return std::nullopt;
    }
  }
  WatchedRun watched(console);
  watched.options.keep_log = views.need_log();
  watched.options.keep_act_times = views.need_timeline();
  watched.options.jitter = state.jitter;
  if (state.interrupted) watched.options.max_events = state.events;
  return simulate_until(scenario.graph, until, watched.options, diagnostics);
}

}  // namespace

int run_explain(const ExplainCommand& command, const Console& console) {
  const std::string shown = command.path == "-" ? "standard input" : command.path;
  const std::string text = read_file(command.path, console.in, formats::kMostStateBytes);
  const auto complain = [&](const Diagnostics& diagnostics, const std::string& path,
                            const std::string& source) {
    console.err << viz::diagnostic_text(diagnostics, path, source, console.err_colour);
    return kExitUsage;
  };

  Diagnostics in_file;
  const std::optional<SavedState> state = formats::read_state(text, in_file);
  if (!state) return complain(in_file, shown, text);

  Diagnostics in_scenario;
  const std::string scenario_path = fmt::format("{} in {}", state->path, shown);
  const auto scenario = formats::read_scenario(state->scenario, state->settings, in_scenario,
                                               {.patches = state->patches});
  std::optional<Simulation> simulation;
  if (scenario) simulation = run_again(*state, *scenario, command.views, console, in_scenario);
  console.err << viz::diagnostic_text(
      in_scenario, sources_of(scenario_path, state->scenario, state->patches), console.err_colour);
  if (!simulation) {
    in_file.error({}, fmt::format("its scenario cannot be run: {}", versions(*state)));
    return complain(in_file, shown, text);
  }

  const bool reached = simulation->outcome.end != sim::RunEnd::kInterrupted ||
                       (state->interrupted && simulation->outcome.events == state->events);
  if (!reached) {
    console.err << fmt::format("{}: interrupted before the saved state was reached\n", shown);
    return kExitInterrupted;
  }
  const models::Explanation& end = simulation->explanation;
  if (end.verdict != state->verdict || end.fingerprint != state->fingerprint) {
    refuse_other_end(*state, *simulation, in_file);
    return complain(in_file, shown, text);
  }
  return show(scenario->graph, *simulation, state->path, command.views, console);
}

}  // namespace pipesim::app
