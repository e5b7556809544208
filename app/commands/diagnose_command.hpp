// `pipesim diagnose`: from the evidence of a real hang to its wait-for graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/input/scenario_input.hpp"
#include "app/output/console.hpp"
#include "formats/evidence/evidence_kind.hpp"

namespace pipesim::app {

struct DiagnoseCommand {
  formats::EvidenceKind kind = formats::EvidenceKind::kFlightRecorder;
  std::vector<std::string> paths;  // files, and folders that hold them
  // Of logs: what they do not say.
  std::vector<std::vector<std::uint32_t>> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> phases;
  std::optional<ScenarioFiles> scenario;
  bool json = false;
  bool all = false;
  std::optional<std::string> dot_path;
  std::optional<std::string> picture_path;   // the same, laid out
  std::optional<std::string> html_path;      // a page
  std::optional<std::string> scenario_path;  // where a scenario goes that hangs like them
};

/// Reads the evidence and reports what it says. Returns the exit code: kExitUndecided where it does
/// not say enough. Throws FileError.
int run_diagnose(const DiagnoseCommand& command, const Console& console);

}  // namespace pipesim::app
