#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "models/result/simulation.hpp"
#include "viz/page/html_page.hpp"
#include "viz/pictures/wait_for_dot.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/words.hpp"

#include "features/diagnose/boxing_log_text.hpp"
#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/diagnosis_text.hpp"
#include "features/diagnose/evidence_folder.hpp"
#include "features/diagnose/evidence_input.hpp"
#include "features/diagnose/evidence_writer.hpp"
#include "features/diagnose/launch_log.hpp"
#include "features/diagnose/launch_log_text.hpp"
#include "features/diagnose/left_out_calls.hpp"
#include "features/diagnose/stack_evidence.hpp"
#include "features/diagnose/stack_groups_text.hpp"

namespace pipesim::app {
namespace {

using Paths = std::vector<std::string>;

std::string title_of(const std::string& name, const models::Explanation& explanation) {
  return fmt::format("{}: {}", name, viz::verdict_text(explanation));
}

// Output options of a diagnosis.
struct Requested {
  const Arguments& arguments;
  bool all = false;
  bool why = false;
  std::optional<std::string> dot_path;
  std::optional<std::string> picture_path;
  std::optional<std::string> html_path;
  std::optional<std::string> scenario_path;
};

// Writes the wait-for graph for --dot and --draw.
void draw(const Requested& requested, const std::string& title,
          const models::Explanation& explanation, const std::vector<models::Wait>& waits) {
  viz::WaitPicture picture = viz::wait_picture(title, explanation, waits, !requested.all);
  picture.made_by = made_by(requested.arguments);
  if (requested.dot_path) write_file(*requested.dot_path, viz::wait_for_dot(picture));
  if (!requested.picture_path) return;
  write_file(*requested.picture_path,
             viz::wait_for_drawing(picture, viz::picture_format(*requested.picture_path)));
}

// Writes the page for --html.
void write_page(const Requested& requested, const std::string& name, std::uint32_t ranks,
                const models::Explanation& explanation, const std::vector<models::Wait>& waits,
                const std::string& text) {
  if (!requested.html_path) return;
  models::TaskGraph graph;  // has only the fields that the head of a report shows
  graph.name = name;
  graph.ranks = ranks;
  viz::Report report{graph, explanation, {}, {}, waits, {}, {}};
  report.made_by = made_by(requested.arguments);
  viz::JobPage page;
  const bool hangs = explanation.verdict == sim::Verdict::kDeadlock ||
                     explanation.verdict == sim::Verdict::kStarved;
  page.headline = hangs                                             ? "hangs"
                  : explanation.verdict == sim::Verdict::kMismatch  ? "goes wrong"
                  : explanation.verdict == sim::Verdict::kCompleted ? "shows nothing wrong"
                                                                    : "is undecided";
  page.story = {fmt::format("From the evidence of {}: {}.", viz::counted(ranks, "rank"),
                            viz::counted(waits.size(), "wait"))};
  const std::string reason = viz::first_reason(explanation);
  if (!reason.empty()) page.story.push_back(reason + ".");
  page.text = text;
  write_file(*requested.html_path, viz::html_page(report, page, requested.all));
}

// Writes the scenario for --as-scenario.
void write_scenario(const Requested& requested, const models::Evidence& evidence,
                    const models::Diagnosis& diagnosis, std::vector<models::OutsideText>& notes) {
  if (!requested.scenario_path) return;
  const std::string scenario = formats::write_evidence_scenario(evidence, diagnosis);
  if (scenario.empty()) {
    const bool hangs = diagnosis.explanation.verdict == sim::Verdict::kDeadlock;
    notes.emplace_back(hangs ? "No scenario was written: the evidence does not show who waits for "
                               "whom"
                             : "No scenario was written: the evidence shows no hang");
    return;
  }
  require_readable(scenario, evidence.name);
  write_file(*requested.scenario_path, scenario);
  if (diagnosis.suspects.empty()) return;
  std::vector<std::uint32_t> ranks;
  for (const models::Suspect& suspect : diagnosis.suspects) ranks.push_back(suspect.rank);
  notes.emplace_back(
      fmt::format("In the scenario {} never call{} what others wait for: an assumption",
                  viz::ranks_text(ranks), ranks.size() == 1 ? "s" : ""));
}

int report_dumps(DumpReading reading, const Requested& requested, const Console& console) {
  const models::Diagnosis diagnosis = [&] {
    const ProgressLine progress(console, [&] {
      return fmt::format("finding who waits for whom: {}",
                         viz::counted(reading.evidence.ranks.size(), "rank"));
    });
    return models::diagnose(reading.evidence);
  }();
  for (models::OutsideText& note : models::left_out_calls(reading.evidence, diagnosis)) {
    reading.notes.push_back(std::move(note));
  }
  const models::Explanation& explanation = diagnosis.explanation;
  const std::string& name = reading.evidence.name;
  draw(requested, title_of(name, explanation), explanation, diagnosis.waits);
  if (reading.calls.empty()) {
    write_scenario(requested, reading.evidence, diagnosis, reading.notes);
  } else if (requested.scenario_path) {
    const std::string scenario = reading.calls.scenario(diagnosis);
    if (scenario.empty()) {
      reading.notes.emplace_back("No scenario was written: no call tells its rank");
    } else {
      require_readable(scenario, name);
      write_file(*requested.scenario_path, scenario);
    }
  }
  const viz::DiagnosisReport report{reading.evidence, diagnosis, reading.notes, requested.all,
                                    requested.why};
  write_page(requested, name, static_cast<std::uint32_t>(reading.evidence.ranks.size()),
             explanation, diagnosis.waits, viz::diagnosis_text(report, {}));
  print_report(
      requested.arguments, console, [&] { return viz::diagnosis_json(report); },
      [&](const auto& how) { return viz::diagnosis_text(report, how); });
  return exit_code(explanation);
}

// Adds notes on whether a run of the scenario ends like the job.
void add_comparison(const models::LaunchLog& log, const std::string& scenario,
                    const models::Explanation& end, std::vector<models::OutsideText>& notes) {
  constexpr std::size_t kMaxLines = 10;
  const auto differences = models::compare(log, end);
  if (differences.empty()) {
    notes.emplace_back(fmt::format(
        "'pipesim run {}' ends in the same place: each rank entered and launched the same ops",
        scenario));
    return;
  }
  notes.emplace_back(fmt::format(
      "'pipesim run {}' ends in another place: {}", scenario,
      differences.size() == 1 ? "1 op differs" : fmt::format("{} ops differ", differences.size())));
  for (std::size_t i = 0; i < std::min(kMaxLines, differences.size()); ++i) {
    notes.emplace_back("  " + viz::difference_line(differences[i]));
  }
  if (differences.size() > kMaxLines) {
    notes.emplace_back(fmt::format("  and {} more", differences.size() - kMaxLines));
  }
}

// Returns the hints for launch logs from --scenario, --group and --phase.
models::LaunchLogHints hints_option(const Arguments& arguments, const models::LaunchLog& log,
                                    std::vector<models::OutsideText>& notes,
                                    const Console& console) {
  models::LaunchLogHints hints;
  if (const auto path = arguments.text("scenario")) {
    ScenarioInput input({*path, {}, arguments.settings("set")}, console);
    const formats::Scenario scenario = input.read();
    const models::Simulation run =
        input.require(models::simulate(scenario.graph, input.diagnostics()));
    input.report();
    hints = models::hints_of(scenario.graph, run.lowered);
    add_comparison(log, input.path(), run.explanation, notes);
  }
  if (arguments.has("group")) hints.groups.clear();
  for (const std::string& text : arguments.all("group")) {
    hints.groups.push_back(parse_rank_list(text).value());
  }
  if (arguments.has("phase")) hints.phases.clear();
  for (const auto& [name, ops] : arguments.settings("phase")) {
    hints.phases.emplace_back(name, split_at_commas(ops));
  }
  return hints;
}

int diagnose_logs(const Paths& paths, const Requested& requested, const Console& console) {
  LaunchLogReading reading = read_launch_logs(paths, console);
  const models::LaunchLog& log = reading.log;
  const models::LaunchLogDiagnosis diagnosis =
      models::diagnose(log, hints_option(requested.arguments, log, reading.notes, console));
  if (!diagnosis.has_groups) {
    reading.notes.emplace_back("Logs do not show collective groups: pass --group or --scenario");
  }
  draw(requested, title_of(log.name, diagnosis.explanation), diagnosis.explanation,
       diagnosis.waits);
  write_scenario(requested, diagnosis.evidence, models::diagnose(diagnosis.evidence),
                 reading.notes);
  const viz::LaunchLogReport report{log, diagnosis, reading.notes, requested.all};
  write_page(requested, log.name, static_cast<std::uint32_t>(log.ranks.size()),
             diagnosis.explanation, diagnosis.waits, viz::launch_log_text(report, {}));
  print_report(
      requested.arguments, console, [&] { return viz::launch_log_json(report); },
      [&](const auto& how) { return viz::launch_log_text(report, how); });
  return exit_code(diagnosis.explanation);
}

// Writes a scenario from stacks with stragglers. Without stragglers, stacks do not show which rank
// waits for which, and a note says that no scenario was written.
void write_stack_scenario(const Requested& requested, const models::StackDumps& dumps,
                          const models::StackDiagnosis& diagnosis,
                          std::vector<models::OutsideText>& notes) {
  if (!requested.scenario_path) return;
  if (diagnosis.verdict != models::StackVerdict::kStragglers) {
    notes.emplace_back("No scenario was written: the stacks do not show who waits for whom");
    return;
  }
  const models::Evidence evidence = models::stack_evidence(dumps, diagnosis);
  write_scenario(requested, evidence, models::diagnose(evidence), notes);
}

int diagnose_stacks(const Paths& paths, const Requested& requested, const Console& console) {
  StackReading reading = read_stacks(paths, console);
  const models::StackDiagnosis diagnosis = models::diagnose(reading.dumps);
  write_stack_scenario(requested, reading.dumps, diagnosis, reading.notes);
  const std::string& name = reading.dumps.name;
  const std::string title = fmt::format("{}: {}", name, verdict_name(diagnosis.verdict));
  draw(requested, title, diagnosis.explanation, diagnosis.waits);
  const viz::StackReport report{reading.dumps, diagnosis, reading.notes, requested.all};
  write_page(requested, name, diagnosis.ranks, diagnosis.explanation, diagnosis.waits,
             viz::stack_groups_text(report, {}));
  print_report(
      requested.arguments, console, [&] { return viz::stack_groups_json(report); },
      [&](const auto& how) { return viz::stack_groups_text(report, how); });
  return diagnosis.verdict == models::StackVerdict::kStragglers ? kExitBad : kExitUndecided;
}

int diagnose_boxing(const Paths& paths, const Requested& requested, const Console& console) {
  const BoxingReading reading = read_boxings(paths, console);
  const viz::BoxingReport report{evidence_name(paths), reading.rows, reading.notes, requested.all};
  print_report(
      requested.arguments, console, [&] { return viz::boxing_log_json(report); },
      [&](const auto&) { return viz::boxing_log_text(report); });
  return viz::partial_sums(report).empty() ? kExitGood : kExitBad;
}

// Throws UsageError if an option for OneFlow's launch logs is given with other evidence.
void check_hints(const Arguments& arguments, bool are_logs) {
  for (const char* option : {"scenario", "set", "group", "phase"}) {
    if (are_logs || !arguments.has(option)) continue;
    throw UsageError(models::Code::kOptionConflict,
                     fmt::format("'--{}' is only for 'pipesim diagnose oneflow'", option));
  }
  arguments.require("set", "scenario");
  for (const std::string& text : arguments.all("group")) {
    if (parse_rank_list(text)) continue;
    throw UsageError(models::Code::kOptionValue,
                     fmt::format("invalid value '{}' for '--group'", text),
                     "expected a list of ranks, as in 0,1 or 0-3");
  }
}

int diagnose_format(const EvidenceFormat& format, const Paths& paths, const Requested& requested,
                    const Console& console) {
  check_hints(requested.arguments, format.shows == Shows::kLaunches);
  const bool is_boxing = format.shows == Shows::kBoxings;
  if (requested.scenario_path && is_boxing) {
    throw UsageError(models::Code::kOptionConflict, "'--as-scenario' cannot be used with 'boxing'",
                     "only dumps, logs and stacks say what ranks call");
  }
  if (is_boxing && (requested.dot_path || requested.picture_path || requested.html_path)) {
    throw UsageError(models::Code::kOptionConflict,
                     "'--dot', '--draw' and '--html' cannot be used with 'boxing'",
                     "a boxing log has no waits to draw");
  }
  switch (format.shows) {
    case Shows::kLaunches:
      return diagnose_logs(paths, requested, console);
    case Shows::kBoxings:
      return diagnose_boxing(paths, requested, console);
    case Shows::kStacks:
      return diagnose_stacks(paths, requested, console);
    case Shows::kCalls:
      break;
  }
  return report_dumps(read_calls(format, paths, console), requested, console);
}

int run_diagnose(const Arguments& arguments, const Console& console) {
  const auto& given = arguments.positional();
  const std::vector<std::string> kinds = evidence_names();
  if (given.empty()) {
    throw UsageError(models::Code::kArguments, "'pipesim diagnose' needs a kind of evidence",
                     choice_help("", kinds));
  }
  const EvidenceFormat* format = find_evidence_format(given.front());
  const Requested requested{arguments,
                            arguments.has("all"),
                            arguments.has("why"),
                            arguments.output_file("dot"),
                            arguments.output_file("draw"),
                            arguments.output_file("html"),
                            arguments.output_file("as-scenario")};
  // Throws for an unknown extension, before any work.
  if (requested.picture_path) viz::picture_format(*requested.picture_path);
  if (format != nullptr) {
    const Paths paths(given.begin() + 1, given.end());
    if (paths.empty()) {
      throw UsageError(models::Code::kArguments,
                       fmt::format("'pipesim diagnose {}' needs files or folders", given.front()));
    }
    return diagnose_format(*format, paths, requested, console);
  }
  std::error_code error;
  const bool is_path = std::filesystem::exists(given.front(), error) ||
                       given.front().find_first_of("/.") != std::string::npos;
  if (!is_path || given.front() == "-") {
    throw UsageError(models::Code::kOptionValue,
                     fmt::format("unknown kind of evidence '{}'", given.front()),
                     choice_help(given.front(), kinds));
  }
  const SortedEvidence sorted = sort_evidence(given, console);
  if (sorted.files.size() == 1 && sorted.logs_with_stacks.empty()) {
    const auto& [only, paths] = *sorted.files.begin();
    return diagnose_format(*only, paths, requested, console);
  }
  check_hints(arguments, false);
  DumpReading reading = read_all_evidence(sorted, console);
  // If the evidence names no ranks, only the stacks show which processes wait.
  const auto stacks = std::find_if(sorted.files.begin(), sorted.files.end(), [](const auto& it) {
    return it.first->shows == Shows::kStacks;
  });
  const bool any = !reading.evidence.ranks.empty() || !reading.evidence.unplaced.empty();
  if (!any && stacks != sorted.files.end()) {
    return diagnose_format(*stacks->first, stacks->second, requested, console);
  }
  reading.evidence.name = evidence_name(given);
  return report_dumps(std::move(reading), requested, console);
}

HelpTable kinds_table() {
  HelpTable table{"Kinds of evidence", {}};
  for (const EvidenceFormat& format : evidence_formats()) {
    table.rows.emplace_back(format.name, format.about);
  }
  return table;
}

OptionGroup launch_log_options() {
  Option set = set_option();
  set.about = "Set a parameter of that scenario (repeatable)";
  return {"Logs of launches (oneflow)",
          {{.name = "scenario",
            .value = "FILE",
            .about = "A scenario of the same job, which defines the groups and the phases; the "
                     "report says whether it ends in the same "
                     "place"},
           std::move(set),
           {.name = "group",
            .value = "RANKS",
            .about = "A group of ranks that share collectives, as in 0,1 or 0-3 (repeatable)",
            .repeats = true},
           {.name = "phase",
            .value = "NAME=OPS",
            .about = "A column of the table, as in forward=F0,F1,F3 (repeatable)",
            .repeats = true}}};
}

OptionGroup output_options() {
  return {"Output files",
          {dot_option(),
           {.name = "draw",
            .value = "FILE",
            .about = "Draw the wait-for graph, as .svg, .png or .pdf",
            .output = true},
           {.name = "html",
            .value = "FILE",
            .about = "Write a page to open in a browser",
            .output = true},
           {.name = "as-scenario",
            .value = "FILE",
            .about = "Write a scenario that hangs in the same way (not from boxing logs)",
            .output = true}}};
}

}  // namespace

Command diagnose_command() {
  return {
      .name = "diagnose",
      .about = "Find who waits for whom in a real hang",
      .usage = {"[KIND] FILE|DIR... [options]"},
      .description =
          {"Reads the evidence that a hanging job left, and reports who waits for whom as "
           "'pipesim run' does. Without KIND, the kind of each file is detected, and all evidence "
           "is combined: dumps, logs, stacks, NCCL RAS reports."},
      .tables = {kinds_table()},
      .options = {launch_log_options(),
                  {"Report",
                   {json_option("the diagnosis"),
                    {.name = "all", .about = "List and draw every wait, rank and group"},
                    {.name = "why", .about = "Show the file and line behind each claim"}}},
                  output_options(),
                  general_options()},
      .examples = {"pipesim diagnose /tmp/evidence --why",
                   "pipesim diagnose flight-recorder /tmp/dumps",
                   "pipesim diagnose flight-recorder trace_rank_0 trace_rank_1 --json",
                   "pipesim diagnose flight-recorder /tmp/dumps --draw hang.svg",
                   "pipesim diagnose flight-recorder /tmp/dumps --as-scenario hang.yaml",
                   "pipesim diagnose oneflow logs --group 0,1 --group 2,3",
                   "pipesim diagnose oneflow all.log --scenario scenarios/swin_2x2x2.yaml"},
      .exit_status =
          "0 nothing wrong was found, 1 a hang or a mismatch, 2 invalid input or usage, 3 "
          "undecided (not enough evidence), 74 a file could not be read or written",
      .pages = {"docs/how-to/diagnose.md"},
      .words = evidence_names(),
      .run = run_diagnose,
  };
}

}  // namespace pipesim::app
