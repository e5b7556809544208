// Where every host thread stands, in the form of a dump that py-spy makes of a real job.
#pragma once

#include <string>
#include <string_view>

#include "models/explain/explanation.hpp"

namespace pipesim::viz {

/// For each rank a process, for each of its threads the frames, the innermost first: what it is in,
/// and where that stands in the user's program, if the scenario says so. `scenario` is what stands
/// for the command of the process. The form is that of `py-spy dump`.
std::string stack_dump(const models::Explanation& explanation, std::string_view scenario);

}  // namespace pipesim::viz
