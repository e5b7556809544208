// Readers for the evidence of a real hang.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/output/console.hpp"

#include "features/diagnose/boxing_log.hpp"
#include "features/diagnose/evidence.hpp"
#include "features/diagnose/evidence_kind.hpp"
#include "features/diagnose/evidence_merge.hpp"
#include "features/diagnose/launch_log.hpp"
#include "features/diagnose/nccl_call_reader.hpp"
#include "features/diagnose/stack_evidence.hpp"

namespace pipesim::app {

struct EvidenceFile {
  std::string path;
  std::optional<std::uint32_t> rank;  // rank in the file name
};

/// A function that returns the rank in a file name; nullopt if a file of such a name in a folder is
/// not evidence.
using RankOfName = std::optional<std::uint32_t> (*)(const std::string& path);

/// Returns the files in `paths`, with the files of each folder in `paths`, sorted by rank, then
/// name. `notes` gets the number of skipped files in each folder. Throws FileError.
std::vector<EvidenceFile> evidence_files(const std::vector<std::string>& paths, RankOfName rank_of,
                                         std::vector<models::OutsideText>& notes);

// All readers below take files and folders. They report unreadable files and read all other files.
// The readers throw FileError, and ReportedMistakes if every file is unreadable. The `notes` of a
// result are for the report.

struct DumpReading {
  models::Evidence evidence;
  std::vector<models::OutsideText> notes;
  formats::NcclCallReader calls;  // from logs: NCCL's own lines about calls
};

/// Reads dumps of the Flight Recorder, logs of NCCL, or reports of its RAS.
DumpReading read_dumps(formats::EvidenceKind kind, const std::vector<std::string>& paths,
                       const Console& console);

/// Reads reports of NCCL RAS. `hangs`: whether other evidence shows that the job hangs. `known`:
/// the rank of each process, from other evidence.
DumpReading read_ras(const std::vector<std::string>& paths, const Console& console, bool hangs,
                     const models::KnownJob& known);

struct LaunchLogReading {
  models::LaunchLog log;
  std::vector<models::OutsideText> notes;
};

LaunchLogReading read_launch_logs(const std::vector<std::string>& paths, const Console& console);

struct StackReading {
  models::StackDumps dumps;
  std::vector<models::OutsideText> notes;
};

/// Reads stacks. `known`: the rank of each process, from other evidence.
StackReading read_stacks(const std::vector<std::string>& paths, const Console& console,
                         const models::KnownJob& known = {});

struct BoxingReading {
  std::vector<models::LoggedBoxing> rows;
  std::vector<models::OutsideText> notes;
};

BoxingReading read_boxings(const std::vector<std::string>& paths, const Console& console);

/// Returns the apparent kind of the file, or of a folder's first file. Standard input counts as a
/// dump of the Flight Recorder. Throws FileError.
formats::EvidenceKind kind_of_evidence(const std::string& path);

/// Returns the name of the evidence in reports: its only file or folder, or the number of files and
/// folders.
std::string evidence_name(const std::vector<std::string>& paths);

}  // namespace pipesim::app
