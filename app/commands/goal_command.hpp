// `pipesim run FILE.goal`: runs a program in LogGOPSim's format by the LogGOPS model.
#pragma once

#include <string>

#include "app/command.hpp"
#include "sim/loggops/loggops.hpp"

namespace pipesim::app {

/// Reads "L=2500,o=1500,g=1000,G=6,O=0,S=65535" into `parameters`; those that are not given stay.
/// Returns what is wrong with it, or an empty string.
std::string read_loggops(const std::string& text, sim::LogGopsParameters& parameters);

/// What the run command does with a GOAL file. Returns the exit code. Throws UsageError, FileError
/// and ReportedMistakes.
int run_goal(const Arguments& arguments, const Console& console);

}  // namespace pipesim::app
