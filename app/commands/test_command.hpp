// `pipesim test`: each scenario against what it expects.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "app/output/console.hpp"

namespace pipesim::app {

struct TestCommand {
  std::vector<std::string> paths;         // files and folders; none: see scenario_files()
  std::optional<std::regex> filter;       // that names have to contain
  unsigned jobs = 0;                      // threads; 0: as many as the machine has cores
  std::optional<std::string> junit_path;  // `-`: standard output, instead of the text
  bool update = false;                    // exact figures that are not met are put into the files
  bool update_names = false;              // and so are verdicts and causes
  bool quiet = false;                     // what passed is only counted
};

/// Runs the command and returns its exit code. Throws FileError.
int run_test(const TestCommand& command, const Console& console);

}  // namespace pipesim::app
