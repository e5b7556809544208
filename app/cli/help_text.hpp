// What --help prints, at most 80 columns wide.
#pragma once

#include <string>

#include "app/command.hpp"

namespace pipesim::app {

std::string help_text(const Command& command);

/// What --help says about an option after its names: its sentence, values and default.
std::string option_text(const Option& option);

}  // namespace pipesim::app
