// The command `pipesim` as a function, for programs that add their own passes.
#pragma once

namespace pipesim::models {
class PassRegistry;
}

namespace pipesim {

/// Runs `pipesim` with the arguments of main(), on the standard streams. `opt` knows the passes of
/// `passes`, see pipesim/task_graph.hpp. Returns the exit code; never throws.
int run_command(int argc, const char* const* argv, const models::PassRegistry& passes);

}  // namespace pipesim
