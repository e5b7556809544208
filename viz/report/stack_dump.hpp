// The stacks of all host threads, in the format of py-spy.
#pragma once

#include <string>
#include <string_view>

#include "models/result/explanation.hpp"

namespace pipesim::viz {

/// Returns a process per rank and a stack per thread in the format of `py-spy dump`, innermost
/// frame first. The frames are the current step and its line in the user's program, if the scenario
/// has one. `scenario` is printed as the command of each process.
std::string stack_dump(const models::Explanation& explanation, std::string_view scenario);

}  // namespace pipesim::viz
