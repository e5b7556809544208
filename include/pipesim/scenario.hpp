// Scenarios, the file format of task graphs (docs/reference/scenario-format.md).
#pragma once

#include <map>
#include <string>

#include "pipesim/graph.hpp"

namespace pipesim {

/// Parameters of a scenario and their values, as for `--set`: {{"acc", "2"}, {"t_copy", "3us"}}.
using Settings = std::map<std::string, std::string>;

/// Loads the scenario in the file `path`, with `settings` instead of the defaults of its
/// parameters. Ignores the scenario's expectations. Throws Error if the file cannot be read, or has
/// mistakes; the error then lists all mistakes.
Graph load_scenario(const std::string& path, const Settings& settings = {});

/// Loads a scenario from `text`. Messages call the scenario `path`.
Graph parse_scenario(const std::string& text, const Settings& settings = {},
                     const std::string& path = "scenario");

/// Returns the parameters of the scenario in the file, with their values after applying `settings`.
Settings scenario_parameters(const std::string& path, const Settings& settings = {});

}  // namespace pipesim
