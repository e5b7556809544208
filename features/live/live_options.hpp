// Shared options of 'pipesim collect' and 'pipesim watch', and the start of their Python modules.
#pragma once

#include <string>

#include "app/command.hpp"
#include "app/output/console.hpp"

namespace pipesim::app {

/// Returns the options that choose the job and the folder.
OptionGroup live_job_options();

/// Replaces this process by a module of the Python package, which gets all options.
[[noreturn]] void become_live_module(const std::string& module, const Arguments& arguments,
                                     const Console& console);

}  // namespace pipesim::app
