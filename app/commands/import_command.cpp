#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/input/input_kinds.hpp"
#include "app/input/schedule_input.hpp"
#include "app/output/files.hpp"
#include "app/output/made_scenario.hpp"
#include "formats/scenario/schedule_csv.hpp"
#include "formats/scenario/schedule_reader.hpp"

namespace pipesim::app {
namespace {

std::string import_schedule(const Arguments& arguments, const std::string& path,
                            const Console& console) {
  TextInput input = TextInput::read(path, formats::kMaxScheduleBytes, console);
  const ScheduleReading reading = {.partial = arguments.has("partial"),
                                   .lower = arguments.has("lower"),
                                   .fsdp = arguments.has("fsdp")};
  const models::Schedule schedule =
      input.require(read_schedule_file(input.text(), reading, input.diagnostics()));
  if (!arguments.has("csv")) return formats::pipeline_scenario(schedule, scenario_name_of(path));
  return formats::write_schedule(schedule);
}

std::string import_record(const Arguments& arguments, const std::string& path,
                          const Console& console) {
  if (!is_foreign_path(path)) {
    throw InputError(models::Code::kRecordRanks,
                     fmt::format("'{}' is not a directory; a record is one", path));
  }
  const auto job = read_foreign_job(path, console);
  job->report_findings(console);
  return job->scenario(arguments.text("rules").value_or(""));
}

int run_import(const Arguments& arguments, const Console& console) {
  const auto& given = arguments.positional();
  const std::string form = given.empty() ? "" : given.front();
  const auto& forms = arguments.command().words;
  if (given.empty()) {
    throw UsageError(models::Code::kArguments, "'pipesim import' needs a format and a file",
                     choice_help("", forms));
  }
  if (std::find(forms.begin(), forms.end(), form) == forms.end()) {
    throw UsageError(models::Code::kOptionValue,
                     fmt::format("unknown format '{}' for 'pipesim import'", form),
                     choice_help(form, forms));
  }
  if (given.size() != 2) {
    throw UsageError(
        models::Code::kArguments,
        fmt::format("'pipesim import {}' takes one file, found {}", form, given.size() - 1));
  }
  for (const auto& [option, of] : {std::pair{"csv", "torch-schedule"},
                                   {"lower", "torch-schedule"},
                                   {"fsdp", "torch-schedule"},
                                   {"partial", "torch-schedule"},
                                   {"rules", "record"}}) {
    if (form == of || !arguments.has(option)) continue;
    throw UsageError(models::Code::kOptionConflict,
                     fmt::format("'--{}' is for 'pipesim import {}'", option, of));
  }
  arguments.require("fsdp", "lower");
  const std::string& path = given.back();
  const auto kinds = import_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const ImportKind& each) { return form == each.name; });
  const std::string result = kind != kinds.end() ? kind->scenario(path, console)
                             : form == "record"  ? import_record(arguments, path, console)
                                                 : import_schedule(arguments, path, console);
  if (!arguments.has("csv")) require_readable(result, shown_path(path));
  write_or_print(arguments.text("output").value_or("-"), result, console.out);
  return kExitGood;
}

}  // namespace

Command import_command() {
  return {
      .name = "import",
      .about = "Convert a file of another tool to a scenario",
      .usage = {"torch-schedule FILE [options]", "oneflow-plan FILE [options]",
                "record DIR [options]"},
      .description =
          {"Reads a pipeline schedule of PyTorch (CSV, a row per rank), or the plan of a "
           "compiled graph that OneFlow dumps as text (job_NAME_plan), and prints an equivalent "
           "scenario. '-' reads standard input.",
           "Or reads a directory written by 'pipesim record' and prints its programs: identical "
           "ranks share one, and repeated steps become loops."},
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
                     .about = "Add sends and recvs to a compute-only schedule, as PyTorch does"},
                    {.name = "fsdp",
                     .about = "With --lower: also add what FSDP does (UNSHARD, RESHARD, "
                              "REDUCE_GRAD)"},
                    {.name = "partial",
                     .about = "The rows are the last actions of a longer schedule, as in a log: "
                              "what is missing was done before"}}},
                  {"Records", {rules_option()}},
                  general_options()},
      .examples = {"pipesim import torch-schedule schedule.csv -o schedule.yaml",
                   "pipesim import torch-schedule compute.csv --lower --csv -o comms.csv",
                   "pipesim import oneflow-plan log/job_GraphBase_0_plan | pipesim run -",
                   "pipesim import record record/ -o job.yaml"},
      .exit_status = "0 success, 2 invalid input or usage, 74 a file could not be read or written",
      .pages = {"docs/reference/schedules.md", "docs/explanation/record.md"},
      .words = {"torch-schedule", "oneflow-plan", "record"},
      .run = run_import,
  };
}

}  // namespace pipesim::app
