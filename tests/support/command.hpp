// Runs pipesim's command line in a test, without a new process.
#pragma once

#include <atomic>
#include <sstream>
#include <string>
#include <vector>

#include "app/cli/command_line.hpp"

namespace pipesim::testing {

struct CommandResult {
  int code = 0;
  std::string out;
  std::string err;
};

inline CommandResult command(const std::vector<std::string>& arguments,
                             const std::string& input = {},
                             const std::atomic<bool>* interrupted = nullptr) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  CommandResult result;
  result.code = app::run_command_line(
      arguments, {.in = in, .out = out, .err = err, .interrupted = interrupted});
  result.out = out.str();
  result.err = err.str();
  return result;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace pipesim::testing
