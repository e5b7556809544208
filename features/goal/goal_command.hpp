// `pipesim run FILE.goal`: runs a program in LogGOPSim's format by the LogGOPS model.
#pragma once

#include <string>

#include "app/command.hpp"

#include "features/goal/loggops.hpp"

namespace pipesim::app {

/// Reads "L=2500,o=1500,g=1000,G=6,O=0,S=65535" into `parameters`. Omitted parameters keep their
/// values. Returns an error message, or an empty string on success.
std::string read_loggops(const std::string& text, sim::LogGopsParameters& parameters);

/// Executes `pipesim run` for a GOAL file. Returns the exit status. Throws UsageError, FileError
/// and ReportedMistakes.
int run_goal(const Arguments& arguments, const Console& console);

}  // namespace pipesim::app
