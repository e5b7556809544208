// The formats of evidence: each is one row of the table in evidence_format.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/output/console.hpp"

#include "features/diagnose/evidence.hpp"
#include "features/diagnose/evidence_merge.hpp"
#include "features/diagnose/nccl_call_reader.hpp"

namespace pipesim::app {

/// The calls of ranks that a reader found.
struct DumpReading {
  models::Evidence evidence;
  std::vector<models::OutsideText> notes;
  formats::NcclCallReader calls;  // from logs: NCCL's own lines about calls
};

/// Facts from evidence that was read before.
struct JobSoFar {
  bool hangs = false;      // whether a call has not completed
  models::KnownJob known;  // the rank of each process
};

/// A string that identifies a format. The output of a job has lines of several formats, so the mark
/// with the lowest level counts: 0 if only this format has the string, -1 if its files can contain
/// marks of other formats.
struct Mark {
  std::string_view text;
  int level = 0;
};

/// Kind of facts that a format shows. The kind decides the report.
enum class Shows : std::uint8_t { kCalls, kLaunches, kBoxings, kStacks };

struct EvidenceFormat {
  std::string name;   // name for users: "flight-recorder"
  std::string about;  // description of its files, for the help
  Shows shows = Shows::kCalls;
  std::vector<Mark> text_marks;
  std::vector<Mark> json_marks{};  // marks of files that begin with '{'
  bool pickled = false;            // whether its files can be pickles
  bool large = false;    // whether the beginning of a file decides, because files can be large
  bool is_last = false;  // whether it is read last, with the ranks that other evidence shows
  /// Reads files and folders; only for Shows::kCalls.
  DumpReading (*read)(const std::vector<std::string>& paths, const JobSoFar& so_far,
                      const Console& console) = nullptr;
};

/// Returns all formats. Unknown content counts as the first format, dumps of the Flight Recorder,
/// whose reader then reports the mistake.
std::span<const EvidenceFormat> evidence_formats();

/// Returns the names of all formats.
std::vector<std::string> evidence_names();

/// Returns the format with this name, or nullptr.
const EvidenceFormat* find_evidence_format(std::string_view name);

/// Returns the format of a file whose content, or the beginning of its content, is `text`; nullptr
/// if no format matches.
const EvidenceFormat* recognised_format(std::string_view text);

}  // namespace pipesim::app
