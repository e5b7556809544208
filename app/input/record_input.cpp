#include "app/input/record_input.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/command.hpp"
#include "app/input/evidence_input.hpp"
#include "app/input/schedule_input.hpp"
#include "app/input/text_input.hpp"
#include "app/output/files.hpp"
#include "formats/record/record_scenario.hpp"
#include "formats/torch/flight_recorder_file.hpp"
#include "models/postmortem/diagnosis.hpp"
#include "models/record/record_checks.hpp"
#include "models/record/record_doubts.hpp"
#include "models/record/record_ends.hpp"
#include "models/record/record_of_dumps.hpp"
#include "models/record/recorded_job.hpp"
#include "viz/text/diagnostic_text.hpp"
#include "viz/words.hpp"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> rank_files(const std::string& folder) {
  std::vector<std::pair<std::uint32_t, std::string>> files;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  while (!error && entry != fs::directory_iterator()) {
    const auto rank = formats::rank_of_record_file(entry->path().filename().string());
    if (rank) files.emplace_back(*rank, entry->path().string());
    entry.increment(error);
  }
  if (error) {
    throw FileError(models::Code::kFile,
                    fmt::format("cannot read '{}': {}", folder, error.message()));
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> paths;
  for (auto& [rank, path] : files) paths.push_back(std::move(path));
  return paths;
}

// Whether the folder has dumps of the Flight Recorder.
bool has_dumps(const std::string& folder) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 16;
  std::vector<models::OutsideText> notes;
  const auto files = evidence_files({folder}, formats::rank_of_dump, notes);
  if (files.empty()) return false;
  std::istringstream no_input;
  return formats::known_kind_of_evidence(read_file(files.front().path, no_input, kMaxBytes)) ==
         formats::EvidenceKind::kFlightRecorder;
}

// Fails if the job hangs or if calls do not match: dumps do not show the calls that would have
// followed.
void require_completed(const models::Evidence& evidence, const std::string& path) {
  const sim::Verdict verdict = models::diagnose(evidence).explanation.verdict;
  if (verdict == sim::Verdict::kCompleted || verdict == sim::Verdict::kLimit) return;
  const std::string word = models::verdict_name(verdict);
  throw InputError(
      models::Code::kRecordRanks,
      verdict == sim::Verdict::kMismatch
          ? fmt::format("calls in these dumps do not match each other ({})", word)
          : fmt::format("these dumps are of a job that did not complete ({})", word),
      fmt::format(
          "only dumps of a job that completed are a program; 'pipesim diagnose {}' explains "
          "these",
          path));
}

// Returns the script's name, else the folder's name.
std::string name_of_record(const models::Record& record, const std::string& path) {
  const std::string script = record.command.substr(0, record.command.find(' '));
  return scenario_name_of(script.empty() ? path : script);
}

}  // namespace

bool is_record_path(const std::string& path) {
  std::error_code error;
  return path != "-" &&
         (fs::is_directory(path, error) || fs::path(path).filename() == formats::kRecordFile);
}

bool has_record(const std::string& path) {
  std::error_code error;
  return is_record_path(path) &&
         fs::exists(
             fs::is_directory(path, error) ? fs::path(path) / formats::kRecordFile : fs::path(path),
             error);
}

RecordInput::RecordInput(const std::string& path, const Console& console) {
  std::error_code error;
  const fs::path folder =
      fs::is_directory(path, error) ? fs::path(path) : fs::path(path).parent_path();
  path_ = folder.empty() ? "." : folder.string();
  const std::string about = (fs::path(path_) / formats::kRecordFile).string();
  if (fs::exists(about, error)) {
    read_record(about, console);
  } else if (has_dumps(path_)) {
    read_dumps(console);
  } else {
    throw InputError(models::Code::kRecordRanks,
                     fmt::format("'{}' is a directory without {}: expected a record written by "
                                 "'pipesim record', or Flight Recorder dumps",
                                 path, formats::kRecordFile));
  }
}

void RecordInput::read_record(const std::string& about, const Console& console) {
  std::vector<formats::RecordText> files;
  files.push_back({about, read_file(about, console.in, formats::kMaxRecordBytes)});
  for (std::string& file : rank_files(path_)) {
    std::string text = read_file(file, console.in, formats::kMaxRecordBytes);
    files.push_back({std::move(file), std::move(text)});
  }
  models::Diagnostics diagnostics;
  std::optional<models::Record> record = formats::read_record(files, diagnostics);
  if (!record) {
    std::vector<viz::SourceText> sources;
    for (const formats::RecordText& file : files) sources.push_back({file.path, file.text});
    console.err << viz::diagnostic_text(diagnostics, sources, console.err_colour);
    throw ReportedMistakes();
  }
  basis_ = models::record_basis(*record);
  const std::size_t dropped = models::drop_calls_after_cuts(*record);
  models::add_later_calls(*record);
  record_ = std::make_shared<models::Record>(std::move(*record));
  if (dropped > 0) {
    basis_.push_back(fmt::format("{} {} for ranks whose record had ended, and {} left out", dropped,
                                 dropped == 1 ? "call waits" : "calls wait",
                                 dropped == 1 ? "is" : "are"));
  }
}

void RecordInput::read_dumps(const Console& console) {
  DumpReading reading = app::read_dumps(formats::EvidenceKind::kFlightRecorder, {path_}, console);
  require_completed(reading.evidence, path_);
  models::DumpedRecord dumped = models::record_of_dumps(reading.evidence);
  if (!dumped.absent.empty()) {
    throw InputError(
        models::Code::kRecordRanks,
        fmt::format("no dump of rank {}: {} of {} ranks have one", dumped.absent.front(),
                    reading.evidence.ranks.size() - dumped.absent.size(),
                    reading.evidence.ranks.size()),
        "copy the dumps of all ranks into one folder");
  }
  record_ = std::make_shared<models::Record>(std::move(dumped.record));
  const bool empty = std::all_of(record_->ranks.begin(), record_->ranks.end(),
                                 [](const auto& rank) { return rank.entries.empty(); });
  if (empty) {
    throw InputError(
        models::Code::kRecordRanks,
        "the dumps have no call in common: the ring buffers of the ranks do not overlap",
        "use larger ring buffers (TORCH_FR_BUFFER_SIZE), and dump all ranks at the same time");
  }
  basis_.assign(reading.notes.begin(), reading.notes.end());
  basis_.emplace_back(
      "dumps do not show what waits for a call: here the current stream waits for each at once "
      "('--set waits=off': nothing does)");
  if (dumped.left_out > 0) {
    basis_.push_back(fmt::format(
        "{} left out, because the dumps of other ranks lack them (ring buffers keep only the last "
        "calls)",
        viz::counted(dumped.left_out, "call") + (dumped.left_out == 1 ? " is" : " are")));
  }
}

models::RecordRules RecordInput::rules_of(const std::string& rules) {
  return rules.empty()     ? models::RecordRules::kOwn
         : rules == "nccl" ? models::RecordRules::kNccl
                           : models::RecordRules::kGloo;
}

std::shared_ptr<const models::Recorded> RecordInput::names(const std::string& rules,
                                                           const models::TaskGraph& graph) const {
  return models::recorded_job(record_, rules_of(rules), graph);
}

std::string RecordInput::scenario(const std::string& rules) const {
  return scenario_of(*record_, rules);
}

std::string RecordInput::scenario_of(const models::Record& record, const std::string& rules) const {
  const models::RecordRules backend = rules_of(rules);
  return formats::record_scenario(record, backend, name_of_record(*record_, path_),
                                  models::record_doubts(record, backend, basis_));
}

void RecordInput::report_findings(const Console& console, const models::Recorded* names) const {
  models::Diagnostics diagnostics;
  for (models::RecordFinding& finding : models::check_record(*record_)) {
    const bool leads = finding.code == models::Code::kOtherLine && names != nullptr &&
                       names->first_difference() != nullptr;
    if (leads) continue;
    diagnostics.warning({}, finding.code, std::move(finding.message)).notes =
        std::move(finding.notes);
  }
  console.err << viz::diagnostic_text(diagnostics, path_, "", console.err_colour);
}

}  // namespace pipesim::app
