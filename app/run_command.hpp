// `pipesim run`: simulate a scenario and report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "formats/scenario.hpp"
#include "sim/time.hpp"

namespace pipesim::app {

/// Where a run is to stop: at a time, or when an act is launched.
struct Until {
  std::optional<sim::Time> time;
  std::uint32_t rank = 0;
  std::string op;
  std::uint32_t act = 0;  // from 1
};

struct RunCommand {
  std::string path;  // `-`: standard input
  std::vector<formats::Setting> settings;
  bool json = false;             // data instead of text on standard output
  bool stacks = false;           // where host threads stand, likewise
  bool all = false;              // every wait, not only the cycle
  bool list_parameters = false;  // only say what --set can set
  std::optional<std::string> dot_path;
  std::optional<Until> until;
};

/// Runs the command and returns its exit code. Throws FileError.
int run_run(const RunCommand& command, const Console& console);

}  // namespace pipesim::app
