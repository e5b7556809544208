#include "app/commands/import_command.hpp"

#include "app/exit_codes.hpp"
#include "app/input/schedule_input.hpp"
#include "app/output/files.hpp"
#include "formats/oneflow/oneflow_plan_scenario.hpp"
#include "formats/scenario/schedule_reader.hpp"
#include "formats/torch/schedule_csv.hpp"
#include "viz/text/diagnostic_text.hpp"

namespace pipesim::app {
namespace {

using models::Diagnostics;

void tell(const Diagnostics& diagnostics, const ImportCommand& command, const std::string& text,
          const Console& console) {
  const std::string shown = command.path == "-" ? "standard input" : command.path;
  console.err << viz::diagnostic_text(diagnostics, shown, text, console.err_colour);
}

void write_result(const std::string& result, const ImportCommand& command, const Console& console) {
  if (command.output && *command.output != "-") {
    write_file(*command.output, result);
  } else {
    console.out << result;
  }
}

}  // namespace

int run_import_schedule(const ImportCommand& command, const Console& console) {
  const std::string text = read_file(command.path, console.in, formats::kMostScheduleBytes);
  Diagnostics diagnostics;
  const auto schedule = read_schedule_file(text, command.lower, command.fsdp, diagnostics);
  if (!schedule) {
    tell(diagnostics, command, text, console);
    return kExitUsage;
  }
  const std::string result =
      command.csv ? formats::write_schedule(*schedule)
                  : formats::pipeline_scenario(*schedule, scenario_name_of(command.path));
  write_result(result, command, console);
  return kExitGood;
}

int run_import_plan(const ImportCommand& command, const Console& console) {
  const std::string text = read_file(command.path, console.in, formats::kMostPlanBytes);
  Diagnostics diagnostics;
  if (text.size() > formats::kMostPlanBytes) {
    diagnostics.error({1, 1}, "larger than a plan dump of 512 MiB");
    tell(diagnostics, command, {}, console);
    return kExitUsage;
  }
  const auto plan = formats::read_oneflow_plan(text, diagnostics);
  const auto scenario =
      plan ? formats::plan_scenario(*plan, scenario_name_of(command.path), diagnostics)
           : std::nullopt;
  tell(diagnostics, command, text, console);
  if (!scenario) return kExitUsage;
  write_result(*scenario, command, console);
  return kExitGood;
}

}  // namespace pipesim::app
