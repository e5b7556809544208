// pipesim new: a scenario to begin one's own from.
#pragma once

#include <optional>
#include <string>

#include "app/output/console.hpp"

namespace pipesim::app {

struct NewCommand {
  std::string kind;                   // one of starting_scenarios()
  std::optional<std::string> output;  // a file that is not there yet; nothing or `-`: printed
};

/// The kinds, a line for each.
std::string kind_list();

/// Returns the exit code. Throws FileError, also where the file is there: it is left as it is.
int run_new(const NewCommand& command, const Console& console);

}  // namespace pipesim::app
