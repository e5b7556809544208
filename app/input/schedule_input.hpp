// Pipeline schedules in PyTorch's CSV form, which all commands take as scenarios.
#pragma once

#include <optional>
#include <string>

#include "models/graph/diagnostics.hpp"
#include "models/graph/schedule.hpp"

namespace pipesim::app {

/// A file of this name is a pipeline schedule of PyTorch.
bool is_schedule_path(const std::string& path);

/// The name of a scenario made from the file at `path`: the file's, as far as it is a word.
std::string scenario_name_of(const std::string& path);

/// The schedule in `text`; with `lower` with sends and receives as PyTorch adds them, with `fsdp`
/// also with what FSDP does before them. Nothing where it has mistakes, which `diagnostics` then
/// has; what cannot be lowered is a mistake of the file in any case.
std::optional<models::Schedule> read_schedule_file(const std::string& text, bool lower, bool fsdp,
                                                   models::Diagnostics& diagnostics);

/// The scenario that does the schedule in `text`, which came from `path`. Nothing where it has
/// mistakes, which `diagnostics` then has with their places in `text`.
std::optional<std::string> scenario_of_schedule(const std::string& text, const std::string& path,
                                                models::Diagnostics& diagnostics);

}  // namespace pipesim::app
