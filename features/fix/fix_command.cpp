#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/input/job_choices.hpp"
#include "app/input/python.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"

#include "features/check/checked_ways.hpp"
#include "features/check/nccl_modes.hpp"
#include "features/fix/fix.hpp"
#include "features/fix/fix_report.hpp"
#include "features/fix/scenario_edits.hpp"
#include "features/fix/script_changes.hpp"
#include "features/record/record_input.hpp"

namespace pipesim::app {
namespace {

int exit_code_of(const models::FixReport& report) {
  if (report.stopped) return kExitInterrupted;
  if (!report.hangs()) {
    return report.found == models::FixCase::kNothing ? kExitGood : kExitUndecided;
  }
  if (!report.fixes.empty()) return kExitGood;
  return report.out_of_budget ? kExitUndecided : kExitBad;
}

void write_patches(const std::string& folder, const std::vector<models::Fix>& fixes) {
  if (!fixes.empty()) make_folder(folder);
  for (std::size_t i = 0; i < fixes.size(); ++i) {
    write_file(fmt::format("{}/fix_{}.yaml", folder, i + 1), fixes[i].patch);
  }
  // Removes patches with higher numbers, left by an earlier run.
  std::error_code error;
  for (std::size_t i = fixes.size() + 1;
       std::filesystem::remove(fmt::format("{}/fix_{}.yaml", folder, i), error); ++i) {
  }
}

// Returns the parameters that a patch can change. Excludes parameters set by --set, which would
// override the patch.
std::vector<formats::Parameter> parameters_of(const formats::Scenario& scenario,
                                              const ScenarioInput& input) {
  std::vector<formats::Parameter> parameters = scenario.parameters;
  std::erase_if(parameters, [&](const formats::Parameter& parameter) {
    return std::any_of(input.settings().begin(), input.settings().end(),
                       [&](const formats::Setting& set) { return set.first == parameter.name; });
  });
  return parameters;
}

// Finds changes of the script if FILE is a record and its script is found. If there are none,
// prints the reason.
ScriptChanges script_changes(const Arguments& arguments, const ScenarioFiles& files,
                             const Console& console) {
  const auto script = script_of_record(files.path);
  if (!script || !script->path) {
    constexpr const char* kHelp = "run it in the folder in which 'pipesim record' ran";
    if (arguments.has("apply")) {
      throw InputError(models::Code::kFile,
                       fmt::format("'{}' is not a record whose script is here", files.path), kHelp);
    }
    if (script) {
      console.err << fmt::format("note: {} is not here, so no change of it was tried: {}\n",
                                 models::printable(script->name), kHelp);
    }
    return {};
  }
  std::vector<std::string> options;
  if (!files.rules.empty()) options.insert(options.end(), {"--rules", files.rules});
  for (const formats::Setting& set : files.settings) {
    options.insert(options.end(), {"--set", set.first + "=" + set.second});
  }
  if (const auto number = arguments.text("apply")) {
    options.insert(options.end(), {"--apply", *number});
  }
  ScriptChanges changes = find_script_changes(
      files.path, *script->path, arguments.text("python").value_or(default_python()), options);
  if (!changes.problem.empty()) {
    if (arguments.has("apply")) throw InputError(models::Code::kFile, changes.problem);
    console.err << fmt::format("note: no change of {}: {}\n", *script->path, changes.problem);
  }
  return changes;
}

// Checks `scenario` in all readings of NCCL's rules; nullopt if it has a mistake.
std::optional<models::NcclModesReport> checked(const std::optional<formats::Scenario>& scenario,
                                               const models::FixOptions& options) {
  models::Diagnostics ignored;
  if (!scenario || !models::lower(scenario->graph, ignored)) return std::nullopt;
  sim::ExploreOptions explore;
  explore.max_states = options.max_sure_states;
  explore.max_steps = options.max_sure_steps;
  explore.stop = options.stop;
  return models::check_nccl_modes(scenario->graph, explore);
}

// Whether `text`, a scenario that is a variant of the job, completes under every timing in all
// readings of NCCL's rules.
bool is_proved(const ScenarioInput& input, const std::string& text,
               const models::FixOptions& options) {
  const auto found = checked(input.read_variant(text), options);
  return found && found->answer == models::JobAnswer::kProved;
}

/// The ways of a job's choices, after the default way.
struct OtherWays {
  std::vector<std::vector<formats::Setting>> ways{};
  bool all = true;  // whether these are all
};

OtherWays other_ways(const formats::Scenario& scenario) {
  constexpr std::size_t kMaxFixedWays = 256;
  OtherWays others;
  JobChoices choices(scenario);
  if (choices.empty()) return others;
  choices.next();
  while (auto way = choices.next()) {
    if (others.ways.size() + 1 == kMaxFixedWays) {
      others.all = false;
      break;
    }
    others.ways.push_back(std::move(*way));
  }
  return others;
}

// Searches the other ways of a job that completes in its default way for a hang. Returns the
// settings of the first; nullopt if there is none.
std::optional<std::vector<formats::Setting>> hanging_way(const ScenarioInput& input,
                                                         const OtherWays& others,
                                                         const models::FixOptions& options,
                                                         models::FixReport& report) {
  bool all_proved = others.all;
  for (const std::vector<formats::Setting>& way : others.ways) {
    const auto found = checked(input.read_with(way), options);
    if (found && has_hang(*found)) return way;
    all_proved = all_proved && found && found->answer == models::JobAnswer::kProved;
  }
  if (!all_proved) report.found = models::FixCase::kSomeWays;
  return std::nullopt;
}

// Moves the fixes with which another way hangs to the partial ones.
void keep_fixes_of_all_ways(const ScenarioInput& input, const OtherWays& others,
                            const models::FixOptions& options, models::FixReport& report) {
  const auto hangs_in_a_way = [&](const models::Fix& fix) {
    const formats::PatchText patch{"the change", fix.patch};
    const auto hangs = [&](const std::vector<formats::Setting>& way) {
      const auto found = checked(input.read_with(patch, way), options);
      return found && has_hang(*found);
    };
    return hangs({}) || std::any_of(others.ways.begin(), others.ways.end(), hangs);
  };
  const auto partial =
      std::stable_partition(report.fixes.begin(), report.fixes.end(), std::not_fn(hangs_in_a_way));
  std::move(partial, report.fixes.end(), std::back_inserter(report.partial));
  report.fixes.erase(partial, report.fixes.end());
}

// Tries changes of the script's lines on the record.
models::LineChanges line_changes(const ScenarioInput& input, const RecordInput& record,
                                 const models::Explanation& hang,
                                 const models::FixOptions& options) {
  return models::find_line_changes(record.record(), hang, [&](const models::Record& variant) {
    return is_proved(input, record.scenario_of(variant, input.rules()), options);
  });
}

// Searches for fixes of `scenario`, which `input` has read.
models::FixReport search(ScenarioInput& input, const formats::Scenario& scenario,
                         const models::FixOptions& options, const Console& console) {
  std::atomic<std::uint64_t> tried = 0;
  const formats::EditedScenario edited(scenario, input.text(), input.patches(),
                                       [&](const formats::PatchText& patch) {
                                         ++tried;
                                         return input.read_with(patch);
                                       });
  models::FixReport report = input.require([&] {
    const Simulating now(console);
    const ProgressLine progress(console, [&tried] {
      return tried == 0 ? std::string("looking at the hang ...")
                        : fmt::format("trying changes: {} so far", tried.load());
    });
    return models::find_fixes(parameters_of(scenario, input), edited, options, input.diagnostics());
  }());
  input.report();
  return report;
}

// Looks for a hang in the other ways of a job that completes in its default way, and for its fixes.
void fix_other_ways(const ScenarioInput& input, const formats::Scenario& scenario,
                    const models::FixOptions& options, const Console& console,
                    models::FixReport& report) {
  const OtherWays others = other_ways(scenario);
  const auto way = [&] {
    const Simulating now(console);
    return hanging_way(input, others, options, report);
  }();
  if (!way) return;
  ScenarioInput of_way = input;
  of_way.add_settings(*way);
  report = search(of_way, of_way.read(), options, console);
  report.way = settings_text(*way);
  const Simulating now(console);
  keep_fixes_of_all_ways(input, others, options, report);
}

int run_fix(const Arguments& arguments, const Console& console) {
  const ScenarioFiles files = scenario_files(arguments);
  const auto folder = arguments.output_file("output");
  arguments.number("apply", 1, kMaxScriptChanges, 1);
  const ScriptChanges script = script_changes(arguments, files, console);
  if (arguments.has("apply")) {
    console.out << script.text;
    return kExitGood;
  }
  ScenarioInput input(files, console);
  const formats::Scenario scenario = input.read();
  models::FixOptions options;
  options.stop = console.interrupted;
  const RecordInput* record = record_of(input.foreign_job());
  options.edits_calls = record == nullptr;
  models::FixReport report = search(input, scenario, options, console);
  if (report.hangs() || report.stopped) {
    note_choices(scenario, console);
  } else {
    fix_other_ways(input, scenario, options, console, report);
  }
  const bool is_known = report.hangs() && report.explanation.cause != models::Cause::kInterrupted;
  if (report.stopped && !is_known) {
    console.err << "interrupted before it was known whether the scenario hangs\n";
    return kExitInterrupted;
  }
  if (is_known && record != nullptr && !script.proved) {
    const Simulating now(console);
    report.lines = line_changes(input, *record, report.explanation, options);
  }
  if (folder) write_patches(*folder, report.fixes);
  const std::string& name = scenario.graph.name;
  print_report(
      arguments, console, [&] { return viz::fix_json(report, name, script.json); },
      [&](const auto&) {
        // If only changes of the script help, the report omits the section on the recorded calls.
        const bool is_all = script.proved && report.fixes.empty();
        const std::string calls = is_all ? "" : viz::fix_text(report, name);
        return script.text + (script.text.empty() || calls.empty() ? "" : "\n") + calls;
      });
  return script.proved ? kExitGood : exit_code_of(report);
}

}  // namespace

Command fix_command() {
  return {
      .name = "fix",
      .about = "Find the smallest changes that remove a hang",
      .usage = {"FILE [options]"},
      .description =
          {"Finds the smallest changes that stop the scenario in FILE from hanging: "
           "other values of its parameters, another stream, more slots, a fixed order of "
           "two collectives, and more. Each is reported with the wait that it breaks, "
           "how certain it is, what it costs, and a patch for 'pipesim run --patch'. The "
           "best comes first.",
           "If FILE is a directory written by 'pipesim record' and its script is here, the script "
           "runs again, and proved changes of its source come first, as unified diffs.",
           kScenarioFileNote},
      .options = {scenario_options(),
                  {"Output",
                   {{.name = "output",
                     .letter = 'o',
                     .value = "DIR",
                     .about = "Write the patches to DIR/fix_1.yaml, DIR/fix_2.yaml, ...",
                     .output = true},
                    json_option("the changes")}},
                  {"Script of a record",
                   {{.name = "apply",
                     .value = "N",
                     .about = "Write the N-th change of the script to its file"},
                    {.name = "python",
                     .value = "PYTHON",
                     .about = "Interpreter that has the script's torch (default: $PYTHON, else the "
                              "python3 of pipesim's environment)"}}}},
      .examples = {"pipesim fix scenarios/swin_2x2x2.yaml",
                   "pipesim fix scenarios/swin_2x2x2.yaml -o fixes",
                   "pipesim run scenarios/swin_2x2x2.yaml --patch fixes/fix_1.yaml",
                   "pipesim fix record/ --apply 1"},
      .exit_status =
          "0 a fix was found, or there is nothing to fix, 1 none was found, 2 invalid "
          "input or usage, 3 undecided (a budget ran out first), 74 a file could not be "
          "read or written, 130 interrupted",
      .pages = {"docs/how-to/fix.md", "docs/explanation/fix-a-script.md",
                "docs/reference/patch.md"},
      .run = run_fix,
  };
}

}  // namespace pipesim::app
