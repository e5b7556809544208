// Reads plans of OneFlow's compiled graphs as scenarios.
#pragma once

#include <string>

#include "app/command.hpp"
#include "app/output/console.hpp"

namespace pipesim::app {

/// Returns the scenario of the plan in the file at `path`, as OneFlow dumps it (job_NAME_plan).
/// Throws FileError and ReportedMistakes.
std::string import_oneflow_plan(const Arguments& arguments, const std::string& path,
                                const Console& console);

}  // namespace pipesim::app
