// `pipesim check`: the verdict over all orders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/input/scenario_input.hpp"
#include "app/output/console.hpp"

namespace pipesim::app {

struct CheckCommand {
  ScenarioFiles files;
  std::uint64_t max_states = 0;
  std::optional<std::uint32_t> seconds;     // of the host, after which it stops
  std::optional<std::string> order_path;    // for the order that hangs; `-`: standard output
  std::optional<std::string> dot_path;      // for the wait-for graph of the hang
  std::optional<std::string> promela_path;  // for the plan as a model for SPIN; `-` prints only it
  bool json = false;
  bool all = false;  // every wait of the hang, not only the cycle
};

/// Runs the command and returns its exit code. Throws FileError.
int run_check(const CheckCommand& command, const Console& console);

}  // namespace pipesim::app
