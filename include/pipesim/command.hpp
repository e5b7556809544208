// The command `pipesim` in a program of your own, which may know more passes.
#pragma once

namespace pipesim::models {
class PassRegistry;
}

namespace pipesim {

/// Does what `pipesim` does with these arguments of main(), on the standard streams; `opt` knows
/// the passes of `passes`, see pipesim/task_graph.hpp. Returns the exit code, and throws nothing.
int run_command(int argc, const char* const* argv, const models::PassRegistry& passes);

}  // namespace pipesim
