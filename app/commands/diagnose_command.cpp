#include "app/commands/diagnose_command.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/input/evidence_input.hpp"
#include "app/output/files.hpp"
#include "app/output/views.hpp"
#include "formats/evidence/evidence_writer.hpp"
#include "models/explain/simulation.hpp"
#include "models/postmortem/diagnosis.hpp"
#include "models/postmortem/launch_log.hpp"
#include "models/postmortem/stack_evidence.hpp"
#include "viz/draw/wait_for_dot.hpp"
#include "viz/evidence/boxing_log_text.hpp"
#include "viz/evidence/diagnosis_text.hpp"
#include "viz/evidence/launch_log_text.hpp"
#include "viz/evidence/stack_groups_text.hpp"
#include "viz/html/html_page.hpp"
#include "viz/report_lines.hpp"
#include "viz/words.hpp"

namespace pipesim::app {
namespace {

std::string title_of(const std::string& name, const models::Explanation& explanation) {
  return fmt::format("{}: {}", name, viz::verdict_text(explanation));
}

// The wait-for graph, as --dot and --draw ask for it. False, with a reason, where it cannot be
// drawn.
bool draw(const DiagnoseCommand& command, const std::string& title,
          const models::Explanation& explanation, const std::vector<models::Wait>& waits,
          const Console& console) {
  const viz::WaitPicture picture = viz::wait_picture(title, explanation, waits, !command.all);
  if (command.dot_path) write_file(*command.dot_path, viz::wait_for_dot(picture));
  if (!command.picture_path) return true;
  try {
    write_file(*command.picture_path,
               viz::wait_for_drawing(picture, viz::picture_format(*command.picture_path)));
  } catch (const viz::DrawingError& error) {
    console.err << fmt::format("pipesim: error: {}\n", error.what());
    return false;
  }
  return true;
}

// The page, if --html asks for it.
void write_page(const DiagnoseCommand& command, const std::string& name, std::uint32_t ranks,
                const models::Explanation& explanation, const std::vector<models::Wait>& waits,
                const std::string& text) {
  if (!command.html_path) return;
  models::TaskGraph graph;  // only what heads a report
  graph.name = name;
  graph.ranks = ranks;
  viz::Report report{graph, explanation, {}, {}, waits, {}, {}};
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
  write_file(*command.html_path, viz::html_page(report, page, command.all));
}

// The scenario, if --as-scenario asks for it.
void write_scenario(const DiagnoseCommand& command, const models::Evidence& evidence,
                    const models::Diagnosis& diagnosis, std::vector<std::string>& notes) {
  if (!command.scenario_path) return;
  const std::string scenario = formats::write_evidence_scenario(evidence, diagnosis);
  if (scenario.empty()) {
    notes.emplace_back("No scenario is written: there is no hang that one could have");
  } else {
    write_file(*command.scenario_path, scenario);
  }
}

int diagnose_dumps(const DiagnoseCommand& command, const Console& console) {
  std::optional<DumpReading> reading = read_dumps(command.kind, command.paths, console);
  if (!reading) return kExitUsage;
  const models::Diagnosis diagnosis = models::diagnose(reading->evidence);
  if (!draw(command, title_of(reading->evidence.name, diagnosis.explanation), diagnosis.explanation,
            diagnosis.waits, console))
    return kExitUsage;
  write_scenario(command, reading->evidence, diagnosis, reading->notes);
  const viz::DiagnosisReport report{reading->evidence, diagnosis, reading->notes, command.all};
  write_page(command, reading->evidence.name,
             static_cast<std::uint32_t>(reading->evidence.ranks.size()), diagnosis.explanation,
             diagnosis.waits, viz::diagnosis_text(report, {}));
  console.out << (command.json
                      ? viz::diagnosis_json(report)
                      : viz::diagnosis_text(report, {console.out_colour, console.out_columns}));
  return exit_code(diagnosis.explanation);
}

/// A scenario that stands for the job, and how it ends.
struct Model {
  std::string path;
  models::LaunchLogHints hints;
  models::Explanation end;
};

std::optional<Model> simulate(const ScenarioFiles& files, const Console& console) {
  ScenarioInput input(files, console);
  models::Diagnostics diagnostics;
  const auto scenario = input.read(diagnostics);
  std::optional<models::Simulation> simulation;
  if (scenario) simulation = models::simulate(scenario->graph, diagnostics);
  input.complain(diagnostics, console);
  if (!simulation) return std::nullopt;
  return Model{input.path(), models::hints_of(scenario->graph, simulation->lowered),
               simulation->explanation};
}

// Whether a run of the scenario ends where the job does.
void add_comparison(const models::LaunchLog& log, const Model& model,
                    std::vector<std::string>& notes) {
  constexpr std::size_t kMostTold = 10;
  const auto differences = models::compare(log, model.end);
  if (differences.empty()) {
    notes.push_back(fmt::format(
        "'pipesim run {}' ends in the same place: each rank has entered and launched the same",
        model.path));
    return;
  }
  notes.push_back(fmt::format(
      "'pipesim run {}' ends elsewhere: {}", model.path,
      differences.size() == 1 ? "1 op differs" : fmt::format("{} ops differ", differences.size())));
  for (std::size_t i = 0; i < std::min(kMostTold, differences.size()); ++i) {
    notes.push_back("  " + viz::difference_line(differences[i]));
  }
  if (differences.size() > kMostTold) {
    notes.push_back(fmt::format("  and {} more", differences.size() - kMostTold));
  }
}

int diagnose_logs(const DiagnoseCommand& command, const Console& console) {
  std::optional<LaunchLogReading> reading = read_launch_logs(command.paths, console);
  if (!reading) return kExitUsage;
  const models::LaunchLog& log = reading->log;
  models::LaunchLogHints hints;
  if (command.scenario) {
    std::optional<Model> model = simulate(*command.scenario, console);
    if (!model) return kExitUsage;
    hints = std::move(model->hints);
    add_comparison(log, *model, reading->notes);
  }
  if (!command.groups.empty()) hints.groups = command.groups;
  if (!command.phases.empty()) hints.phases = command.phases;
  const models::LaunchLogDiagnosis diagnosis = models::diagnose(log, hints);
  if (!diagnosis.has_groups) {
    reading->notes.emplace_back(
        "Logs do not say who does a collective with whom: --group or --scenario does");
  }
  if (!draw(command, title_of(log.name, diagnosis.explanation), diagnosis.explanation,
            diagnosis.waits, console))
    return kExitUsage;
  write_scenario(command, diagnosis.evidence, models::diagnose(diagnosis.evidence), reading->notes);
  const viz::LaunchLogReport report{log, diagnosis, reading->notes, command.all};
  write_page(command, log.name, static_cast<std::uint32_t>(log.ranks.size()), diagnosis.explanation,
             diagnosis.waits, viz::launch_log_text(report, {}));
  console.out << (command.json
                      ? viz::launch_log_json(report)
                      : viz::launch_log_text(report, {console.out_colour, console.out_columns}));
  return exit_code(diagnosis.explanation);
}

int diagnose_stacks(const DiagnoseCommand& command, const Console& console) {
  const std::optional<StackReading> reading = read_stacks(command.paths, console);
  if (!reading) return kExitUsage;
  const models::StackDiagnosis diagnosis = models::diagnose(reading->dumps);
  const std::string& name = reading->dumps.name;
  const std::string title = fmt::format("{}: {}", name, verdict_name(diagnosis.verdict));
  if (!draw(command, title, diagnosis.explanation, diagnosis.waits, console)) return kExitUsage;
  const viz::StackReport report{reading->dumps, diagnosis, reading->notes, command.all};
  write_page(command, name, diagnosis.ranks, diagnosis.explanation, diagnosis.waits,
             viz::stack_groups_text(report, {}));
  console.out << (command.json
                      ? viz::stack_groups_json(report)
                      : viz::stack_groups_text(report, {console.out_colour, console.out_columns}));
  const bool found = diagnosis.verdict == models::StackVerdict::kOddOnes ||
                     diagnosis.verdict == models::StackVerdict::kDifferent;
  return found ? kExitBad : kExitUndecided;
}

int diagnose_boxing(const DiagnoseCommand& command, const Console& console) {
  const std::optional<BoxingReading> reading = read_boxings(command.paths, console);
  if (!reading) return kExitUsage;
  const viz::BoxingReport report{evidence_name(command.paths), reading->rows, reading->notes,
                                 command.all};
  console.out << (command.json ? viz::boxing_log_json(report) : viz::boxing_log_text(report));
  return viz::partial_sums(report).empty() ? kExitGood : kExitBad;
}

}  // namespace

int run_diagnose(const DiagnoseCommand& command, const Console& console) {
  switch (command.kind) {
    case formats::EvidenceKind::kFlightRecorder:
    case formats::EvidenceKind::kNcclLog:
      break;
    case formats::EvidenceKind::kLaunchLog:
      return diagnose_logs(command, console);
    case formats::EvidenceKind::kBoxing:
      return diagnose_boxing(command, console);
    case formats::EvidenceKind::kStacks:
      return diagnose_stacks(command, console);
  }
  return diagnose_dumps(command, console);
}

}  // namespace pipesim::app
