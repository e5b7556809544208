// The commands. Each file in app/commands holds the options, help and work of one command. `help`
// and `completion` describe the other commands, and are in app/cli.
#pragma once

#include "app/command.hpp"

namespace pipesim::app {

Command check_command();
Command compare_command();
Command diagnose_command();
Command diff_command();
Command draw_command();
Command fix_command();
Command import_command();
Command lint_command();
Command new_command();
Command opt_command();
Command record_command();
Command reduce_command();
Command run_command();
Command schema_command();
Command sweep_command();
Command test_command();
Command verify_command();
Command why_command();

}  // namespace pipesim::app
