#include "app/input/evidence_input.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "app/output/files.hpp"
#include "formats/evidence/nccl_log_reader.hpp"
#include "formats/evidence/stack_reader.hpp"
#include "formats/oneflow/boxing_reader.hpp"
#include "formats/oneflow/launch_log_reader.hpp"
#include "formats/torch/flight_recorder_file.hpp"
#include "viz/text/diagnostic_text.hpp"
#include "viz/words.hpp"

namespace pipesim::app {

std::vector<EvidenceFile> evidence_files(const std::vector<std::string>& paths, RankOfName rank_of,
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
      return name.ends_with(kJson) && names.count(name.substr(0, name.size() - kJson.size())) > 0;
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

std::optional<std::uint32_t> any_file(const std::string& path) {
  const std::string name = std::filesystem::path(path).replace_extension().string();
  return formats::rank_of_dump(name).value_or(0);
}

std::string shown_path(const std::string& path) { return path == "-" ? "standard input" : path; }

std::string evidence_name(const std::vector<std::string>& paths) {
  if (paths.size() != 1) return viz::counted(paths.size(), "file");
  const std::string& path = paths.front();
  if (path == "-") return "standard input";
  const std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
  return whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
}

namespace {

// Reads each of the files with `read(text, path, diagnostics)`, and tells what is wrong with it.
// False where none could be read.
template <typename Read>
bool read_each(const std::vector<std::string>& paths, RankOfName rank_of, std::size_t most_bytes,
               const Console& console, std::vector<std::string>& notes, Read read) {
  const std::vector<EvidenceFile> files = evidence_files(paths, rank_of, notes);
  if (files.empty()) {
    models::Diagnostics diagnostics;
    diagnostics.error({}, "there is no evidence here");
    console.err << viz::diagnostic_text(diagnostics, paths.front(), "", console.err_colour);
  }
  bool any = false;
  for (const EvidenceFile& file : files) {
    const std::string text = read_file(file.path, console.in, most_bytes);
    models::Diagnostics diagnostics;
    any = read(text, shown_path(file.path), diagnostics) || any;
    console.err << viz::diagnostic_text(diagnostics, shown_path(file.path), text,
                                        console.err_colour);
  }
  return any;
}

std::optional<DumpReading> read_flight_recorder(const std::vector<std::string>& paths,
                                                const Console& console) {
  DumpReading reading;
  std::vector<formats::FlightRecorderDump> dumps;
  std::map<std::uint32_t, std::string> path_of;
  std::set<std::string> versions;
  std::size_t refused = 0;
  const std::vector<EvidenceFile> files =
      evidence_files(paths, formats::rank_of_dump, reading.notes);
  for (const EvidenceFile& file : files) {
    const std::string shown = shown_path(file.path);
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
      console.err << viz::diagnostic_text(diagnostics, paths.front(), "", console.err_colour);
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

std::optional<DumpReading> read_nccl_logs(const std::vector<std::string>& paths,
                                          const Console& console) {
  DumpReading reading;
  formats::NcclLogReader reader;
  const auto read = [&](const std::string& text, const std::string& /*path*/,
                        models::Diagnostics& diagnostics) {
    if (text.size() > formats::kMostLogBytes) {
      diagnostics.error({}, fmt::format("a log has at most {} MiB", formats::kMostLogBytes >> 20));
      return false;
    }
    return reader.read(text, diagnostics);
  };
  if (!read_each(paths, any_file, formats::kMostLogBytes, console, reading.notes, read)) {
    return std::nullopt;
  }
  reading.evidence = reader.evidence();
  for (std::string& note : reader.notes()) reading.notes.push_back(std::move(note));
  return reading;
}

}  // namespace

std::optional<DumpReading> read_dumps(formats::EvidenceKind kind,
                                      const std::vector<std::string>& paths,
                                      const Console& console) {
  std::optional<DumpReading> reading = kind == formats::EvidenceKind::kNcclLog
                                           ? read_nccl_logs(paths, console)
                                           : read_flight_recorder(paths, console);
  if (reading) reading->evidence.name = evidence_name(paths);
  return reading;
}

std::optional<LaunchLogReading> read_launch_logs(const std::vector<std::string>& paths,
                                                 const Console& console) {
  LaunchLogReading reading;
  formats::LaunchLogReader reader;
  const auto read = [&](const std::string& text, const std::string& path,
                        models::Diagnostics& diagnostics) {
    return reader.read(text, path, diagnostics);
  };
  if (!read_each(paths, formats::rank_of_log, formats::kMostLogBytes, console, reading.notes,
                 read)) {
    return std::nullopt;
  }
  if (reader.other_lines() > 0) {
    reading.notes.push_back(fmt::format("{} of the logs {} of no launch",
                                        viz::counted(reader.other_lines(), "line"),
                                        reader.other_lines() == 1 ? "is" : "are"));
  }
  reading.log = reader.take();
  reading.log.format = "logs of launches";
  reading.log.name = evidence_name(paths);
  return reading;
}

std::optional<StackReading> read_stacks(const std::vector<std::string>& paths,
                                        const Console& console) {
  StackReading reading;
  formats::StackReader reader;
  const auto read = [&](const std::string& text, const std::string& path,
                        models::Diagnostics& diagnostics) {
    return reader.read(text, path, diagnostics);
  };
  if (!read_each(paths, any_file, formats::kMostStackBytes, console, reading.notes, read)) {
    return std::nullopt;
  }
  if (reader.other_lines() > 0) {
    reading.notes.push_back(fmt::format("{} {} of no stack",
                                        viz::counted(reader.other_lines(), "line"),
                                        reader.other_lines() == 1 ? "is" : "are"));
  }
  reading.dumps = reader.take();
  reading.dumps.name = evidence_name(paths);
  if (reading.dumps.numbered) {
    reading.notes.emplace_back("Processes do not say their rank: they are counted in their order");
  }
  return reading;
}

std::optional<BoxingReading> read_boxings(const std::vector<std::string>& paths,
                                          const Console& console) {
  BoxingReading reading;
  const auto read = [&](const std::string& text, const std::string& /*path*/,
                        models::Diagnostics& diagnostics) {
    auto rows = formats::read_boxing(text, diagnostics);
    if (!rows) return false;
    std::move(rows->begin(), rows->end(), std::back_inserter(reading.rows));
    return true;
  };
  if (!read_each(paths, any_file, formats::kMostBoxingBytes, console, reading.notes, read)) {
    return std::nullopt;
  }
  return reading;
}

formats::EvidenceKind kind_of_evidence(const std::string& path) {
  constexpr std::size_t kLooked = std::size_t{1} << 16;
  if (path == "-") return formats::EvidenceKind::kFlightRecorder;
  std::vector<std::string> notes;
  const std::vector<EvidenceFile> files = evidence_files({path}, any_file, notes);
  if (files.empty()) return formats::EvidenceKind::kFlightRecorder;
  std::istringstream nothing;
  return formats::kind_of_evidence(read_file(files.front().path, nothing, kLooked));
}

}  // namespace pipesim::app
