// All evidence of one hang at once, its kinds told apart by content.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/input/evidence_input.hpp"
#include "app/output/console.hpp"
#include "formats/evidence/evidence_kind.hpp"

namespace pipesim::app {

struct SortedEvidence {
  std::map<formats::EvidenceKind, std::vector<std::string>> files;
  std::vector<models::OutsideText> notes;  // on what is no evidence
};

/// The files of `paths`, and of folders in them, by kind. Throws FileError; ReportedMistakes where
/// none is evidence.
SortedEvidence sort_evidence(const std::vector<std::string>& paths, const Console& console);

/// What all of it says together. Boxing logs say nothing of a hang and are left out.
DumpReading read_all_evidence(const SortedEvidence& sorted, const Console& console);

}  // namespace pipesim::app
