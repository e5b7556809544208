#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/input/input_kinds.hpp"
#include "app/input/scenario_input.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"

#include "features/diff/difference_report.hpp"
#include "features/diff/graph_difference.hpp"
#include "features/diff/report_file.hpp"
#include "features/diff/run_difference.hpp"

namespace pipesim::app {
namespace {

using Settings = std::vector<formats::Setting>;

/// A run to compare, from a scenario or from a report of `pipesim run --json`. A report has only
/// the end of its run, so `scenario` and `simulation` are then empty.
struct Run {
  std::string name;
  models::RunEndFigures end;
  std::optional<formats::Scenario> scenario;
  std::optional<models::Simulation> simulation;
  bool interrupted = false;
};

void run_scenario(TextInput& input, const Settings& settings, const sim::RunOptions& options,
                  const Console& console, Run& run) {
  run.scenario = input.require(formats::read_scenario(input.text(), settings, input.diagnostics()));
  WatchedRun watched(console);
  watched.options.keep_op_times = options.keep_op_times;
  watched.options.keep_log = options.keep_log;
  run.simulation =
      input.require(models::simulate(run.scenario->graph, input.diagnostics(), watched.options));
  run.interrupted = run.simulation->outcome.end == sim::RunEnd::kInterrupted;
}

Run run_of_file(TextInput input, const std::string& shown, const Settings& settings,
                const Console& console) {
  Run run;
  run.name = shown;
  const bool is_report = formats::looks_like_report(input.text());
  if (is_report && !settings.empty()) {
    input.fail(models::Code::kOptionConflict, "'--set' only applies to scenarios");
  }
  const sim::RunOptions options = {.keep_op_times = true, .keep_log = true};
  if (is_report) {
    run.end = input.require(formats::read_report(input.text(), input.diagnostics()));
  } else {
    run_scenario(input, settings, options, console, run);
  }
  for (const auto& [name, value] : settings) run.name += fmt::format(" --set {}={}", name, value);
  if (run.simulation) run.end = models::end_figures(run.simulation->explanation);
  return run;
}

int run_diff(const Arguments& arguments, const Console& console) {
  const auto& files = arguments.positional();
  if (files.empty() || files.size() > 2) {
    throw UsageError(models::Code::kArguments,
                     fmt::format("'pipesim diff' takes one file or two, found {}", files.size()),
                     "write 'pipesim diff A [B] [options]'");
  }
  for (const std::string& path : files) require_scenario(arguments.command(), path);
  const auto html_path = arguments.output_file("html");
  const auto settings_of_side = [&](const char* option) {
    Settings all = arguments.settings("set");
    for (formats::Setting& setting : arguments.settings(option)) all.push_back(std::move(setting));
    return all;
  };
  const Settings settings_a = settings_of_side("set-a");
  const Settings settings_b = settings_of_side("set-b");
  if (files.size() == 1 && settings_a == settings_b) {
    throw UsageError(models::Code::kNothingToDo, "one file with the same settings on both sides",
                     "give a second file, or '--set-b NAME=VALUE'");
  }

  const bool record_first = is_foreign_path(files.front());
  const std::string rules = rules_of(arguments, record_first ? files.front() : files.back());
  const auto read = [&](const std::string& path) {
    return is_foreign_path(path) ? read_scenario_text(path, console, rules)
                                 : TextInput::read(path, formats::kMaxReportBytes, console);
  };
  const TextInput a = read(files.front());
  // If both paths are the same, reads the file only once: standard input cannot be read twice.
  const TextInput b = files.back() == files.front() ? a : read(files.back());
  Run before = run_of_file(a, shown_path(files.front()), settings_a, console);
  Run after = run_of_file(b, shown_path(files.back()), settings_b, console);
  if (before.interrupted || after.interrupted) {
    console.err << "interrupted before there was something to compare\n";
    return kExitInterrupted;
  }
  viz::Difference difference;
  difference.before_name = before.name;
  difference.after_name = after.name;
  difference.before = std::move(before.end);
  difference.after = std::move(after.end);
  if (before.simulation && after.simulation) {
    difference.graph = models::compare_graphs(before.scenario->graph, after.scenario->graph);
    difference.run = models::compare_runs({before.scenario->graph, *before.simulation},
                                          {after.scenario->graph, *after.simulation});
  }
  if (html_path) {
    const auto end_of = [](const Run& run) {
      return run.simulation ? &run.simulation->explanation : nullptr;
    };
    write_file(*html_path,
               viz::difference_page(difference, end_of(before), end_of(after), made_by(arguments)));
  }
  print_report(
      arguments, console, [&] { return viz::difference_json(difference); },
      [&](const auto& how) {
        return viz::difference_text(difference, {how, arguments.has("all")});
      });
  return difference.same() ? kExitGood : kExitBad;
}

}  // namespace

Command diff_command() {
  Option set = set_option();
  set.about = "Set a parameter on both sides (repeatable)";
  Option set_a = set_option();
  set_a.name = "set-a";
  set_a.about = "Set a parameter of the first side only (repeatable)";
  Option set_b = set_option();
  set_b.name = "set-b";
  set_b.about = "Set a parameter of the second side only (repeatable)";
  return {
      .name = "diff",
      .about = "Compare two runs, or two settings of one scenario",
      .usage = {"A [B] [options]"},
      .description =
          {"Compares two runs: what differs between their task graphs, how they end, where they "
           "first differ, what got slower, and what was reordered on a stream. A and B are "
           "scenarios, or reports of 'pipesim run "
           "--json', whose ends alone are compared; '-' reads standard input. Without B, A is "
           "compared with itself under the settings of each side."},
      .options = {{"Settings",
                   {std::move(set), std::move(set_a), std::move(set_b), rules_option()}},
                  {"Report",
                   {json_option("the differences"),
                    {.name = "html",
                     .value = "FILE",
                     .about = "Write a page with both sides beside each other",
                     .output = true},
                    {.name = "all", .about = "List everything, also what long lists leave out"}}},
                  general_options()},
      .examples = {"pipesim diff scenarios/swin_2x2x2.yaml --set-b acc=2",
                   "pipesim diff before.yaml after.yaml --json",
                   "pipesim diff before.yaml after.yaml --html diff.html",
                   "git show HEAD:job.yaml | pipesim diff - job.yaml"},
      .exit_status =
          "0 the runs are the same, 1 they differ, 2 invalid input or usage, 74 a file "
          "could not be read or written, 130 interrupted",
      .pages = {"docs/how-to/inspect.md"},
      .run = run_diff,
  };
}

}  // namespace pipesim::app
