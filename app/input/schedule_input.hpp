// Pipeline schedules in PyTorch's CSV format, which all commands accept as scenarios.
#pragma once

#include <optional>
#include <string>

#include "app/command.hpp"
#include "app/output/console.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::app {

/// Whether `path` is named like a pipeline schedule of PyTorch: *.csv.
bool is_schedule_path(const std::string& path);

/// Returns the name of a scenario made from the file at `path`: the file name, with underscores for
/// characters that a scenario name cannot contain.
std::string scenario_name_of(const std::string& path);

/// Returns the scenario that runs the schedule in `text`, read from `path`. Adds mistakes to
/// `diagnostics`, with their places in `text`.
std::optional<std::string> scenario_of_schedule(const std::string& text, const std::string& path,
                                                models::Diagnostics& diagnostics);

/// Returns the scenario or, with --csv, the schedule for `pipesim import torch-schedule`. Throws
/// FileError and ReportedMistakes.
std::string import_schedule(const Arguments& arguments, const std::string& path,
                            const Console& console);

}  // namespace pipesim::app
