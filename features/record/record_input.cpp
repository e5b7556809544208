#include "features/record/record_input.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/command.hpp"
#include "app/input/schedule_input.hpp"
#include "app/input/text_input.hpp"
#include "app/output/files.hpp"
#include "viz/report/diagnostic_text.hpp"

#include "features/record/attached_record.hpp"
#include "features/record/record_checks.hpp"
#include "features/record/record_doubts.hpp"
#include "features/record/record_ends.hpp"
#include "features/record/record_scenario.hpp"
#include "features/record/recorded_job.hpp"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;

// Returns the files of a folder whose names `rank_of` accepts, in the order of their ranks.
template <typename RankOf>
std::vector<std::string> rank_files(const std::string& folder, const RankOf& rank_of) {
  std::vector<std::pair<std::uint32_t, std::string>> files;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  while (!error && entry != fs::directory_iterator()) {
    const std::optional<std::uint32_t> rank = rank_of(entry->path().filename().string());
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

// Reads the notes of `pipesim attach`. A running job moves notes from the first file of a rank to
// the second, so the first one is read first.
std::vector<formats::AttachedRank> attached_ranks(const std::vector<std::string>& paths,
                                                  const Console& console) {
  std::vector<formats::AttachedRank> ranks;
  for (const std::string& path : paths) {
    const std::string calls = read_file(path, console.in, formats::kMaxRecordBytes);
    const fs::path steps = fs::path(path).replace_extension(".steps");
    const std::string text =
        fs::exists(steps) ? read_file(steps.string(), console.in, formats::kMaxRecordBytes) : "";
    std::optional<formats::AttachedRank> rank = formats::read_attached_rank(calls, text);
    if (!rank) {
      throw InputError(models::Code::kRecordLine,
                       fmt::format("'{}' is not a file of 'pipesim attach'", path));
    }
    ranks.push_back(std::move(*rank));
  }
  return ranks;
}

// Returns the files of the ranks as of a record that `pipesim record` wrote.
std::vector<formats::RecordText> attached_files(const std::string& folder,
                                                std::vector<formats::AttachedText> texts) {
  std::vector<formats::RecordText> files;
  for (formats::AttachedText& rank : texts) {
    const std::string name = fmt::format("rank{}.jsonl", rank.rank);
    files.push_back({(fs::path(folder) / name).string(), std::move(rank.text)});
  }
  return files;
}

// Returns the files of the ranks of a record.
std::vector<formats::RecordText> files_of_ranks(const std::string& folder, const Console& console) {
  const auto attached = rank_files(folder, formats::rank_of_attached_file);
  if (!attached.empty()) {
    auto job = formats::attached_record(attached_ranks(attached, console));
    return attached_files(folder, std::move(job.texts));
  }
  std::vector<formats::RecordText> files;
  for (std::string& file : rank_files(folder, formats::rank_of_record_file)) {
    files.push_back({std::move(file), "", true});
  }
  return files;
}

// Returns the name of the script or, if it is unknown, of the folder.
std::string name_of_record(const models::Record& record, const std::string& path) {
  const std::string script = record.command.substr(0, record.command.find(' '));
  return scenario_name_of(script.empty() ? path : script);
}

}  // namespace

bool has_record(const std::string& path) {
  std::error_code error;
  return is_foreign_path(path) &&
         fs::exists(
             fs::is_directory(path, error) ? fs::path(path) / formats::kRecordFile : fs::path(path),
             error);
}

bool has_notes(const std::string& path) {
  return has_record(path) &&
         !rank_files(record_folder(path), formats::rank_of_attached_file).empty();
}

std::string record_folder(const std::string& path) {
  std::error_code error;
  const fs::path folder =
      fs::is_directory(path, error) ? fs::path(path) : fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

RecordInput::RecordInput(const std::string& path, const Console& console)
    : path_(record_folder(path)) {
  read(files_of_ranks(path_, console), console);
}

RecordInput::RecordInput(std::string folder, std::vector<formats::RecordText> ranks,
                         const Console& console)
    : path_(std::move(folder)) {
  read(std::move(ranks), console);
}

void RecordInput::read(std::vector<formats::RecordText> ranks, const Console& console) {
  const std::string about = (fs::path(path_) / formats::kRecordFile).string();
  std::vector<formats::RecordText> files;
  files.push_back({about, read_file(about, console.in, formats::kMaxRecordBytes)});
  std::move(ranks.begin(), ranks.end(), std::back_inserter(files));
  models::Diagnostics diagnostics;
  const auto read = [&](const std::string& file) {
    return read_file(file, console.in, formats::kMaxRecordBytes);
  };
  std::optional<models::Record> record = formats::read_record(files, diagnostics, read);
  if (!record) {
    std::vector<viz::SourceText> sources;
    for (formats::RecordText& file : files) {
      if (file.is_in_file) file.text = read(file.path);
      sources.push_back({file.path, file.text});
    }
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

RecordInput::RecordInput(std::string path, models::Record record, std::vector<std::string> basis)
    : path_(std::move(path)),
      record_(std::make_shared<models::Record>(std::move(record))),
      basis_(std::move(basis)) {}

FollowedJob follow_job(const std::string& path, const Console& console) {
  const std::string folder = record_folder(path);
  const auto files = rank_files(folder, formats::rank_of_attached_file);
  if (files.empty() && !rank_files(folder, formats::rank_of_record_file).empty()) {
    throw InputError(models::Code::kOptionConflict,
                     fmt::format("'{}' is no folder of 'pipesim attach', so no job runs", folder));
  }
  std::vector<formats::AttachedRank> ranks = attached_ranks(files, console);
  FollowedJob followed;
  if (ranks.empty() || ranks.size() < ranks.front().world) return followed;
  formats::AttachedJob job = formats::attached_record(std::move(ranks), true);
  followed.has_ended = job.has_ended || std::time(nullptr) - job.alive_at >= formats::kSecondsToDie;
  followed.goes_on = job.goes_on;
  followed.steps = job.steps;
  if (job.goes_on && job.steps == 0 && !followed.has_ended) return followed;
  followed.job = std::make_shared<const RecordInput>(
      folder, attached_files(folder, std::move(job.texts)), console);
  return followed;
}

std::string import_record(const Arguments& arguments, const std::string& path,
                          const Console& console) {
  if (!is_foreign_path(path)) {
    throw InputError(models::Code::kRecordRanks,
                     fmt::format("'{}' is not a directory; a record is one", path));
  }
  const auto job = read_foreign_job(path, console);
  job->report_findings(console);
  const std::string rules = arguments.text("rules").value_or("");
  const RecordInput* record = record_of(job.get());
  return record != nullptr ? record->scenario_for_people(rules) : job->scenario(rules);
}

std::unique_ptr<const ForeignJob> read_record_job(const std::string& path, const Console& console) {
  return std::make_unique<RecordInput>(path, console);
}

const RecordInput* record_of(const ForeignJob* job) {
  return dynamic_cast<const RecordInput*>(job);
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

std::string RecordInput::scenario_for_people(const std::string& rules) const {
  return scenario_of(*record_, rules, true);
}

std::string RecordInput::scenario_of(const models::Record& record, const std::string& rules,
                                     bool for_people) const {
  const models::RecordRules backend = rules_of(rules);
  return formats::record_scenario(record, backend, name_of_record(*record_, path_),
                                  models::record_doubts(record, backend, basis_), for_people);
}

std::optional<formats::YamlDocument> RecordInput::document(const std::string& rules) const {
  const models::RecordRules backend = rules_of(rules);
  return formats::record_document(*record_, backend, name_of_record(*record_, path_),
                                  models::record_doubts(*record_, backend, basis_));
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
