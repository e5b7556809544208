#include "app/commands/new_command.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "app/commands/starting_scenarios.hpp"
#include "app/exit_codes.hpp"
#include "app/output/files.hpp"

namespace pipesim::app {

std::string kind_list() {
  std::string text;
  for (const StartingScenario& scenario : starting_scenarios()) {
    text += fmt::format("{:9} {}\n", scenario.kind, scenario.about);
  }
  return text;
}

int run_new(const NewCommand& command, const Console& console) {
  const auto scenarios = starting_scenarios();
  const auto found = std::find_if(scenarios.begin(), scenarios.end(), [&](const auto& scenario) {
    return scenario.kind == command.kind;
  });
  if (!command.output || *command.output == "-") {
    console.out << found->text;
    return kExitGood;
  }
  write_new_file(*command.output, std::string(found->text));
  console.out << fmt::format("{0} is there; next: pipesim run {0}\n", *command.output);
  return kExitGood;
}

}  // namespace pipesim::app
