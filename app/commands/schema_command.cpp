#include "app/commands/commands.hpp"
#include "app/exit_codes.hpp"
#include "app/output/console.hpp"
#include "formats/scenario/scenario_schema.hpp"

namespace pipesim::app {
namespace {

int run_schema(const Arguments& arguments, const Console& console) {
  if (!arguments.positional().empty())
    throw UsageError(models::Code::kArguments, "'pipesim schema' takes no arguments");
  console.out << formats::scenario_schema();
  return kExitGood;
}

}  // namespace

Command schema_command() {
  return {
      .name = "schema",
      .about = "Print the JSON Schema of scenario files, for editors",
      .usage = {""},
      .description = {"Prints the JSON Schema (draft-07) of scenario files. With it, an editor "
                      "completes keys, shows what they mean and marks mistakes. A scenario next to "
                      "the schema names it in a comment above its first key:",
                      "# yaml-language-server: $schema=scenario.schema.json"},
      .examples = {"pipesim schema > scenario.schema.json"},
      .exit_status = "0 success, 2 invalid usage",
      .pages = {"docs/reference/scenario-format.md"},
      .run = run_schema,
  };
}

}  // namespace pipesim::app
