#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/input/schedule_input.hpp"
#include "app/output/files.hpp"
#include "formats/oneflow/oneflow_plan_scenario.hpp"
#include "formats/scenario/schedule_reader.hpp"
#include "formats/torch/schedule_csv.hpp"

namespace pipesim::app {
namespace {

std::string import_schedule(const Arguments& arguments, const std::string& path,
                            const Console& console) {
  TextInput input = TextInput::read(path, formats::kMostScheduleBytes, console);
  const models::Schedule schedule = input.require(read_schedule_file(
      input.text(), arguments.has("lower"), arguments.has("fsdp"), input.diagnostics()));
  return arguments.has("csv") ? formats::write_schedule(schedule)
                              : formats::pipeline_scenario(schedule, scenario_name_of(path));
}

std::string import_plan(const std::string& path, const Console& console) {
  TextInput input = TextInput::read(path, formats::kMostPlanBytes, console);
  if (input.text().size() > formats::kMostPlanBytes) {
    input.fail("larger than a plan dump of 512 MiB");
  }
  const auto plan = input.require(formats::read_oneflow_plan(input.text(), input.diagnostics()));
  std::string scenario =
      input.require(formats::plan_scenario(plan, scenario_name_of(path), input.diagnostics()));
  input.report();
  return scenario;
}

int run_import(const Arguments& arguments, const Console& console) {
  const auto& given = arguments.positional();
  const std::string form = given.empty() ? "" : given.front();
  const auto& forms = arguments.command().words;
  if (given.empty()) {
    throw UsageError("'pipesim import' needs a format and a file", choice_help("", forms));
  }
  if (form != forms.front() && form != forms.back()) {
    throw UsageError(fmt::format("unknown format '{}' for 'pipesim import'", form),
                     choice_help(form, forms));
  }
  if (given.size() != 2) {
    throw UsageError(
        fmt::format("'pipesim import {}' takes one file, found {}", form, given.size() - 1));
  }
  const bool is_plan = form == "oneflow-plan";
  for (const char* option : {"csv", "lower", "fsdp"}) {
    if (!is_plan || !arguments.has(option)) continue;
    throw UsageError(fmt::format("'--{}' is for 'pipesim import torch-schedule'", option));
  }
  arguments.require("fsdp", "lower");
  const std::string result = is_plan ? import_plan(given.back(), console)
                                     : import_schedule(arguments, given.back(), console);
  write_or_print(arguments.text("output").value_or("-"), result, console.out);
  return kExitGood;
}

}  // namespace

Command import_command() {
  return {
      .name = "import",
      .about = "Make a scenario from a file of another tool",
      .usage = {"torch-schedule FILE [options]", "oneflow-plan FILE [options]"},
      .description =
          {"Reads a pipeline schedule of PyTorch (CSV, a row per rank), or the plan of a "
           "compiled graph that OneFlow dumps as text (job_NAME_plan), and prints a "
           "scenario that does the same. '-' reads standard input."},
      .options = {{"Output",
                   {{.name = "output",
                     .letter = 'o',
                     .value = "FILE",
                     .about = "Write to FILE instead of standard output"}}},
                  {"Schedules",
                   {{.name = "csv",
                     .about = "Write a schedule in PyTorch's current notation instead of a "
                              "scenario"},
                    {.name = "lower",
                     .about = "Add the sends and receives that PyTorch adds to a schedule of "
                              "computations"},
                    {.name = "fsdp",
                     .about = "With --lower: also add what FSDP does (UNSHARD, RESHARD, "
                              "REDUCE_GRAD)"}}},
                  general_options()},
      .examples = {"pipesim import torch-schedule schedule.csv -o schedule.yaml",
                   "pipesim import torch-schedule compute.csv --lower --csv -o comms.csv",
                   "pipesim import oneflow-plan log/job_GraphBase_0_plan | pipesim run -"},
      .exit_status = "0 success, 2 invalid input or usage, 74 a file could not be read or written",
      .pages = {"docs/reference/schedules.md"},
      .words = {"torch-schedule", "oneflow-plan"},
      .run = run_import,
  };
}

}  // namespace pipesim::app
