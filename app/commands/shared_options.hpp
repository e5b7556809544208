// Options that several commands have, and what they stand for.
#pragma once

#include <string>
#include <vector>

#include "app/command.hpp"
#include "app/input/scenario_input.hpp"
#include "app/output/views.hpp"
#include "sim/jitter.hpp"
#include "viz/text/annotations.hpp"

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

/// --set, --patch and --rules.
OptionGroup scenario_options();

/// --color, with what every command has.
OptionGroup general_options();

/// The scenario at `path`, with --set and --patch. Throws UsageError, also for a GOAL file.
ScenarioFiles scenario_files(const Arguments& arguments, const std::string& path);

/// The same of the only positional argument.
ScenarioFiles scenario_files(const Arguments& arguments);

/// What --rules says, or nothing. Throws UsageError if `path` is no record.
std::string rules_of(const Arguments& arguments, const std::string& path);

/// Throws UsageError if the file is a GOAL file.
void refuse_goal(const std::string& path, const Arguments& arguments);

/// --format, for commands that find problems in files.
Option format_option();

/// Prints `annotations` as --format says, for "github" and "sarif".
void print_annotations(const std::string& format, const std::vector<viz::Annotation>& annotations,
                       const Console& console);

/// --jitter and --seed.
Option jitter_option();
Option seed_option();
sim::Jitter jitter(const Arguments& arguments);

/// --jobs; 0: as many as there are cores.
unsigned jobs(const Arguments& arguments);

/// How to look at the end of a run: what goes to standard output, and which files are written.
OptionGroup report_options();
OptionGroup report_file_options();

/// `state_is_printed`: standard output has the saved state instead of a report.
Views views(const Arguments& arguments, bool state_is_printed);

}  // namespace pipesim::app
