// `pipesim compare`: whether two ends of a job stand in the same place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/input/scenario_input.hpp"
#include "app/output/console.hpp"
#include "formats/evidence/evidence_kind.hpp"

namespace pipesim::app {

struct CompareCommand {
  std::string a;  // a scenario (*.yaml, *.yml), or evidence
  std::string b;
  std::optional<formats::EvidenceKind> kind;  // of evidence; nothing: see what it begins with
  std::vector<formats::Setting> settings;     // of scenarios
};

/// Runs the command and returns its exit code: kExitBad where they differ. Throws FileError.
int run_compare(const CompareCommand& command, const Console& console);

}  // namespace pipesim::app
