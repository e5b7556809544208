#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/input/input_kinds.hpp"
#include "app/output/files.hpp"

namespace pipesim::app {
namespace {

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
  const auto kinds = input_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const InputKind& each) { return form == each.name; });
  const std::string result = kind->import(arguments, path, console);
  if (!arguments.has("csv")) require_readable(result, shown_path(path));
  write_or_print(arguments.text("output").value_or("-"), result, console.out);
  return kExitGood;
}

}  // namespace

Command import_command() {
  std::vector<std::string> forms;
  for (const InputKind& kind : input_kinds()) {
    if (kind.import != nullptr) forms.emplace_back(kind.name);
  }
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
                     .about = "Write to FILE instead of standard output",
                     .output = true}}},
                  {"Schedules",
                   {{.name = "csv",
                     .about = "Write a schedule in PyTorch's current notation instead of a "
                              "scenario",
                     .output = true},
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
      .words = std::move(forms),
      .run = run_import,
  };
}

}  // namespace pipesim::app
