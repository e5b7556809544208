// Pipeline schedules in PyTorch's CSV format, which all commands take as scenarios.
#pragma once

#include <optional>
#include <string>

#include "models/graph/diagnostics.hpp"
#include "models/graph/schedule.hpp"

namespace pipesim::app {

/// Whether the name of the file says that it is a pipeline schedule of PyTorch.
bool is_schedule_path(const std::string& path);

/// The name of a scenario made from the file at `path`: that of the file, with underscores for what
/// a name cannot contain.
std::string scenario_name_of(const std::string& path);

/// What a file of a schedule is taken for, and what is added to it.
struct ScheduleReading {
  bool partial = false;  // the last actions of a longer schedule, see models::Schedule
  bool lower = false;    // add sends and receives as PyTorch does
  bool fsdp = false;     // add what FSDP does, before them
};

/// Reads a schedule. Mistakes go to `diagnostics`; a schedule that cannot be lowered is always a
/// mistake.
std::optional<models::Schedule> read_schedule_file(const std::string& text, ScheduleReading reading,
                                                   models::Diagnostics& diagnostics);

/// The scenario that runs the schedule in `text`, which came from `path`. Mistakes go to
/// `diagnostics`, with their places in `text`.
std::optional<std::string> scenario_of_schedule(const std::string& text, const std::string& path,
                                                models::Diagnostics& diagnostics);

}  // namespace pipesim::app
