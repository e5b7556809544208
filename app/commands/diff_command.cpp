#include "app/commands/diff_command.hpp"

#include <optional>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/input/scenario_input.hpp"
#include "app/input/until.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "formats/files/report_file.hpp"
#include "formats/files/state_file.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/measure/graph_difference.hpp"
#include "models/measure/run_difference.hpp"
#include "viz/text/diagnostic_text.hpp"
#include "viz/text/difference_text.hpp"

namespace pipesim::app {
namespace {

using models::Diagnostics;

/// A side, simulated or read.
struct Run {
  std::string name;
  models::RunEndFigures end;
  std::optional<formats::Scenario> scenario;  // nothing: of a report only the end is known
  std::optional<models::Simulation> simulation;
  bool interrupted = false;
};

/// What of a saved state or a scenario has to be simulated.
struct Recipe {
  std::string text;
  std::vector<formats::Setting> settings;
  std::vector<formats::PatchText> patches{};
  std::optional<Until> until{};
  std::optional<std::uint64_t> events{};  // after so many it was interrupted
  sim::Jitter jitter{};
};

class Side {
 public:
  Side(const DiffSide& side, const std::string& text, const Console& console)
      : side_(side), text_(text), console_(console) {
    shown_ = side.path == "-" ? "standard input" : side.path;
    run_.name = shown_;
    for (const auto& [name, value] : side.settings) {
      run_.name += fmt::format(" --set {}={}", name, value);
    }
  }

  /// Nothing where the input is bad, which was told.
  std::optional<Run> run() {
    const formats::RunFile kind = formats::run_file_kind(text_);
    if (kind == formats::RunFile::kScenario) {
      return simulated({text_, side_.settings});
    }
    if (!side_.settings.empty()) {
      Diagnostics mistake;
      mistake.error({}, "only a scenario can be given settings");
      return complain(mistake, shown_, text_);
    }
    return kind == formats::RunFile::kState ? saved() : reported();
  }

 private:
  std::optional<Run> complain(const Diagnostics& diagnostics, const std::string& path,
                              const std::string& text) const {
    console_.err << viz::diagnostic_text(diagnostics, path, text, console_.err_colour);
    return std::nullopt;
  }

  std::optional<Run> reported() {
    Diagnostics diagnostics;
    auto end = formats::read_report(text_, diagnostics);
    if (!end) return complain(diagnostics, shown_, text_);
    run_.end = std::move(*end);
    return std::move(run_);
  }

  std::optional<Run> saved() {
    Diagnostics diagnostics;
    const auto state = formats::read_state(text_, diagnostics);
    if (!state) return complain(diagnostics, shown_, text_);
    Recipe recipe = {state->scenario, state->settings, state->patches};
    if (!state->until.empty()) {
      recipe.until = parse_until(state->until);
      if (!recipe.until) {
        diagnostics.error(
            {}, fmt::format("it was run with --until '{}', which says nothing here", state->until));
        return complain(diagnostics, shown_, text_);
      }
    }
    if (state->interrupted) recipe.events = state->events;
    recipe.jitter = state->jitter;
    std::optional<Run> run = simulated(recipe);
    if (!run || run->interrupted || run->end.fingerprint == state->fingerprint) return run;
    diagnostics.error({}, fmt::format("made by pipesim {}, and it comes out otherwise here: see "
                                      "'pipesim explain'",
                                      state->made_by));
    return complain(diagnostics, shown_, text_);
  }

  std::optional<Run> complain(const Diagnostics& diagnostics, const Recipe& recipe) const {
    console_.err << viz::diagnostic_text(
        diagnostics, sources_of(shown_, recipe.text, recipe.patches), console_.err_colour);
    return std::nullopt;
  }

  std::optional<Run> simulated(const Recipe& recipe) {
    Diagnostics diagnostics;
    run_.scenario = formats::read_scenario(recipe.text, recipe.settings, diagnostics,
                                           {.patches = recipe.patches});
    if (!run_.scenario) return complain(diagnostics, recipe);
    {
      WatchedRun watched(console_);
      watched.options.keep_act_times = true;
      watched.options.keep_log = true;
      if (recipe.events) watched.options.max_events = *recipe.events;
      watched.options.jitter = recipe.jitter;
      run_.simulation =
          simulate_until(run_.scenario->graph, recipe.until, watched.options, diagnostics);
    }
    if (!run_.simulation) return complain(diagnostics, recipe);
    run_.end = models::end_figures(run_.simulation->explanation);
    const bool reached = recipe.events && run_.simulation->outcome.events == *recipe.events;
    run_.interrupted = run_.simulation->outcome.end == sim::RunEnd::kInterrupted && !reached;
    return std::move(run_);
  }

  const DiffSide& side_;
  const std::string& text_;
  const Console& console_;
  std::string shown_;
  Run run_;
};

std::string read_run_text(const std::string& path, const Console& console) {
  static_assert(formats::kMostStateBytes == formats::kMostReportBytes);
  return read_file(path, console.in, formats::kMostReportBytes);
}

}  // namespace

int run_diff(const DiffCommand& command, const Console& console) {
  // Standard input is there once.
  const std::string before_text = read_run_text(command.before.path, console);
  const std::string after_text = command.after.path == command.before.path
                                     ? before_text
                                     : read_run_text(command.after.path, console);
  std::optional<Run> before = Side(command.before, before_text, console).run();
  std::optional<Run> after = Side(command.after, after_text, console).run();
  if (!before || !after) return kExitUsage;
  if (before->interrupted || after->interrupted) {
    console.err << "pipesim: interrupted: there is nothing to compare yet\n";
    return kExitInterrupted;
  }
  viz::Difference difference;
  difference.before_name = before->name;
  difference.after_name = after->name;
  difference.before = std::move(before->end);
  difference.after = std::move(after->end);
  if (before->simulation && after->simulation) {
    difference.graph = models::compare_graphs(before->scenario->graph, after->scenario->graph);
    difference.run = models::compare_runs({before->scenario->graph, *before->simulation},
                                          {after->scenario->graph, *after->simulation});
  }
  console.out << (command.json
                      ? viz::difference_json(difference)
                      : viz::difference_text(
                            difference, {{console.out_colour, console.out_columns}, command.all}));
  return difference.same() ? kExitGood : kExitBad;
}

}  // namespace pipesim::app
