// Man pages, made from the same texts as --help.
#pragma once

#include <string>

#include "app/command.hpp"

namespace pipesim::app {

/// Returns the page of a command, or of main_command(), in roff with the macros of man(7).
std::string man_page(const Command& command);

}  // namespace pipesim::app
