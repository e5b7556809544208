// Scenarios: task graphs in files. docs/reference/scenario-format.md describes every key.
#pragma once

#include <map>
#include <string>

#include "pipesim/graph.hpp"

namespace pipesim {

/// Parameters of a scenario and their values, as after `--set`: {{"acc", "2"}, {"t_copy", "3us"}}.
using Settings = std::map<std::string, std::string>;

/// The graph of the scenario in the file `path`, with `settings` in place of the defaults of its
/// parameters. What the scenario expects is not looked at. Throws Error where the file cannot be
/// read, or has mistakes: then with all of them.
Graph load_scenario(const std::string& path, const Settings& settings = {});

/// The same for a scenario that is in `text`. Messages call it `path`.
Graph parse_scenario(const std::string& text, const Settings& settings = {},
                     const std::string& path = "scenario");

/// The parameters of the scenario in the file, with their values as they are after `settings`.
Settings scenario_parameters(const std::string& path, const Settings& settings = {});

}  // namespace pipesim
