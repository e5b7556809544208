// `pipesim diagnose`: from the evidence of a real hang to its wait-for graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"

namespace pipesim::app {

struct DiagnoseCommand {
  std::string kind;                // "flight-recorder"
  std::vector<std::string> paths;  // files, and folders that hold them
  bool json = false;
  bool all = false;
  std::optional<std::string> dot_path;
};

/// The kinds of evidence that there are.
const std::vector<std::string>& evidence_kinds();

/// Reads the evidence and reports what it says. Returns the exit code: kExitUndecided where it does
/// not say enough. Throws FileError.
int run_diagnose(const DiagnoseCommand& command, const Console& console);

}  // namespace pipesim::app
