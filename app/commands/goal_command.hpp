// `pipesim run FILE.goal`: runs a program of LogGOPSim's format by the LogGOPS model.
#pragma once

#include <optional>
#include <string>

#include "app/output/console.hpp"
#include "sim/loggops/loggops.hpp"

namespace pipesim::app {

struct GoalCommand {
  std::string path;  // `-`: standard input
  sim::LogGopsParameters parameters;
  bool json = false;
  bool all = false;  // every wait, not only the cycle
  std::optional<std::string> dot_path;
};

/// Whether the name of the file says that it is one.
bool is_goal_path(const std::string& path);

/// "L=2500,o=1500,g=1000,G=6,O=0,S=65535": those that are given change `parameters`. What is wrong
/// with it, or an empty string.
std::string read_loggops(const std::string& text, sim::LogGopsParameters& parameters);

/// Runs the command and returns its exit code. Throws FileError.
int run_goal(const GoalCommand& command, const Console& console);

}  // namespace pipesim::app
