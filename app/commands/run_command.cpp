#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/input/input_kinds.hpp"
#include "app/input/op_query.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "formats/scenario/order_file.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/result/memory.hpp"
#include "models/result/pipeline_report.hpp"
#include "models/result/simulation.hpp"
#include "sim/fixed_order.hpp"
#include "viz/report/table.hpp"

namespace pipesim::app {
namespace {

// Joins the lines of `text` with spaces, and makes the result printable.
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

// The saved order of events that --replay follows.
struct Replay {
  std::string path;  // path as shown in messages
  formats::SavedOrder order;
  std::vector<sim::Event> events;
};

std::optional<Replay> read_replay(const Arguments& arguments, const Console& console) {
  const auto path = arguments.text("replay");
  if (!path) return std::nullopt;
  TextInput file = TextInput::read(*path, formats::kMaxOrderBytes, console);
  Replay replay;
  replay.path = shown_path(*path);
  replay.order = file.require(formats::read_order(file.text(), file.diagnostics()));
  file.report();
  for (const models::OrderStep& step : replay.order.steps) replay.events.push_back(step.event);
  return replay;
}

// Reports an error and throws if a step of the order cannot happen in this run.
void check_replayed(const Replay& replay, const sim::Outcome& outcome, ScenarioInput& input) {
  const std::uint64_t done = outcome.order_steps;
  if (done == replay.events.size() || outcome.end == sim::RunEnd::kInterrupted) return;
  models::Diagnostic& error = input.diagnostics().error(
      {}, models::Code::kOtherRun,
      fmt::format(
          "{} was written for another scenario or other settings: step {} of {} cannot happen here",
          replay.path, done + 1, replay.events.size()));
  const std::string& what = replay.order.steps[done].what;
  if (!what.empty()) {
    error.notes.push_back(fmt::format("the step is '{}'", models::printable(what)));
  }
  input.fail();
}

// Runs models::simulate(), at most until `until`. Adds an error to `diagnostics` if `graph` has no
// such op, or if this run cannot use the fixed order that `options` require. Adds a warning if the
// run ends before it reaches the op.
std::optional<models::Simulation> simulate_until(const models::TaskGraph& graph,
                                                 const std::optional<Until>& until,
                                                 sim::RunOptions options,
                                                 models::Diagnostics& diagnostics) {
  std::optional<models::Lowered> lowered = models::lower(graph, diagnostics);
  if (!lowered) return std::nullopt;
  if (!options.keep_op_times) {
    const bool has_sizes = models::has_sizes(graph);
    options.keep_op_times = graph.pipeline.has_value() || has_sizes;
    if (graph.pipeline && !has_sizes) {
      options.last_times_of = models::actors_without_compute(*graph.pipeline, *lowered);
    }
  }
  if (until && until->time) options.until = *until->time;
  std::optional<OpQuery> query;
  if (until && !until->time) {
    query = read_op(until->text, graph, "--until", diagnostics);
    const auto found =
        query ? find_op(*query, graph, *lowered, "--until", diagnostics) : std::nullopt;
    if (!found) return std::nullopt;
    options.until_actor = found->actor;
    options.until_k = found->k;
  }
  const bool only_fixed_order = options.engine == sim::EngineKind::kFixedOrder;
  if (only_fixed_order) {
    if (const char* obstacle = sim::fixed_order_obstacle(lowered->plan, options)) {
      diagnostics.error({}, models::Code::kEngine,
                        fmt::format("--engine sweep cannot run this: {}", obstacle));
      return std::nullopt;
    }
  }
  models::Simulation result = models::simulate(graph, std::move(*lowered), options);
  if (only_fixed_order && !result.outcome.in_fixed_order &&
      result.outcome.end != sim::RunEnd::kInterrupted) {
    diagnostics.error({}, models::Code::kEngine, "--engine sweep: this run does not complete")
        .notes.emplace_back("use '--engine auto' to see how it ends");
    return std::nullopt;
  }
  const sim::ActorId actor = options.until_actor;
  const bool missed = actor.valid() && result.outcome.end != sim::RunEnd::kInterrupted &&
                      result.outcome.state.entered(result.lowered.plan, actor) <= options.until_k;
  if (missed) {
    diagnostics.warning({}, models::Code::kEngine,
                        fmt::format("--until: {} is never entered; this is the end of the "
                                    "whole run",
                                    op_query_text(*query)));
  }
  return result;
}

std::optional<Until> until_option(const Arguments& arguments) {
  const auto text = arguments.text("until");
  if (!text) return std::nullopt;
  auto until = parse_until(*text);
  if (until) return until;
  throw UsageError(models::Code::kOptionValue,
                   fmt::format("invalid value '{}' for '--until'", *text),
                   "expected a time, as in 12ms, or an op, as in rank0:gather#3");
}

// Runs only representative ranks: each of the other ranks ends like its representative. Returns
// nullopt if `graph` cannot be folded in this way.
std::optional<models::FoldedRun> run_folded(const models::TaskGraph& graph,
                                            const Console& console) {
  const WatchedRun watched(console);
  return models::run_folded(graph, watched.options);
}

sim::EngineKind engine_option(const Arguments& arguments) {
  const std::string name = arguments.value("engine");
  if (name == "events") return sim::EngineKind::kEvents;
  return name == "sweep" ? sim::EngineKind::kFixedOrder : sim::EngineKind::kAuto;
}

int run_scenario(const Arguments& arguments, const Console& console) {
  arguments.exclude("replay", {"until", "engine", "jitter", "seed"});
  ScenarioFiles files = scenario_files(arguments);
  if (arguments.has("loggops")) {
    throw UsageError(models::Code::kOptionConflict, "'--loggops' is for GOAL files",
                     "names of GOAL files end in .goal");
  }
  const std::optional<Until> until = until_option(arguments);
  const sim::Jitter variation = jitter(arguments);
  const sim::EngineKind engine = engine_option(arguments);
  const Views asked = views(arguments);
  check_one_standard_input({files.path, arguments.text("replay").value_or("")});

  const std::optional<Replay> replay = read_replay(arguments, console);
  // Settings on the command line override the settings in the order file.
  if (replay) {
    const auto& settings = replay->order.settings;
    files.settings.insert(files.settings.begin(), settings.begin(), settings.end());
  }
  ScenarioInput input(files, console);
  const formats::Scenario scenario = [&] {
    const ProgressLine progress(console);
    return input.read();
  }();
  if (arguments.has("params")) {
    console.out << parameter_table(scenario);
    return kExitGood;
  }
  note_choices(scenario, console);
  if (asked.schedule_path && !scenario.graph.pipeline) {
    input.fail(models::Code::kNothingToDo, "--schedule: the scenario has no pipeline schedule");
  }
  const bool folds = asked.only_report() && !until && !variation.varies() && !replay &&
                     engine == sim::EngineKind::kAuto;
  if (const auto run = folds ? run_folded(scenario.graph, console) : std::nullopt) {
    input.report();
    return show(scenario.graph, *run, input.path(), asked, console);
  }
  const models::Simulation simulation = input.require([&] {
    WatchedRun watched(console);
    watched.options.engine = engine;
    watched.options.jitter = variation;
    watched.options.keep_log = asked.need_log();
    watched.options.keep_op_times = asked.need_timeline();
    if (replay) {
      watched.options.order = &replay->events;
      watched.options.reading = &replay->order.reading;
    }
    return simulate_until(scenario.graph, until, watched.options, input.diagnostics());
  }());
  if (replay) check_replayed(*replay, simulation.outcome, input);
  input.report();
  return show(scenario.graph, simulation, input.path(), asked, console);
}

int run_run(const Arguments& arguments, const Console& console) {
  const std::string& path = arguments.one_file();
  for (const InputKind& kind : input_kinds()) {
    const bool is_asked = kind.run_option != nullptr && arguments.has(kind.run_option);
    if (kind.run != nullptr && (kind.matches(path) || (is_asked && path == "-"))) {
      return kind.run(arguments, console);
    }
  }
  return run_scenario(arguments, console);
}

}  // namespace

Command run_command() {
  OptionGroup scenario = scenario_options();
  scenario.options.push_back(
      {.name = "params", .about = "List the parameters of the scenario and exit"});
  return {
      .name = "run",
      .about = "Simulate a scenario: does it hang, and why",
      .usage = {"FILE [options]"},
      .description =
          {"Simulates the scenario in FILE and reports whether it completes; if it "
           "hangs, who waits for whom, and why.",
           "FILE is a scenario, a pipeline schedule in PyTorch's CSV format (*.csv) or a "
           "program in LogGOPSim's GOAL format (*.goal); '-' reads standard input."},
      .options = {std::move(scenario),
                  {"Run",
                   {{.name = "until",
                     .value = "WHEN",
                     .about = "Stop all ranks at a time, as in 12ms, or when a rank enters an op, "
                              "as in rank0:gather#3, and report the state"},
                    jitter_option(),
                    seed_option(),
                    {.name = "replay",
                     .value = "FILE",
                     .about =
                         "Replay the interleaving written by 'pipesim check --order', with its "
                         "settings"},
                    {.name = "engine",
                     .value = "WHICH",
                     .about = "Simulation engine; all of them give the same result",
                     .choices = {"auto", "events", "sweep"},
                     .otherwise = "auto"},
                    {.name = "loggops",
                     .value = "PARAMETERS",
                     .about = "The network of a GOAL file (default: "
                              "L=2500,o=1500,g=1000,G=6,O=0,S=65535)"}}},
                  report_options(),
                  report_file_options(),
                  general_options()},
      .examples = {"pipesim run scenarios/swin_2x2x2.yaml",
                   "pipesim run scenarios/swin_2x2x2.yaml --set acc=2",
                   "pipesim run scenarios/swin_2x2x2.yaml --patch fix.yaml",
                   "pipesim run scenarios/swin_2x2x2.yaml --html hang.html",
                   "pipesim run scenarios/swin_2x2x2.yaml --json | jq .cycle",
                   "pipesim run scenarios/swin_2x2x2.yaml --trace swin.json.gz",
                   "pipesim run scenarios/swin_2x2x2.yaml --until rank1:nccl-1998#2",
                   "pipesim run scenarios/swin_2x2x2.yaml --log - | grep 'node0:1' | tail",
                   "pipesim run scenarios/swin_2x2x2.yaml --jitter 10% --seed 17",
                   "pipesim run scenarios/deepspeed_loss_broadcast.yaml --stacks",
                   "pipesim run schedule.csv --set forward=2ms --set messages=pg",
                   "pipesim run allreduce.goal --loggops L=1000,G=1"},
      .exit_status =
          "0 it completes, 1 it hangs, 2 invalid input or usage, 3 undecided (a limit was "
          "reached first), 74 a file could not be read or written, 130 interrupted",
      .pages = {"docs/how-to/inspect.md", "docs/reference/commands.md"},
      .run = run_run,
  };
}

}  // namespace pipesim::app
