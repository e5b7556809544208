// `pipesim opt`: run passes on a task graph and print what comes out.
#pragma once

#include <string>
#include <vector>

#include "app/output/console.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/passes/pass.hpp"

namespace pipesim::app {

struct OptCommand {
  std::string path;  // `-`: standard input
  std::vector<formats::Setting> settings;
  std::string passes;  // see models/passes/pass_pipeline.hpp
  bool verify_each = true;
  bool print_after_all = false;
  bool explain_boxing = false;  // print how the tensors of a model are boxed, and no graph
};

/// Runs the command with the passes in `registry` and returns its exit code. Throws FileError.
int run_opt(const OptCommand& command, const models::PassRegistry& registry,
            const Console& console);

/// The passes in `registry` with their options, for people.
std::string pass_list(const models::PassRegistry& registry);

}  // namespace pipesim::app
