#include "app/diagnose_command.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/files.hpp"
#include "app/views.hpp"
#include "formats/evidence_writer.hpp"
#include "formats/flight_recorder_file.hpp"
#include "formats/launch_log_reader.hpp"
#include "formats/nccl_log_reader.hpp"
#include "formats/stack_reader.hpp"
#include "models/diagnosis.hpp"
#include "models/launch_log.hpp"
#include "models/simulation.hpp"
#include "models/stack_evidence.hpp"
#include "viz/diagnosis_text.hpp"
#include "viz/diagnostic_text.hpp"
#include "viz/launch_log_text.hpp"
#include "viz/stack_groups_text.hpp"
#include "viz/wait_for_dot.hpp"
#include "viz/words.hpp"

namespace pipesim::app {
namespace {

/// What was read, and what is to be said of it.
struct Reading {
  models::Evidence evidence;
  std::vector<std::string> notes;
};

struct EvidenceFile {
  std::string path;
  std::optional<std::uint32_t> rank;  // by its name
};

// Whether a file of a folder is evidence, by its name, and of which rank.
using RankOfName = std::optional<std::uint32_t> (*)(const std::string& path);

// The files that `paths` stand for; those of a folder by rank, then name.
std::vector<EvidenceFile> files_of(const std::vector<std::string>& paths, RankOfName rank_of,
                                   std::vector<std::string>& notes) {
  std::vector<EvidenceFile> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back({path, rank_of(path)});
      continue;
    }
    std::vector<EvidenceFile> found;
    std::set<std::string> names;
    std::size_t others = 0;
    const std::filesystem::directory_iterator entries(path, error);
    if (error) throw FileError(fmt::format("cannot read '{}': {}", path, error.message()));
    for (const auto& entry : entries) {
      if (!entry.is_regular_file(error)) continue;
      const std::string name = entry.path().string();
      if (const auto rank = rank_of(name)) {
        found.push_back({name, rank});
        names.insert(name);
      } else {
        ++others;
      }
    }
    // Who keeps a dump as JSON too, has it twice.
    constexpr std::string_view kJson = ".json";
    const auto is_copy = [&](const EvidenceFile& file) {
      const std::string& name = file.path;
      return name.size() > kJson.size() && name.substr(name.size() - kJson.size()) == kJson &&
             names.count(name.substr(0, name.size() - kJson.size())) > 0;
    };
    found.erase(std::remove_if(found.begin(), found.end(), is_copy), found.end());
    std::sort(found.begin(), found.end(), [](const EvidenceFile& a, const EvidenceFile& b) {
      return std::pair(a.rank, a.path) < std::pair(b.rank, b.path);
    });
    files.insert(files.end(), found.begin(), found.end());
    if (others > 0) {
      notes.push_back(fmt::format("{} of '{}' {} no rank in {}: not read",
                                  viz::counted(others, "file"), path, others == 1 ? "has" : "have",
                                  others == 1 ? "its name" : "their names"));
    }
  }
  return files;
}

std::optional<Reading> read_flight_recorder(const DiagnoseCommand& command,
                                            const Console& console) {
  Reading reading;
  std::vector<formats::FlightRecorderDump> dumps;
  std::map<std::uint32_t, std::string> path_of;
  std::set<std::string> versions;
  std::size_t refused = 0;
  const std::vector<EvidenceFile> files =
      files_of(command.paths, formats::rank_of_dump, reading.notes);
  for (const EvidenceFile& file : files) {
    const std::string shown = file.path == "-" ? "standard input" : file.path;
    const std::string text = read_file(file.path, console.in, formats::kMostDumpBytes);
    models::Diagnostics diagnostics;
    auto dump = formats::read_flight_recorder(text, file.rank, diagnostics);
    if (dump) {
      const auto [known, is_new] = path_of.emplace(dump->rank, shown);
      if (!is_new) {
        diagnostics.error(
            {}, fmt::format("rank {} has a dump already: '{}'", dump->rank, known->second));
        dump.reset();
      }
    }
    if (!dump) {
      ++refused;
      console.err << viz::diagnostic_text(diagnostics, shown, text, console.err_colour);
      continue;
    }
    dump->path = shown;
    versions.insert(dump->version);
    dumps.push_back(std::move(*dump));
  }
  if (dumps.empty()) {
    if (files.empty()) {
      models::Diagnostics diagnostics;
      diagnostics.error({}, "there is no dump here")
          .notes.emplace_back("the name of a dump ends with the number of its rank");
      console.err << viz::diagnostic_text(diagnostics, command.paths.front(), "",
                                          console.err_colour);
    }
    return std::nullopt;
  }
  if (refused > 0) {
    reading.notes.push_back(
        fmt::format("{} could not be read: what is said here is said without {}",
                    viz::counted(refused, "file"), refused == 1 ? "it" : "them"));
  }
  if (versions.size() > 1) {
    reading.notes.emplace_back("Dumps are of different versions: are they of one job?");
  }
  reading.evidence = formats::flight_recorder_evidence(dumps);
  return reading;
}

// Any file of a folder may hold lines: names say nothing.
std::optional<std::uint32_t> any_file(const std::string& path) {
  const std::string name = std::filesystem::path(path).replace_extension().string();
  return formats::rank_of_dump(name).value_or(0);
}

std::string shown_path(const std::string& path) { return path == "-" ? "standard input" : path; }

std::optional<Reading> read_nccl_logs(const DiagnoseCommand& command, const Console& console) {
  Reading reading;
  formats::NcclLogReader reader;
  bool any = false;
  for (const EvidenceFile& file : files_of(command.paths, any_file, reading.notes)) {
    const std::string text = read_file(file.path, console.in, formats::kMostLogBytes);
    models::Diagnostics diagnostics;
    if (text.size() > formats::kMostLogBytes) {
      diagnostics.error({}, fmt::format("a log has at most {} MiB", formats::kMostLogBytes >> 20));
    } else {
      any = reader.read(text, diagnostics) || any;
    }
    console.err << viz::diagnostic_text(diagnostics, shown_path(file.path), text,
                                        console.err_colour);
  }
  if (!any) return std::nullopt;
  reading.evidence = reader.evidence();
  for (std::string& note : reader.notes()) reading.notes.push_back(std::move(note));
  return reading;
}

std::string name_of(const std::string& path) {
  if (path == "-") return "standard input";
  const std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
  return whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
}

int diagnose_dumps(const DiagnoseCommand& command, const Console& console) {
  std::optional<Reading> reading = command.kind == "nccl-log"
                                       ? read_nccl_logs(command, console)
                                       : read_flight_recorder(command, console);
  if (!reading) return kExitUsage;
  if (command.paths.size() == 1) reading->evidence.name = name_of(command.paths.front());
  const models::Diagnosis diagnosis = models::diagnose(reading->evidence);
  if (command.dot_path) {
    const std::string title = fmt::format("{}: who waits for whom", reading->evidence.name);
    write_file(*command.dot_path, viz::wait_for_dot({title, diagnosis.explanation.cycle,
                                                     diagnosis.waits, !command.all}));
  }
  if (command.scenario_path) {
    const std::string scenario = formats::write_evidence_scenario(reading->evidence, diagnosis);
    if (scenario.empty()) {
      reading->notes.emplace_back("No scenario is written: there is no hang that one could have");
    } else {
      write_file(*command.scenario_path, scenario);
    }
  }
  const viz::DiagnosisReport report{reading->evidence, diagnosis, reading->notes, command.all};
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

// `rank_3.log`, and what else ends with a number; of a folder.
std::optional<std::uint32_t> rank_of_log(const std::string& path) {
  constexpr std::string_view kLog = ".log";
  const bool is_log =
      path.size() > kLog.size() && path.compare(path.size() - kLog.size(), kLog.size(), kLog) == 0;
  return formats::rank_of_dump(is_log ? path.substr(0, path.size() - kLog.size()) : path);
}

int diagnose_logs(const DiagnoseCommand& command, const Console& console) {
  std::vector<std::string> notes;
  formats::LaunchLogReader reader;
  std::size_t read = 0;
  for (const EvidenceFile& file : files_of(command.paths, rank_of_log, notes)) {
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
  if (command.paths.size() == 1) log.name = name_of(command.paths.front());
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
  if (command.dot_path) {
    const std::string title = fmt::format("{}: who waits for whom", log.name);
    write_file(*command.dot_path, viz::wait_for_dot({title, diagnosis.explanation.cycle,
                                                     diagnosis.waits, !command.all}));
  }
  const viz::LaunchLogReport report{log, diagnosis, notes, command.all};
  console.out << (command.json ? viz::launch_log_json(report)
                               : viz::launch_log_text(report, {console.out_colour}));
  return exit_code(diagnosis.explanation);
}

int diagnose_stacks(const DiagnoseCommand& command, const Console& console) {
  std::vector<std::string> notes;
  formats::StackReader reader;
  std::size_t read = 0;
  for (const EvidenceFile& file : files_of(command.paths, any_file, notes)) {
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
  if (command.paths.size() == 1) dumps.name = name_of(command.paths.front());
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

}  // namespace

const std::vector<std::string>& evidence_kinds() {
  static const std::vector<std::string> kKinds = {"flight-recorder", "nccl-log", "oneflow",
                                                  "stacks"};
  return kKinds;
}

int run_diagnose(const DiagnoseCommand& command, const Console& console) {
  if (command.kind == "oneflow") return diagnose_logs(command, console);
  return command.kind == "stacks" ? diagnose_stacks(command, console)
                                  : diagnose_dumps(command, console);
}

}  // namespace pipesim::app
