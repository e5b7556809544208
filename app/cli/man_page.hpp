// Man pages, of the same texts as --help.
#pragma once

#include <string>
#include <vector>

#include "app/cli/command_text.hpp"

namespace pipesim::app {

/// The page of `command`, in roff with the macros of man(7). `others` are named at its end. That of
/// the whole program is the one whose command has no name.
std::string man_page(const CommandText& command, const std::vector<std::string>& others);

}  // namespace pipesim::app
