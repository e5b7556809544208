// `pipesim lint`: what is legal but suspect, without a run.
#pragma once

#include <string>
#include <vector>

#include "app/console.hpp"
#include "formats/scenario.hpp"

namespace pipesim::app {

struct LintCommand {
  std::string path;  // `-`: standard input
  std::vector<formats::Setting> settings;
  std::vector<std::string> ignored;  // rules, of which nothing is told; each is one
  bool json = false;
};

/// Runs the command and returns its exit code: kExitBad where something is suspect. Throws
/// FileError.
int run_lint(const LintCommand& command, const Console& console);

}  // namespace pipesim::app
