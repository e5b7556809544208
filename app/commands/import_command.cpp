#include "app/commands/import_command.hpp"

#include <algorithm>
#include <filesystem>

#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "formats/oneflow/oneflow_plan_scenario.hpp"
#include "formats/scenario/schedule_reader.hpp"
#include "formats/torch/schedule_csv.hpp"
#include "models/schedules/schedule_lowering.hpp"
#include "viz/text/diagnostic_text.hpp"

namespace pipesim::app {
namespace {

using models::Diagnostics;
using models::Schedule;

// The name of the file, as far as it is a word.
std::string scenario_name(const std::string& path) {
  if (path == "-") return {};
  std::string name = std::filesystem::path(path).stem().string();
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
      },
      '_');
  return name;
}

// What cannot be done is a mistake of the file, whether the lowered schedule is wanted or not.
std::optional<Schedule> read_checked(const std::string& text, const ImportCommand& command,
                                     Diagnostics& diagnostics) {
  if (text.size() > formats::kMostScheduleBytes) {
    diagnostics.error({}, "a schedule file has at most 256 MiB");
    return std::nullopt;
  }
  auto schedule = formats::read_schedule(formats::schedule_rows(text), 1, diagnostics);
  if (!schedule || schedule->has_messages()) return schedule;
  if (command.fsdp) {
    schedule = models::add_reduce_grad(models::add_unshard_reshard(*schedule));
  }
  auto lowered = models::add_send_recv(*schedule, diagnostics);
  if (!lowered) return std::nullopt;
  return command.lower || command.fsdp ? std::move(lowered) : std::move(schedule);
}

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

bool is_schedule_path(const std::string& path) { return path.size() > 4 && path.ends_with(".csv"); }

std::optional<std::string> scenario_of_schedule(const std::string& text, const std::string& path,
                                                Diagnostics& diagnostics) {
  const auto schedule = read_checked(text, {}, diagnostics);
  if (!schedule) return std::nullopt;
  return formats::pipeline_scenario(*schedule, scenario_name(path));
}

int run_import_schedule(const ImportCommand& command, const Console& console) {
  const std::string text = read_file(command.path, console.in, formats::kMostScheduleBytes);
  Diagnostics diagnostics;
  const auto schedule = read_checked(text, command, diagnostics);
  if (!schedule) {
    tell(diagnostics, command, text, console);
    return kExitUsage;
  }
  const std::string result =
      command.csv ? formats::write_schedule(*schedule)
                  : formats::pipeline_scenario(*schedule, scenario_name(command.path));
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
      plan ? formats::plan_scenario(*plan, scenario_name(command.path), diagnostics) : std::nullopt;
  tell(diagnostics, command, text, console);
  if (!scenario) return kExitUsage;
  write_result(*scenario, command, console);
  return kExitGood;
}

}  // namespace pipesim::app
