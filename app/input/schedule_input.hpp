// Pipeline schedules in PyTorch's CSV format, which all commands accept as scenarios.
#pragma once

#include <optional>
#include <string>

#include "models/graph/diagnostics.hpp"
#include "models/graph/schedule.hpp"

namespace pipesim::app {

/// Whether `path` is named like a pipeline schedule of PyTorch: *.csv.
bool is_schedule_path(const std::string& path);

/// Returns the name of a scenario made from the file at `path`: the file name, with underscores for
/// characters that a scenario name cannot contain.
std::string scenario_name_of(const std::string& path);

/// Interpretation of a schedule file, and passes that add to it.
struct ScheduleReading {
  bool partial = false;  // the file has the last actions of a longer schedule, see models::Schedule
  bool lower = false;    // add sends and recvs as PyTorch does
  bool fsdp = false;     // add FSDP's actions, before sends and recvs
};

/// Reads a schedule. Adds mistakes to `diagnostics`. A schedule to which sends and recvs cannot be
/// added is a mistake, also without `reading.lower`.
std::optional<models::Schedule> read_schedule_file(const std::string& text, ScheduleReading reading,
                                                   models::Diagnostics& diagnostics);

/// Returns the scenario that runs the schedule in `text`, read from `path`. Adds mistakes to
/// `diagnostics`, with their places in `text`.
std::optional<std::string> scenario_of_schedule(const std::string& text, const std::string& path,
                                                models::Diagnostics& diagnostics);

}  // namespace pipesim::app
