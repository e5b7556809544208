// Reads the evidence of a real hang.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/output/console.hpp"
#include "formats/evidence/evidence_kind.hpp"
#include "formats/evidence/nccl_call_reader.hpp"
#include "models/postmortem/boxing_log.hpp"
#include "models/postmortem/evidence.hpp"
#include "models/postmortem/evidence_merge.hpp"
#include "models/postmortem/launch_log.hpp"
#include "models/postmortem/stack_evidence.hpp"

namespace pipesim::app {

struct EvidenceFile {
  std::string path;
  std::optional<std::uint32_t> rank;  // from its name
};

/// The rank of a file by its name; nothing if files of that name in a folder are not evidence.
using RankOfName = std::optional<std::uint32_t> (*)(const std::string& path);

/// The files that `paths` stand for; those of a folder by rank, then name. `notes` says how many
/// files of a folder are skipped. Throws FileError.
std::vector<EvidenceFile> evidence_files(const std::vector<std::string>& paths, RankOfName rank_of,
                                         std::vector<models::OutsideText>& notes);

// The readers below take files and folders. They report the files that they cannot read, and read
// the others; if there are none left, they throw ReportedMistakes. They throw FileError too.
// `notes` is for the report.

struct DumpReading {
  models::Evidence evidence;
  std::vector<models::OutsideText> notes;
  formats::NcclCallReader calls;  // of logs: what NCCL itself wrote of calls
};

/// Dumps of the Flight Recorder, logs of NCCL, or reports of its RAS.
DumpReading read_dumps(formats::EvidenceKind kind, const std::vector<std::string>& paths,
                       const Console& console);

/// Reports of NCCL RAS. `hangs`: other evidence says that the job hangs; and `known`, which process
/// is which rank.
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

/// `known`: which process is which rank, as other evidence says.
StackReading read_stacks(const std::vector<std::string>& paths, const Console& console,
                         const models::KnownJob& known = {});

struct BoxingReading {
  std::vector<models::LoggedBoxing> rows;
  std::vector<models::OutsideText> notes;
};

BoxingReading read_boxings(const std::vector<std::string>& paths, const Console& console);

/// What the file, or the first one of the folder, looks like. Standard input counts as a dump of
/// the Flight Recorder. Throws FileError.
formats::EvidenceKind kind_of_evidence(const std::string& path);

/// What reports call the evidence: the name of its only file or folder, or how many there are.
std::string evidence_name(const std::vector<std::string>& paths);

}  // namespace pipesim::app
