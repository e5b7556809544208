// Options shared by several commands, and functions that evaluate them.
#pragma once

#include <string>
#include <vector>

#include "app/command.hpp"
#include "app/input/scenario_input.hpp"
#include "app/output/views.hpp"
#include "sim/jitter.hpp"
#include "viz/report/annotations.hpp"

namespace pipesim::app {

inline constexpr const char* kScenarioFileNote =
    "FILE is a scenario, or a pipeline schedule in PyTorch's CSV format (*.csv); '-' reads "
    "standard "
    "input.";

Option set_option();
Option all_waits_option();
Option dot_option();
Option json_option(const std::string& what);
Option jobs_option();

Option rules_option();

/// Returns --set, --patch and --rules.
OptionGroup scenario_options();

/// Returns --color, and the options that every command has.
OptionGroup general_options();

/// Returns the files and settings of the scenario at `path`: with --patch, --set and --rules.
/// Throws UsageError, for example if the file is not a scenario.
ScenarioFiles scenario_files(const Arguments& arguments, const std::string& path);

/// The same as scenario_files(arguments, path), for the only positional argument.
ScenarioFiles scenario_files(const Arguments& arguments);

/// Returns the value of --rules, or an empty string. Throws UsageError if `path` is not a record.
std::string rules_of(const Arguments& arguments, const std::string& path);

/// Returns --format, for commands that find problems in files.
Option format_option();

/// Prints `annotations`. `format` is "github" or "sarif".
void print_annotations(const std::string& format, const std::vector<viz::Annotation>& annotations,
                       const Console& console);

/// Return the options --jitter and --seed, and the jitter that both select.
Option jitter_option();
Option seed_option();
sim::Jitter jitter(const Arguments& arguments);

/// Returns the value of --jobs; 0 means one job per core.
unsigned jobs(const Arguments& arguments);

/// Returns options for viewing the end of a run: text on standard output, and files.
OptionGroup report_options();
OptionGroup report_file_options();

/// Returns the requested views.
Views views(const Arguments& arguments);

}  // namespace pipesim::app
