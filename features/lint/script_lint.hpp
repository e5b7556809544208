// Lints PyTorch scripts. The Python package reads the scripts, because only Python's own parser
// always agrees with Python; this file converts its findings.
#pragma once

#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"

#include "features/lint/lint.hpp"

namespace pipesim::app {

/// The findings in a script, or the error of a script that Python cannot parse.
struct ScriptFindings {
  std::vector<models::LintFinding> findings;
  models::Diagnostics errors;
};

/// Whether the file is a script, and not a scenario.
bool is_script(const std::string& path);

/// Returns the findings in each script. The files must exist. Throws InputError if Python fails.
std::vector<ScriptFindings> lint_scripts(const std::vector<std::string>& paths);

}  // namespace pipesim::app
