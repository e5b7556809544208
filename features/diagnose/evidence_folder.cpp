#include "features/diagnose/evidence_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "app/input/text_input.hpp"
#include "app/output/files.hpp"
#include "viz/report/words.hpp"

#include "features/diagnose/blocked_ranks.hpp"
#include "features/diagnose/evidence_calls.hpp"
#include "features/diagnose/evidence_input.hpp"
#include "features/diagnose/evidence_merge.hpp"
#include "features/diagnose/launch_log_reader.hpp"
#include "features/diagnose/log_stacks.hpp"
#include "features/diagnose/ras_reader.hpp"
#include "features/diagnose/stack_evidence.hpp"
#include "features/record/record_reader.hpp"

namespace pipesim::app {
namespace {

using Paths = std::vector<std::string>;

constexpr std::size_t kMaxEvidenceFiles = 100'000;

// Replaces each folder in `paths` by its files, sorted by name.
Paths all_files(const Paths& paths) {
  Paths files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    Paths found;
    std::filesystem::recursive_directory_iterator entries(path, error);
    if (error) {
      throw FileError(models::Code::kFile,
                      fmt::format("cannot read '{}': {}", path, error.message()));
    }
    for (const auto& entry : entries) {
      if (entry.is_regular_file(error)) found.push_back(entry.path().string());
      if (found.size() > kMaxEvidenceFiles) {
        throw FileError(models::Code::kFile,
                        fmt::format("'{}' has more than {} files", path, kMaxEvidenceFiles));
      }
    }
    // Skips JSON copies of pickled dumps in the same folder.
    const std::set<std::string> names(found.begin(), found.end());
    std::erase_if(found, [&](const std::string& name) {
      constexpr std::string_view kJson = ".json";
      return name.ends_with(kJson) && names.count(name.substr(0, name.size() - kJson.size())) > 0;
    });
    // The other files of a folder of `pipesim attach` are read with a rank's first one.
    const auto is_attached = [](const std::string& name) { return name.ends_with(".calls"); };
    if (std::any_of(names.begin(), names.end(), is_attached)) {
      std::erase_if(found, [](const std::string& name) {
        return name.ends_with(".steps") || name.ends_with(formats::kRecordFile);
      });
    }
    std::sort(found.begin(), found.end());
    std::move(found.begin(), found.end(), std::back_inserter(files));
  }
  return files;
}

// Adds a log to the lists of logs with stacks of known ranks and with reports of RAS.
void add_log(const std::string& path, SortedEvidence& sorted) {
  std::istringstream no_input;
  const std::string text = read_file(path, no_input, formats::kMaxLogBytes);
  if (formats::has_log_stacks(text) && !formats::stacks_in_log(text, path).empty()) {
    sorted.logs_with_stacks.push_back(path);
  }
  if (text.size() <= formats::kMaxRasBytes && formats::has_ras_text(text)) {
    sorted.logs_with_ras.push_back(path);
  }
}

// Returns the format of a file, or nullptr. Reads only the beginning if it identifies a format of
// large files, else the whole file.
const EvidenceFormat* format_of(const std::string& path) {
  constexpr std::size_t kBeginning = std::size_t{1} << 16;
  std::istringstream no_input;
  const EvidenceFormat* first = recognised_format(read_file(path, no_input, kBeginning));
  if (first != nullptr && first->large) return first;
  return recognised_format(read_file(path, no_input, formats::kMaxLogBytes));
}

// Returns the positions of hosts with an unfinished launch in a launch log.
std::map<std::uint32_t, models::HostStanding> hosts_of(const models::LaunchLog& log) {
  std::map<std::uint32_t, models::HostStanding> hosts;
  for (std::uint32_t rank = 0; rank < log.ranks.size(); ++rank) {
    for (const models::LoggedThread& thread : log.ranks[rank].threads) {
      if (thread.open.empty()) continue;
      models::HostStanding& host = hosts[rank];
      host.waits = host.blocked = true;
      host.at = thread.last_entered;
    }
  }
  return hosts;
}

void add_stacks(StackReading reading, DumpReading& all) {
  std::move(reading.notes.begin(), reading.notes.end(), std::back_inserter(all.notes));
  const models::StackDiagnosis found = models::diagnose(reading.dumps);
  all.notes.insert(all.notes.end(), found.notes.begin(), found.notes.end());
  // Calls from stacks count only if no other evidence has a pending call. The host positions from
  // stacks always count.
  if (!models::has_pending_call(all.evidence) && reading.dumps.names.empty()) {
    models::merge_evidence(all.evidence, stack_evidence(reading.dumps, found), all.notes);
  } else {
    all.evidence.format = all.evidence.format + ", stacks";
  }
  add_hosts(all.evidence, models::host_standings(reading.dumps), reading.dumps.files);
  models::add_hidden_waits(all.evidence);
}

void add_launches(const LaunchLogReading& reading, models::Evidence& evidence) {
  if (evidence.ranks.empty()) {
    models::RankEvidence unknown;
    unknown.complete = false;
    evidence.ranks.resize(reading.log.ranks.size(), unknown);
  }
  add_hosts(evidence, hosts_of(reading.log), {});
  evidence.format = evidence.format + (evidence.format.empty() ? "" : ", ") + reading.log.format;
}

}  // namespace

SortedEvidence sort_evidence(const Paths& paths, const Console& console) {
  SortedEvidence sorted;
  std::size_t others = 0;
  for (const std::string& path : all_files(paths)) {
    if (const EvidenceFormat* format = format_of(path)) {
      sorted.files[format].push_back(path);
      const bool is_log = format->shows == Shows::kCalls && format->name == "nccl-log";
      if (is_log) add_log(path, sorted);
    } else {
      ++others;
    }
  }
  if (sorted.files.empty()) {
    TextInput(shown_path(paths.front()), "", console)
        .fail(models::Code::kNoEvidence,
              "no evidence found here: no dump, log, stack, report of RAS or notes of attach");
  }
  // A report in a file of its own is newer.
  if (!sorted.logs_with_ras.empty()) {
    sorted.files.emplace(find_evidence_format("ras"), std::move(sorted.logs_with_ras));
  }
  if (others > 0) {
    sorted.notes.emplace_back(fmt::format(
        "{} {} no evidence: not used", viz::counted(others, "file"), others == 1 ? "is" : "are"));
  }
  return sorted;
}

DumpReading read_all_evidence(const SortedEvidence& sorted, const Console& console) {
  DumpReading all;
  all.notes = sorted.notes;
  const auto files_of = [&](Shows shows) -> const Paths* {
    const auto found = std::find_if(sorted.files.begin(), sorted.files.end(),
                                    [&](const auto& it) { return it.first->shows == shows; });
    return found == sorted.files.end() ? nullptr : &found->second;
  };
  // Adds the evidence in formats that show calls.
  const auto add_calls = [&](bool last, const JobSoFar& so_far) {
    for (const auto& [format, paths] : sorted.files) {
      if (format->shows != Shows::kCalls || format->is_last != last) continue;
      DumpReading reading = format->read(paths, so_far, console);
      std::move(reading.notes.begin(), reading.notes.end(), std::back_inserter(all.notes));
      models::merge_evidence(all.evidence, std::move(reading.evidence), all.notes);
      if (!reading.calls.empty()) all.calls = std::move(reading.calls);
    }
  };
  add_calls(false, {});
  models::KnownJob known = models::known_job(all.evidence);
  std::optional<StackReading> stacks;
  if (const Paths* files = files_of(Shows::kStacks)) {
    stacks = read_stacks(*files, console, known);
  } else if (!sorted.logs_with_stacks.empty()) {
    // Stacks of collect and py-spy are newer.
    stacks = read_log_stacks(sorted.logs_with_stacks, console, known);
  }
  if (stacks) {
    for (const auto& [rank, pid] : stacks->dumps.pids) {
      known.processes.push_back({{"", pid, ""}, rank});
    }
  }
  add_calls(true, {models::has_pending_call(all.evidence), known});
  if (stacks) add_stacks(std::move(*stacks), all);
  if (const Paths* files = files_of(Shows::kLaunches)) {
    add_launches(read_launch_logs(*files, console), all.evidence);
  }
  models::fill_default_groups(all.evidence);
  for (models::OutsideText& note : models::reopen_failed_calls(all.evidence)) {
    all.notes.push_back(std::move(note));
  }
  return all;
}

}  // namespace pipesim::app
