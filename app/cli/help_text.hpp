// The help of commands: the text of --help, at most 80 columns wide, and man pages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "app/command.hpp"

namespace pipesim::app {

std::string help_text(const Command& command);

/// Appends `text` to `head` and wraps both; further lines are indented by `indent`.
std::string wrapped(const std::string& head, std::string_view text, std::size_t indent);

/// Formats names and their meanings in two columns, aligned across the sections.
std::string two_columns(const std::vector<HelpTable>& sections);

/// Returns the help text that follows the names of `option`: its description, values and default.
std::string option_text(const Option& option);

/// Returns the page of a command, or of main_command(), in roff with the macros of man(7).
std::string man_page(const Command& command);

}  // namespace pipesim::app
