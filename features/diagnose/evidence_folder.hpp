// All evidence of one hang, sorted into formats by content.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/output/console.hpp"

#include "features/diagnose/evidence_format.hpp"

namespace pipesim::app {

struct SortedEvidence {
  std::map<const EvidenceFormat*, std::vector<std::string>> files;  // in the order of the formats
  std::vector<std::string> logs_with_stacks;  // logs of a job, in which ranks print stacks
  std::vector<std::string> logs_with_ras;     // logs that contain a report of RAS
  std::vector<models::OutsideText> notes;     // notes on files that are not evidence
};

/// Returns the files in `paths`, which can be files and folders, by format. Throws FileError, and
/// ReportedMistakes if no file is evidence.
SortedEvidence sort_evidence(const std::vector<std::string>& paths, const Console& console);

/// Reads and merges all evidence. Skips boxing logs, which show nothing about a hang.
DumpReading read_all_evidence(const SortedEvidence& sorted, const Console& console);

}  // namespace pipesim::app
