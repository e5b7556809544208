#include "app/run_command.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/files.hpp"
#include "app/progress.hpp"
#include "app/version.hpp"
#include "formats/order_file.hpp"
#include "formats/state_file.hpp"
#include "viz/diagnostic_text.hpp"
#include "viz/table.hpp"

namespace pipesim::app {
namespace {

// What may have several lines, in one.
std::string one_line(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return models::printable(text);
}

std::string parameter_table(const formats::Scenario& scenario) {
  if (scenario.parameters.empty()) return "The scenario has no parameters.\n";
  viz::Table table({"parameter", "value", "can be", "what it is"});
  for (const formats::Parameter& parameter : scenario.parameters) {
    std::string can_be(formats::type_name(parameter.value.type));
    if (!parameter.options.empty()) can_be = fmt::format("{}", fmt::join(parameter.options, ", "));
    table.add(
        {parameter.name, formats::to_text(parameter.value), can_be, one_line(parameter.about)});
  }
  return table.text();
}

formats::SavedState state_of(const RunCommand& command, const ScenarioInput& input,
                             const models::Simulation& simulation) {
  formats::SavedState state;
  state.made_by = version();
  state.path = input.path();
  state.scenario = input.text();
  state.patches = input.patches();
  state.settings = input.settings();
  if (command.until) state.until = command.until->text;
  state.jitter = command.jitter;
  state.interrupted = simulation.outcome.end == sim::RunEnd::kInterrupted;
  state.events = simulation.outcome.events;
  state.verdict = simulation.explanation.verdict;
  state.fingerprint = simulation.explanation.fingerprint;
  return state;
}

// Nothing without --replay, or with a reason.
std::optional<formats::SavedOrder> order_of(const RunCommand& command, const Console& console) {
  if (!command.replay_path) return std::nullopt;
  models::Diagnostics diagnostics;
  const std::string text = read_file(*command.replay_path, console.in, formats::kMostOrderBytes);
  auto order = formats::read_order(text, diagnostics);
  console.err << viz::diagnostic_text(
      diagnostics, *command.replay_path == "-" ? "standard input" : *command.replay_path, text,
      console.err_colour);
  return order;
}

}  // namespace

int run_run(const RunCommand& command, const Console& console) {
  const std::optional<formats::SavedOrder> order = order_of(command, console);
  if (command.replay_path && !order) return kExitUsage;
  ScenarioFiles files = command.files;
  std::vector<sim::Event> events;
  if (order) {
    files.settings.insert(files.settings.begin(), order->settings.begin(), order->settings.end());
    for (const models::OrderStep& step : order->steps) events.push_back(step.event);
  }
  ScenarioInput input(files, console);
  models::Diagnostics diagnostics;
  const auto complain = [&] {
    console.err << input.text_of(diagnostics, console.err_colour);
    return kExitUsage;
  };
  const std::optional<formats::Scenario> scenario = [&] {
    const ProgressLine progress(console);
    return input.read(diagnostics);
  }();
  if (!scenario) return complain();
  if (command.list_parameters) {
    console.out << parameter_table(*scenario);
    return kExitGood;
  }
  if (command.views.schedule_path && !scenario->graph.pipeline) {
    diagnostics.error({}, "--schedule writes the schedule of the scenario, which has none");
    return complain();
  }
  const auto replayed = [&](const models::Simulation& of) {
    const std::uint64_t done = of.outcome.order_steps;
    if (!order || done == order->steps.size() || of.outcome.end == sim::RunEnd::kInterrupted) {
      return true;
    }
    models::Diagnostic& error = diagnostics.error(
        {}, fmt::format("{} is an order of another scenario, or of other settings: step {} of {} "
                        "cannot happen here",
                        *command.replay_path, done + 1, order->steps.size()));
    const std::string& what = order->steps[done].what;
    if (!what.empty()) error.notes.push_back(fmt::format("the step is '{}'", what));
    return false;
  };
  const std::optional<models::Simulation> simulation = [&] {
    const Simulating now(console);
    ProgressLine progress(console);
    sim::RunOptions options;
    options.stop = console.interrupted;
    options.engine = command.engine;
    options.jitter = command.jitter;
    options.keep_log = command.views.need_log();
    options.progress = progress.run();
    if (order) options.order = &events;
    return simulate_until(scenario->graph, command.until, options, diagnostics);
  }();
  if (!simulation || !replayed(*simulation)) return complain();
  // What is left are warnings.
  complain();
  // Before all that takes time, so that a state is there whatever happens then.
  if (command.state_path) {
    diagnostics = models::Diagnostics();
    const auto state = formats::write_state(state_of(command, input, *simulation), diagnostics);
    if (!state) return complain();
    if (*command.state_path == "-") {
      console.out << *state;
    } else {
      write_file(*command.state_path, *state);
    }
  }
  return show(scenario->graph, *simulation, input.path(), command.views, console);
}

}  // namespace pipesim::app
