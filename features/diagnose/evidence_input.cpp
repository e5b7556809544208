#include "features/diagnose/evidence_input.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "app/input/text_input.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "viz/report/words.hpp"

#include "features/diagnose/attach_evidence.hpp"
#include "features/diagnose/boxing_reader.hpp"
#include "features/diagnose/debug_page.hpp"
#include "features/diagnose/evidence_calls.hpp"
#include "features/diagnose/evidence_merge.hpp"
#include "features/diagnose/facts_reader.hpp"
#include "features/diagnose/flight_recorder_file.hpp"
#include "features/diagnose/launch_log_reader.hpp"
#include "features/diagnose/log_stacks.hpp"
#include "features/diagnose/nccl_log_reader.hpp"
#include "features/diagnose/ras_reader.hpp"
#include "features/diagnose/stack_reader.hpp"
#include "features/diagnose/trace_rows.hpp"
#include "features/record/attached_file.hpp"
#include "features/record/record_input.hpp"

namespace pipesim::app {
namespace {

/// Holds messages back while a progress line is on the terminal. Prints them at the end.
class Said {
 public:
  explicit Said(const Console& console) : to_(console.err), console_(with_err(console, text_)) {}
  ~Said() { to_ << text_.str(); }
  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;

  const Console& console() const { return console_; }

 private:
  static Console with_err(const Console& console, std::ostream& err) {
    return {.in = console.in,
            .out = console.out,
            .err = err,
            .out_colour = console.out_colour,
            .err_colour = console.err_colour,
            .err_terminal = console.err_terminal,
            .interrupted = console.interrupted,
            .simulating = console.simulating,
            .passes = console.passes,
            .out_columns = console.out_columns};
  }

  std::ostream& to_;
  std::ostringstream text_;
  Console console_;
};

constexpr const char* kNoNotes = "no notes of 'pipesim attach' found here";

// Returns the files of ranks in `paths`, and in folders in `paths`.
std::vector<EvidenceFile> attached_files(const std::vector<std::string>& paths) {
  std::vector<models::OutsideText> ignored;
  return evidence_files(
      paths,
      [](const std::string& path) {
        return formats::rank_of_attached_file(std::filesystem::path(path).filename().string());
      },
      ignored);
}

constexpr const char* kNoDump = "no dump found here: the name of a dump ends with its rank";

}  // namespace

std::optional<std::uint32_t> any_file(const std::string& path) {
  const std::string name = std::filesystem::path(path).replace_extension().string();
  return formats::rank_of_dump(name).value_or(0);
}

std::size_t read_each(const std::vector<std::string>& paths, RankOfName rank_of,
                      std::size_t max_bytes, const Console& console,
                      std::vector<models::OutsideText>& notes, const char* nothing,
                      const ReadFile& read) {
  const std::vector<EvidenceFile> files = evidence_files(paths, rank_of, notes);
  if (files.empty()) {
    TextInput(shown_path(paths.front()), "", console).fail(models::Code::kNoEvidence, nothing);
  }
  std::size_t refused = 0;
  Said said(console);
  std::atomic<std::size_t> done{0};
  const ProgressLine progress(console, [&] {
    return fmt::format("reading evidence: {} of {}", done.load(),
                       viz::counted(files.size(), "file"));
  });
  for (const EvidenceFile& file : files) {
    TextInput input = TextInput::read(file.path, max_bytes, said.console());
    if (!read(file, input.text(), input.diagnostics())) ++refused;
    input.report();
    ++done;
  }
  if (refused == files.size()) throw ReportedMistakes();
  return refused;
}

DumpReading read_flight_recorder(const std::vector<std::string>& paths, const JobSoFar& /*so_far*/,
                                 const Console& console) {
  DumpReading reading;
  std::vector<formats::FlightRecorderDump> dumps;
  std::map<std::uint32_t, std::string> path_of;
  std::set<std::string> versions;
  const auto take = [&](const EvidenceFile& file, std::optional<std::uint32_t> rank,
                        const std::string& text, models::Diagnostics& diagnostics) {
    auto dump = formats::read_flight_recorder(text, rank, diagnostics);
    if (!dump) return false;
    dump->path = shown_path(file.path);
    const auto [known, is_new] = path_of.emplace(dump->rank, dump->path);
    if (!is_new) {
      diagnostics.error({}, models::Code::kDumpRank,
                        fmt::format("rank {} already has a dump: '{}'", dump->rank, known->second));
      return false;
    }
    const bool is_new_version = versions.insert(dump->version).second;
    if (is_new_version && !dump->version.starts_with("2.")) {
      diagnostics
          .warning({}, models::Code::kDump,
                   fmt::format("unknown version '{}' of the Flight Recorder", dump->version))
          .notes.emplace_back("it is read as version 2; check the result against the dumps");
    }
    dumps.push_back(std::move(*dump));
    return true;
  };
  const auto read = [&](const EvidenceFile& file, const std::string& text,
                        models::Diagnostics& diagnostics) {
    const bool is_table = formats::has_trace_rows(text);
    if (!is_table && !formats::is_debug_page(text)) {
      return take(file, file.rank, text, diagnostics);
    }
    if (is_table && text.find("pg_name=") == std::string::npos) {
      reading.notes.emplace_back(
          "The table of 'torchfrtrace -j' names no groups; that of 'torchfrtrace -j -v' does");
    }
    bool any = false;
    for (const formats::DebugPagePart& part :
         is_table ? formats::dumps_of_trace_rows(text) : formats::debug_page_parts(text)) {
      any = take(file, part.rank, part.text, diagnostics) || any;
    }
    return any;
  };
  const std::size_t refused = read_each(paths, formats::rank_of_dump, formats::kMaxDumpBytes,
                                        console, reading.notes, kNoDump, read);
  if (refused > 0) {
    reading.notes.emplace_back(fmt::format("{} could not be read: this diagnosis does without {}",
                                           viz::counted(refused, "file"),
                                           refused == 1 ? "it" : "them"));
  }
  if (versions.size() > 1) {
    reading.notes.emplace_back("The dumps have different versions: are they from one job?");
  }
  reading.evidence = formats::flight_recorder_evidence(std::move(dumps));
  return reading;
}

DumpReading read_nccl_logs(const std::vector<std::string>& paths, const JobSoFar& /*so_far*/,
                           const Console& console) {
  DumpReading reading;
  formats::NcclLogReader reader;
  const auto read = [&](const EvidenceFile& file, const std::string& text,
                        models::Diagnostics& diagnostics) {
    if (text.size() > formats::kMaxLogBytes) {
      diagnostics.error({}, models::Code::kLimit,
                        fmt::format("a log can have at most {} MiB", formats::kMaxLogBytes >> 20));
      return false;
    }
    return reader.read(formats::is_debug_page(text) ? formats::debug_page_text(text) : text,
                       diagnostics, shown_path(file.path));
  };
  read_each(paths, any_file, formats::kMaxLogBytes, console, reading.notes, kNoEvidence, read);
  reading.evidence = reader.evidence();
  for (models::OutsideText& note : reader.notes()) reading.notes.push_back(std::move(note));
  if (!reader.calls().empty()) {
    models::Evidence calls = reader.call_evidence();
    // Hosts run ahead of each other even in a job that does not hang, so a smaller count is no
    // proof.
    if (!models::has_pending_call(reading.evidence)) {
      for (models::RankEvidence& rank : calls.ranks) {
        for (models::GroupProgress& progress : rank.progress) progress.at_least = true;
      }
      if (models::has_pending_call(calls)) {
        reading.notes.emplace_back(
            "NCCL's lines about calls do not show whether the job hangs: a rank with fewer calls "
            "may only be late");
      }
    }
    models::merge_evidence(reading.evidence, std::move(calls), reading.notes);
    for (models::OutsideText& note : reader.calls().notes())
      reading.notes.push_back(std::move(note));
    reading.calls = reader.calls();
  }
  return reading;
}

std::vector<EvidenceFile> evidence_files(const std::vector<std::string>& paths, RankOfName rank_of,
                                         std::vector<models::OutsideText>& notes) {
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
    if (error) {
      throw FileError(models::Code::kFile,
                      fmt::format("cannot read '{}': {}", path, error.message()));
    }
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
    // Skips JSON copies of pickled dumps in the same folder.
    constexpr std::string_view kJson = ".json";
    const auto is_copy = [&](const EvidenceFile& file) {
      const std::string& name = file.path;
      return name.ends_with(kJson) && names.count(name.substr(0, name.size() - kJson.size())) > 0;
    };
    std::erase_if(found, is_copy);
    std::sort(found.begin(), found.end(), [](const EvidenceFile& a, const EvidenceFile& b) {
      return std::pair(a.rank, a.path) < std::pair(b.rank, b.path);
    });
    files.insert(files.end(), found.begin(), found.end());
    if (others > 0) {
      notes.emplace_back(
          fmt::format("{} of '{}' {} no rank in {}: not read", viz::counted(others, "file"), path,
                      others == 1 ? "has" : "have", others == 1 ? "its name" : "their names"));
    }
  }
  return files;
}

std::string evidence_name(const std::vector<std::string>& paths) {
  if (paths.size() != 1) return viz::counted(paths.size(), "file");
  const std::string& path = paths.front();
  if (path == "-") return shown_path(path);
  const std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
  return whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
}

DumpReading read_calls(const EvidenceFormat& format, const std::vector<std::string>& paths,
                       const Console& console) {
  DumpReading reading = format.read(paths, {}, console);
  models::fill_default_groups(reading.evidence);
  for (models::OutsideText& note : models::reopen_failed_calls(reading.evidence)) {
    reading.notes.push_back(std::move(note));
  }
  reading.evidence.name = evidence_name(paths);
  return reading;
}

namespace {

// Passes the text of each file to `reader`.
void read_files(const std::vector<std::string>& paths, std::size_t max_bytes,
                const Console& console, std::vector<models::OutsideText>& notes, auto& reader) {
  const auto read = [&](const EvidenceFile& file, const std::string& text,
                        models::Diagnostics& diagnostics) {
    return reader.read(text, diagnostics, shown_path(file.path));
  };
  read_each(paths, any_file, max_bytes, console, notes, kNoEvidence, read);
}

}  // namespace

DumpReading read_facts(const std::vector<std::string>& paths, const JobSoFar& /*so_far*/,
                       const Console& console) {
  DumpReading reading;
  formats::FactsReader reader;
  read_files(paths, formats::kMaxFactsBytes, console, reading.notes, reader);
  reading.evidence = reader.evidence();
  for (models::OutsideText& note : reader.notes()) reading.notes.push_back(std::move(note));
  return reading;
}

DumpReading read_ras(const std::vector<std::string>& paths, const JobSoFar& so_far,
                     const Console& console) {
  DumpReading reading;
  formats::RasReader reader;
  read_files(paths, formats::kMaxRasBytes, console, reading.notes, reader);
  reading.evidence = reader.evidence(so_far.hangs, so_far.known);
  for (models::OutsideText& note : reader.notes()) reading.notes.push_back(std::move(note));
  return reading;
}

DumpReading read_attached(const std::vector<std::string>& paths, const JobSoFar& /*so_far*/,
                          const Console& console) {
  // A job that torchrun restarts begins a folder below the first one.
  std::string newest;
  std::filesystem::file_time_type time;
  std::set<std::string> folders;
  std::error_code error;
  for (const EvidenceFile& file : attached_files(paths)) {
    const std::string folder = record_folder(file.path);
    const auto changed = std::filesystem::last_write_time(file.path, error);
    if (newest.empty() || changed > time) {
      newest = folder;
      time = changed;
    }
    folders.insert(folder);
  }
  if (folders.empty()) {
    TextInput(shown_path(paths.front()), "", console).fail(models::Code::kNoEvidence, kNoNotes);
  }
  DumpReading reading;
  for (const std::string& folder : folders) {
    if (folder == newest) continue;
    reading.notes.emplace_back(
        fmt::format("'{}' is of another start of the job: not used", folder));
  }
  reading.evidence = models::attach_evidence(RecordInput(newest, console).record());
  return reading;
}

LaunchLogReading read_launch_logs(const std::vector<std::string>& paths, const Console& console) {
  LaunchLogReading reading;
  formats::LaunchLogReader reader;
  const auto read = [&](const EvidenceFile& file, const std::string& text,
                        models::Diagnostics& diagnostics) {
    return reader.read(text, shown_path(file.path), diagnostics);
  };
  read_each(paths, formats::rank_of_log, formats::kMaxLogBytes, console, reading.notes, kNoEvidence,
            read);
  if (reader.other_lines() > 0) {
    reading.notes.emplace_back(fmt::format("{} of the logs {} not about launches",
                                           viz::counted(reader.other_lines(), "line"),
                                           reader.other_lines() == 1 ? "is" : "are"));
  }
  reading.log = reader.take();
  reading.log.format = "logs of launches";
  reading.log.name = evidence_name(paths);
  return reading;
}

// Returns the rank of each pid. Returns an empty map unless all processes of the job are known and
// have different pids, because containers often give all processes the same pid.
static std::map<std::string, std::uint32_t> ranks_of_pids(const models::KnownJob& known) {
  std::map<std::string, std::uint32_t> ranks;
  for (const auto& [id, rank] : known.processes) ranks.emplace(id.pid, rank);
  const bool good = ranks.size() == known.ranks && known.processes.size() == known.ranks;
  return good ? ranks : std::map<std::string, std::uint32_t>();
}

StackReading read_log_stacks(const std::vector<std::string>& paths, const Console& console,
                             const models::KnownJob& known) {
  StackReading reading;
  formats::StackReader reader;
  const auto read = [&](const EvidenceFile& file, const std::string& text,
                        models::Diagnostics& diagnostics) {
    const std::string path = shown_path(file.path);
    return reader.read(formats::stacks_in_log(text, path), path, diagnostics);
  };
  read_each(paths, any_file, formats::kMaxLogBytes, console, reading.notes, kNoEvidence, read);
  reader.know(known.ranks, {});
  reading.dumps = reader.take();
  return reading;
}

StackReading read_stacks(const std::vector<std::string>& paths, const Console& console,
                         const models::KnownJob& known) {
  StackReading reading;
  formats::StackReader reader;
  const auto read = [&](const EvidenceFile& file, const std::string& text,
                        models::Diagnostics& diagnostics) {
    return reader.read(text, shown_path(file.path), diagnostics);
  };
  read_each(paths, any_file, formats::kMaxStackBytes, console, reading.notes, kNoEvidence, read);
  if (reader.other_lines() > 0) {
    reading.notes.emplace_back(fmt::format(
        "{} not part of a stack",
        viz::counted(reader.other_lines(), "line") + (reader.other_lines() == 1 ? " is" : " are")));
  }
  reader.know(known.ranks, ranks_of_pids(known));
  reading.dumps = reader.take();
  reading.dumps.name = evidence_name(paths);
  if (reading.dumps.numbered) {
    reading.notes.emplace_back("The stacks do not show ranks: the report names processes by pid");
  }
  if (reading.dumps.rendezvous) {
    reading.notes.emplace_back(
        "A launcher waits in next_rendezvous: fewer nodes have joined than it expects");
  }
  if (reading.dumps.helpers > 0) {
    const bool one = reading.dumps.helpers == 1;
    reading.notes.emplace_back(
        fmt::format("{} left out: launchers and data workers are not ranks",
                    one ? "1 process is" : viz::grouped(reading.dumps.helpers) + " processes are"));
  }
  return reading;
}

BoxingReading read_boxings(const std::vector<std::string>& paths, const Console& console) {
  BoxingReading reading;
  const auto read = [&](const EvidenceFile& /*file*/, const std::string& text,
                        models::Diagnostics& diagnostics) {
    auto rows = formats::read_boxing(text, diagnostics);
    if (!rows) return false;
    std::move(rows->begin(), rows->end(), std::back_inserter(reading.rows));
    return true;
  };
  read_each(paths, any_file, formats::kMaxBoxingBytes, console, reading.notes, kNoEvidence, read);
  return reading;
}

const EvidenceFormat& format_of_evidence(const std::string& path) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 16;
  const EvidenceFormat& unknown = evidence_formats().front();
  if (path == "-") return unknown;
  std::vector<models::OutsideText> notes;
  const std::vector<EvidenceFile> files = evidence_files({path}, any_file, notes);
  if (files.empty()) return unknown;
  std::istringstream no_input;
  const EvidenceFormat* format =
      recognised_format(read_file(files.front().path, no_input, kMaxBytes));
  return format == nullptr ? unknown : *format;
}

}  // namespace pipesim::app
