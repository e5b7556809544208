#include <algorithm>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/starting_scenarios.hpp"
#include "app/exit_codes.hpp"
#include "app/output/console.hpp"
#include "app/output/files.hpp"

namespace pipesim::app {
namespace {

int run_new(const Arguments& arguments, const Console& console) {
  const auto scenarios = starting_scenarios();
  if (arguments.has("list")) {
    std::size_t width = 0;
    for (const StartingScenario& scenario : scenarios) {
      width = std::max(width, scenario.kind.size());
    }
    for (const StartingScenario& scenario : scenarios) {
      console.out << fmt::format("{:{}}  {}\n", scenario.kind, width, scenario.about);
    }
    return kExitGood;
  }
  const auto& given = arguments.positional();
  if (given.size() > 1) {
    throw UsageError(models::Code::kArguments,
                     fmt::format("'pipesim new' takes one kind, found {}", given.size()),
                     "write '-o FILE' to name the file");
  }
  const std::string kind = given.empty() ? std::string(scenarios.front().kind) : given.front();
  const auto found = std::find_if(scenarios.begin(), scenarios.end(),
                                  [&](const auto& scenario) { return scenario.kind == kind; });
  if (found == scenarios.end()) {
    throw UsageError(models::Code::kOptionValue,
                     fmt::format("unknown kind '{}' for 'pipesim new'", kind),
                     choice_help(kind, arguments.command().words));
  }
  const std::string output = arguments.text("output").value_or("-");
  if (output == "-") {
    console.out << found->text;
    return kExitGood;
  }
  write_new_file(output, std::string(found->text));
  console.out << fmt::format("Wrote {0}. Next: pipesim run {0}\n", output);
  return kExitGood;
}

}  // namespace

Command new_command() {
  HelpTable kinds = {"Kinds", {}};
  std::vector<std::string> names;
  for (const StartingScenario& scenario : starting_scenarios()) {
    kinds.rows.emplace_back(scenario.kind, scenario.about);
    names.emplace_back(scenario.kind);
  }
  return {
      .name = "new",
      .about = "Write a scenario to start from",
      .usage = {"[KIND] [options]"},
      .description = {"Prints a small scenario to start from. It runs as it is, and its comments "
                      "explain each part and what to change."},
      .tables = {std::move(kinds)},
      .options = {{"Output",
                   {{.name = "output",
                     .letter = 'o',
                     .value = "FILE",
                     .about = "Write to FILE, which must not exist yet"},
                    {.name = "list", .about = "List the kinds and exit"}}}},
      .examples = {"pipesim new -o job.yaml && pipesim run job.yaml",
                   "pipesim new schedule | pipesim run -"},
      .exit_status =
          "0 success, 2 invalid usage, 74 the file exists already or could not be written",
      .pages = {"docs/how-to/write-a-scenario.md"},
      .words = std::move(names),
      .run = run_new,
  };
}

}  // namespace pipesim::app
