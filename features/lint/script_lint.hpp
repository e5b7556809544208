// Lint of PyTorch scripts. The Python package reads the scripts, as Python's own parser is the only
// one that agrees with Python; this file passes its findings on.
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

/// Returns the findings in each of the scripts, which exist. Throws InputError.
std::vector<ScriptFindings> lint_scripts(const std::vector<std::string>& paths);

}  // namespace pipesim::app
