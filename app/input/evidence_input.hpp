// Evidence of a real hang: the files that are given, read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/output/console.hpp"
#include "formats/evidence/evidence_kind.hpp"
#include "models/postmortem/boxing_log.hpp"
#include "models/postmortem/evidence.hpp"
#include "models/postmortem/launch_log.hpp"
#include "models/postmortem/stack_evidence.hpp"

namespace pipesim::app {

/// What was read, and what is to be said of it.
struct DumpReading {
  models::Evidence evidence;
  std::vector<std::string> notes;
};

struct EvidenceFile {
  std::string path;
  std::optional<std::uint32_t> rank;  // by its name
};

/// Whether a file of a folder is evidence, by its name, and of which rank.
using RankOfName = std::optional<std::uint32_t> (*)(const std::string& path);

/// For files of which names say nothing: all are.
std::optional<std::uint32_t> any_file(const std::string& path);

/// The files that `paths` stand for; those of a folder by rank, then name. `notes` says how many of
/// a folder are left out. Throws FileError.
std::vector<EvidenceFile> evidence_files(const std::vector<std::string>& paths, RankOfName rank_of,
                                         std::vector<std::string>& notes);

/// Dumps of the Flight Recorder, or logs of NCCL. What cannot be read is told, and the rest is
/// read; nothing if there is no rest. So do the others. Throws FileError.
std::optional<DumpReading> read_dumps(formats::EvidenceKind kind,
                                      const std::vector<std::string>& paths,
                                      const Console& console);

struct LaunchLogReading {
  models::LaunchLog log;
  std::vector<std::string> notes;
};

std::optional<LaunchLogReading> read_launch_logs(const std::vector<std::string>& paths,
                                                 const Console& console);

struct StackReading {
  models::StackDumps dumps;
  std::vector<std::string> notes;
};

std::optional<StackReading> read_stacks(const std::vector<std::string>& paths,
                                        const Console& console);

struct BoxingReading {
  std::vector<models::LoggedBoxing> rows;
  std::vector<std::string> notes;
};

std::optional<BoxingReading> read_boxings(const std::vector<std::string>& paths,
                                          const Console& console);

/// What the file, or the first of the folder, looks like. Standard input is not looked at. Throws
/// FileError.
formats::EvidenceKind kind_of_evidence(const std::string& path);

/// What reports call evidence: the name of its one file or folder, or how many there are.
std::string evidence_name(const std::vector<std::string>& paths);

/// As messages show it.
std::string shown_path(const std::string& path);

}  // namespace pipesim::app
