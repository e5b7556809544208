// Functions that read the evidence of a real hang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/output/console.hpp"

#include "features/diagnose/boxing_log.hpp"
#include "features/diagnose/evidence.hpp"
#include "features/diagnose/evidence_format.hpp"
#include "features/diagnose/evidence_merge.hpp"
#include "features/diagnose/launch_log.hpp"
#include "features/diagnose/stack_evidence.hpp"

namespace pipesim::app {

struct EvidenceFile {
  std::string path;
  std::optional<std::uint32_t> rank;  // rank in the file name
};

/// A function that returns the rank in a file name; nullopt if a file with this name in a folder is
/// not evidence.
using RankOfName = std::optional<std::uint32_t> (*)(const std::string& path);

/// Returns the files in `paths`. Replaces each folder by its files, sorted by rank, then name. Adds
/// the number of skipped files in each folder to `notes`. Throws FileError.
std::vector<EvidenceFile> evidence_files(const std::vector<std::string>& paths, RankOfName rank_of,
                                         std::vector<models::OutsideText>& notes);

/// Returns the rank in the file name, or 0 if there is none. For formats that allow any file name.
std::optional<std::uint32_t> any_file(const std::string& path);

/// Reads one file. Returns false, with an error, if the file is unreadable.
using ReadFile = std::function<bool(const EvidenceFile& file, const std::string& text,
                                    models::Diagnostics& diagnostics)>;

inline constexpr const char* kNoEvidence = "no evidence found here";

/// Reads each file of `paths`. Returns the number of unreadable files. Throws if all files are
/// unreadable, or, with the message `nothing`, if there are no files.
std::size_t read_each(const std::vector<std::string>& paths, RankOfName rank_of,
                      std::size_t max_bytes, const Console& console,
                      std::vector<models::OutsideText>& notes, const char* nothing,
                      const ReadFile& read);

// All functions below take files and folders. They report unreadable files and read all other
// files. They throw FileError, and ReportedMistakes if every file is unreadable. The `notes` of a
// result are for the report.

/// Read dumps of the Flight Recorder, logs of NCCL, facts of 'pipesim collect', and reports of RAS.
DumpReading read_flight_recorder(const std::vector<std::string>& paths, const JobSoFar& so_far,
                                 const Console& console);
DumpReading read_nccl_logs(const std::vector<std::string>& paths, const JobSoFar& so_far,
                           const Console& console);
DumpReading read_facts(const std::vector<std::string>& paths, const JobSoFar& so_far,
                       const Console& console);
DumpReading read_ras(const std::vector<std::string>& paths, const JobSoFar& so_far,
                     const Console& console);

/// Reads the folder of `pipesim attach` in which the files are. Throws like RecordInput.
DumpReading read_attached(const std::vector<std::string>& paths, const JobSoFar& so_far,
                          const Console& console);

/// Reads evidence in `format`, which must be a format that shows calls. Names the evidence after
/// `paths`.
DumpReading read_calls(const EvidenceFormat& format, const std::vector<std::string>& paths,
                       const Console& console);

struct LaunchLogReading {
  models::LaunchLog log;
  std::vector<models::OutsideText> notes;
};

LaunchLogReading read_launch_logs(const std::vector<std::string>& paths, const Console& console);

struct StackReading {
  models::StackDumps dumps;
  std::vector<models::OutsideText> notes;
};

/// Reads the last stacks of each rank in logs of a job.
StackReading read_log_stacks(const std::vector<std::string>& paths, const Console& console,
                             const models::KnownJob& known);

/// Reads stacks. `known`: the rank of each process, from other evidence.
StackReading read_stacks(const std::vector<std::string>& paths, const Console& console,
                         const models::KnownJob& known = {});

struct BoxingReading {
  std::vector<models::LoggedBoxing> rows;
  std::vector<models::OutsideText> notes;
};

BoxingReading read_boxings(const std::vector<std::string>& paths, const Console& console);

/// Returns the apparent format of the file, or of a folder's first file. Standard input and unknown
/// content count as dumps of the Flight Recorder. Throws FileError.
const EvidenceFormat& format_of_evidence(const std::string& path);

/// Returns the name of the evidence in reports: its only file or folder, or the number of files and
/// folders.
std::string evidence_name(const std::vector<std::string>& paths);

}  // namespace pipesim::app
