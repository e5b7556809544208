#include "app/diagnose_command.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "app/evidence_input.hpp"
#include "app/exit_codes.hpp"
#include "app/files.hpp"
#include "app/views.hpp"
#include "formats/boxing_reader.hpp"
#include "formats/evidence_writer.hpp"
#include "formats/flight_recorder_file.hpp"
#include "formats/launch_log_reader.hpp"
#include "formats/stack_reader.hpp"
#include "models/diagnosis.hpp"
#include "models/launch_log.hpp"
#include "models/simulation.hpp"
#include "models/stack_evidence.hpp"
#include "viz/diagnosis_text.hpp"
#include "viz/diagnostic_text.hpp"
#include "viz/html_page.hpp"
#include "viz/launch_log_text.hpp"
#include "viz/report_lines.hpp"
#include "viz/stack_groups_text.hpp"
#include "viz/table.hpp"
#include "viz/wait_for_dot.hpp"
#include "viz/words.hpp"

namespace pipesim::app {
namespace {

// The wait-for graph, as --dot and --draw ask for it. False, with a reason, where it cannot be
// drawn.
bool draw(const DiagnoseCommand& command, const std::string& name,
          const models::Explanation& explanation, const std::vector<models::Wait>& waits,
          const Console& console) {
  const std::string title = fmt::format("{}: {}", name, viz::verdict_text(explanation));
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

int diagnose_dumps(const DiagnoseCommand& command, const Console& console) {
  std::optional<DumpReading> reading = read_dumps(command.kind, command.paths, console);
  if (!reading) return kExitUsage;
  const models::Diagnosis diagnosis = models::diagnose(reading->evidence);
  if (!draw(command, reading->evidence.name, diagnosis.explanation, diagnosis.waits, console))
    return kExitUsage;
  if (command.scenario_path) {
    const std::string scenario = formats::write_evidence_scenario(reading->evidence, diagnosis);
    if (scenario.empty()) {
      reading->notes.emplace_back("No scenario is written: there is no hang that one could have");
    } else {
      write_file(*command.scenario_path, scenario);
    }
  }
  const viz::DiagnosisReport report{reading->evidence, diagnosis, reading->notes, command.all};
  write_page(command, reading->evidence.name,
             static_cast<std::uint32_t>(reading->evidence.ranks.size()), diagnosis.explanation,
             diagnosis.waits, viz::diagnosis_text(report, {}));
  console.out << (command.json ? viz::diagnosis_json(report)
                               : viz::diagnosis_text(report, {console.out_colour}));
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
    const models::CountDifference& it = differences[i];
    notes.push_back(
        fmt::format("  rank {} {}: entered {} and launched {} in the log, {} and {} in the run",
                    it.rank, models::printable(it.op), it.logged_entered, it.logged_launched,
                    it.simulated_entered, it.simulated_launched));
  }
  if (differences.size() > kMostTold) {
    notes.push_back(fmt::format("  and {} more", differences.size() - kMostTold));
  }
}

int diagnose_logs(const DiagnoseCommand& command, const Console& console) {
  std::vector<std::string> notes;
  formats::LaunchLogReader reader;
  std::size_t read = 0;
  for (const EvidenceFile& file : evidence_files(command.paths, formats::rank_of_log, notes)) {
    const std::string text = read_file(file.path, console.in, formats::kMostLogBytes);
    models::Diagnostics diagnostics;
    read += reader.read(text, shown_path(file.path), diagnostics) ? 1U : 0U;
    console.err << viz::diagnostic_text(diagnostics, shown_path(file.path), text,
                                        console.err_colour);
  }
  if (read == 0) return kExitUsage;
  if (reader.other_lines() > 0) {
    notes.push_back(fmt::format("{} of the logs {} of no launch",
                                viz::counted(reader.other_lines(), "line"),
                                reader.other_lines() == 1 ? "is" : "are"));
  }
  models::LaunchLog log = reader.take();
  log.format = "logs of launches";
  log.name = evidence_name(command.paths);
  models::LaunchLogHints hints;
  if (command.scenario) {
    std::optional<Model> model = simulate(*command.scenario, console);
    if (!model) return kExitUsage;
    hints = std::move(model->hints);
    add_comparison(log, *model, notes);
  }
  if (!command.groups.empty()) hints.groups = command.groups;
  if (!command.phases.empty()) hints.phases = command.phases;
  const models::LaunchLogDiagnosis diagnosis = models::diagnose(log, hints);
  if (!diagnosis.has_groups) {
    notes.emplace_back(
        "Logs do not say who does a collective with whom: --group or --scenario does");
  }
  if (!draw(command, log.name, diagnosis.explanation, diagnosis.waits, console)) return kExitUsage;
  const viz::LaunchLogReport report{log, diagnosis, notes, command.all};
  write_page(command, log.name, static_cast<std::uint32_t>(log.ranks.size()), diagnosis.explanation,
             diagnosis.waits, viz::launch_log_text(report, {}));
  console.out << (command.json ? viz::launch_log_json(report)
                               : viz::launch_log_text(report, {console.out_colour}));
  return exit_code(diagnosis.explanation);
}

int diagnose_stacks(const DiagnoseCommand& command, const Console& console) {
  std::vector<std::string> notes;
  formats::StackReader reader;
  std::size_t read = 0;
  for (const EvidenceFile& file : evidence_files(command.paths, any_file, notes)) {
    const std::string text = read_file(file.path, console.in, formats::kMostStackBytes);
    models::Diagnostics diagnostics;
    read += reader.read(text, shown_path(file.path), diagnostics) ? 1U : 0U;
    console.err << viz::diagnostic_text(diagnostics, shown_path(file.path), text,
                                        console.err_colour);
  }
  if (read == 0) return kExitUsage;
  if (reader.other_lines() > 0) {
    notes.push_back(fmt::format("{} {} of no stack", viz::counted(reader.other_lines(), "line"),
                                reader.other_lines() == 1 ? "is" : "are"));
  }
  models::StackDumps dumps = reader.take();
  dumps.name = evidence_name(command.paths);
  if (dumps.numbered) {
    notes.emplace_back("Processes do not say their rank: they are counted in their order");
  }
  const models::StackDiagnosis diagnosis = models::diagnose(dumps);
  const viz::StackReport report{dumps, diagnosis, notes, command.all};
  console.out << (command.json ? viz::stack_groups_json(report)
                               : viz::stack_groups_text(report, {console.out_colour}));
  const bool found = diagnosis.verdict == models::StackVerdict::kOddOnes ||
                     diagnosis.verdict == models::StackVerdict::kDifferent;
  return found ? kExitBad : kExitUndecided;
}

// Tensors of which some ranks read zeros: what makes ranks differ.
int diagnose_boxing(const DiagnoseCommand& command, const Console& console) {
  constexpr std::size_t kMostRows = 40;
  std::vector<std::string> notes;
  viz::Table table({"line", "from", "to", "tensor", "shape", "signatures", "placement"});
  std::size_t rows = 0;
  std::size_t found = 0;
  bool any = false;
  for (const EvidenceFile& file : evidence_files(command.paths, any_file, notes)) {
    const std::string text = read_file(file.path, console.in, formats::kMostBoxingBytes);
    models::Diagnostics diagnostics;
    const auto read = formats::read_boxing(text, diagnostics);
    console.err << viz::diagnostic_text(diagnostics, shown_path(file.path), text,
                                        console.err_colour);
    if (!read) continue;
    any = true;
    rows += read->size();
    for (const formats::BoxingRow& row : *read) {
      if (!row.makes_partial_sum()) continue;
      if (++found > kMostRows && !command.all) continue;
      table.add({std::to_string(row.line), models::printable(row.producer),
                 models::printable(row.consumer), models::printable(row.tensor),
                 models::printable(row.shape), models::printable(row.from + " to " + row.to),
                 models::printable(row.placement)});
    }
  }
  if (!any) return kExitUsage;
  console.out << fmt::format("{}, {} from a broadcast\n", viz::counted(rows, "boxing"),
                             viz::counted(found, "partial sum"));
  if (found == 0) return kExitGood;
  console.out << "\nSome ranks of these read the tensor, and the others zeros, which wait for "
                 "something else:\n"
              << table.text(2);
  if (found > kMostRows && !command.all) {
    console.out << fmt::format("  and {} more; --all lists them\n", found - kMostRows);
  }
  return kExitBad;
}

}  // namespace

const std::vector<std::string>& evidence_kinds() {
  static const std::vector<std::string> kKinds = {"flight-recorder", "nccl-log", "oneflow",
                                                  "boxing", "stacks"};
  return kKinds;
}

int run_diagnose(const DiagnoseCommand& command, const Console& console) {
  if (command.kind == "oneflow") return diagnose_logs(command, console);
  if (command.kind == "boxing") return diagnose_boxing(command, console);
  return command.kind == "stacks" ? diagnose_stacks(command, console)
                                  : diagnose_dumps(command, console);
}

}  // namespace pipesim::app
