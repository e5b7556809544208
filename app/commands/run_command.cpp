#include "app/commands/run_command.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/version.hpp"
#include "formats/files/order_file.hpp"
#include "formats/files/state_file.hpp"
#include "viz/table.hpp"
#include "viz/text/diagnostic_text.hpp"

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

// The order that --replay names, if it names one.
class Replay {
 public:
  /// False, with a reason, where the file has no order.
  bool read(const std::optional<std::string>& path, const Console& console) {
    if (!path) return true;
    path_ = shown_path(*path);
    models::Diagnostics diagnostics;
    const std::string text = read_file(*path, console.in, formats::kMostOrderBytes);
    order_ = formats::read_order(text, diagnostics);
    console.err << viz::diagnostic_text(diagnostics, path_, text, console.err_colour);
    if (!order_) return false;
    for (const models::OrderStep& step : order_->steps) events_.push_back(step.event);
    return true;
  }

  /// `files`, with the settings that the order was found with below those that it has.
  ScenarioFiles with_settings(ScenarioFiles files) const {
    if (order_) {
      files.settings.insert(files.settings.begin(), order_->settings.begin(),
                            order_->settings.end());
    }
    return files;
  }

  const std::vector<sim::Event>* events() const { return order_ ? &events_ : nullptr; }

  /// Whether all of the order happened. Otherwise `diagnostics` says what did not.
  bool was_done(const sim::Outcome& outcome, models::Diagnostics& diagnostics) const {
    const std::uint64_t done = outcome.order_steps;
    if (done == events_.size() || outcome.end == sim::RunEnd::kInterrupted) return true;
    models::Diagnostic& error = diagnostics.error(
        {}, fmt::format("{} is an order of another scenario, or of other settings: step {} of {} "
                        "cannot happen here",
                        path_, done + 1, events_.size()));
    const std::string& what = order_->steps[done].what;
    if (!what.empty()) {
      error.notes.push_back(fmt::format("the step is '{}'", models::printable(what)));
    }
    return false;
  }

 private:
  static std::string shown_path(const std::string& path) {
    return path == "-" ? "standard input" : path;
  }

  std::string path_;
  std::optional<formats::SavedOrder> order_;
  std::vector<sim::Event> events_;
};

}  // namespace

int run_run(const RunCommand& command, const Console& console) {
  Replay replay;
  if (!replay.read(command.replay_path, console)) return kExitUsage;
  ScenarioInput input(replay.with_settings(command.files), console);
  models::Diagnostics diagnostics;
  const auto complain = [&] { return input.complain(diagnostics, console); };
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
  const std::optional<models::Simulation> simulation = [&] {
    WatchedRun watched(console);
    watched.options.engine = command.engine;
    watched.options.jitter = command.jitter;
    watched.options.keep_log = command.views.need_log();
    watched.options.keep_act_times = command.views.need_timeline();
    watched.options.order = replay.events();
    return simulate_until(scenario->graph, command.until, watched.options, diagnostics);
  }();
  if (!simulation || !replay.was_done(simulation->outcome, diagnostics)) return complain();
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
