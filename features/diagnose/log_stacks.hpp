// Stacks that ranks print into the log of a job: faulthandler's, by a signal or after a time.
#pragma once

#include <string>
#include <string_view>

namespace pipesim::formats {

/// Whether a text has the heading of a stack that faulthandler prints.
bool has_log_stacks(std::string_view text);

/// Returns the lines of the last stacks of each rank, with the rank as label, in place of the whole
/// log; all other lines are empty, so that line numbers are those of the log. Skips stacks of
/// unknown ranks, those of a rank that crashed, and those after which a rank went on. `name` is the
/// name of the file, which can have the rank.
std::string stacks_in_log(std::string_view text, std::string_view name);

}  // namespace pipesim::formats
