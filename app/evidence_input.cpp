#include "app/evidence_input.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "app/files.hpp"
#include "formats/flight_recorder_file.hpp"
#include "formats/launch_log_reader.hpp"
#include "formats/nccl_log_reader.hpp"
#include "viz/diagnostic_text.hpp"
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

std::optional<std::uint32_t> any_file(const std::string& path) {
  const std::string name = std::filesystem::path(path).replace_extension().string();
  return formats::rank_of_dump(name).value_or(0);
}

std::string shown_path(const std::string& path) { return path == "-" ? "standard input" : path; }

std::string evidence_name(const std::vector<std::string>& paths) {
  if (paths.size() != 1) return {};
  const std::string& path = paths.front();
  if (path == "-") return "standard input";
  const std::filesystem::path whole = std::filesystem::path(path).lexically_normal();
  return whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
}

namespace {

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
  bool any = false;
  for (const EvidenceFile& file : evidence_files(paths, any_file, reading.notes)) {
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

}  // namespace

std::optional<DumpReading> read_dumps(const std::string& kind,
                                      const std::vector<std::string>& paths,
                                      const Console& console) {
  std::optional<DumpReading> reading =
      kind == "nccl-log" ? read_nccl_logs(paths, console) : read_flight_recorder(paths, console);
  if (reading) reading->evidence.name = evidence_name(paths);
  return reading;
}

}  // namespace pipesim::app
