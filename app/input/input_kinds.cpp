// Only this list and the list of commands include features.
#include "app/input/input_kinds.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "app/input/schedule_input.hpp"
#include "app/output/files.hpp"

#include "features/algorithm/algorithm_input.hpp"
#include "features/diagnose/dumps_input.hpp"
#include "features/goal/goal_command.hpp"
#include "features/oneflow/oneflow_input.hpp"
#include "features/record/record_input.hpp"
#include "features/record/record_reader.hpp"

namespace pipesim::app {
namespace {

constexpr std::array kInputKinds = std::to_array<InputKind>({
    {.name = "torch-schedule", .endings = {".csv"}, .import = import_schedule},
    {.name = "oneflow-plan", .import = import_oneflow_plan},
    {.name = "record", .contains = has_record, .job = read_record_job, .import = import_record},
    {.name = "dumps", .contains = has_dumps, .job = read_dumped_job},
    {.name = "goal",
     .endings = {".goal"},
     .run = run_goal,
     .run_option = "loggops",
     .refusal = "'pipesim {command}' does not take GOAL files",
     .instead = "use 'pipesim run FILE.goal', with --dot for the wait-for graph"},
    {.name = "algorithm",
     .endings = {".xml", ".json"},
     .contains = is_algorithm,
     .refusal = "'{path}' is a collective algorithm, not a scenario",
     .instead = "'pipesim verify' checks collective algorithms",
     .code = models::Code::kArguments},
    {.name = "script",
     .endings = {".py"},
     .refusal = "'{path}' is a Python script, and not a scenario",
     .instead = "'pipesim record --ranks 8 {path}' runs all its ranks on this machine, and checks "
                "them for hangs"},
    {.name = "notebook",
     .endings = {".ipynb"},
     .refusal = "'{path}' is a notebook, and not a scenario",
     .instead = "in a cell of it, 'from pipesim import record' records a function of the notebook"},
    {.name = "source",
     .endings = {".cpp", ".cc", ".cu", ".c"},
     .refusal = "'{path}' is source code, and not a scenario",
     .instead = "'pipesim new program' writes a scenario to start from: describe its calls in it"},
});

// Returns the kind of the input at `path`; null for a scenario.
const InputKind* kind_of(const std::string& path) {
  const bool is_job = is_foreign_path(path);
  const auto* const found = std::find_if(
      kInputKinds.begin(), kInputKinds.end(),
      [&](const InputKind& kind) { return (kind.job != nullptr) == is_job && kind.matches(path); });
  return found == kInputKinds.end() ? nullptr : found;
}

}  // namespace

std::span<const InputKind> input_kinds() { return kInputKinds; }

bool InputKind::matches(const std::string& path) const {
  const bool has_ending = std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
    return !ending.empty() && path.size() > ending.size() && path.ends_with(ending);
  });
  return contains == nullptr ? has_ending : (has_ending || job != nullptr) && contains(path);
}

bool is_foreign_path(const std::string& path) {
  std::error_code error;
  return path != "-" && (std::filesystem::is_directory(path, error) ||
                         std::filesystem::path(path).filename() == formats::kRecordFile);
}

bool has_foreign_job(const std::string& path) {
  const InputKind* kind = kind_of(path);
  return kind != nullptr && kind->job != nullptr;
}

std::unique_ptr<const ForeignJob> read_foreign_job(const std::string& path,
                                                   const Console& console) {
  const InputKind* kind = kind_of(path);
  if (kind == nullptr || kind->job == nullptr) {
    throw InputError(models::Code::kRecordRanks,
                     fmt::format("'{}' is a directory without {}: expected a record written by "
                                 "'pipesim record', or Flight Recorder dumps",
                                 path, formats::kRecordFile));
  }
  return kind->job(path, console);
}

void require_scenario(const Command& command, const std::string& path) {
  const InputKind* kind = kind_of(path);
  if (kind == nullptr || kind->refusal == nullptr) return;
  const auto filled = [&](const char* text) {
    return fmt::format(fmt::runtime(text), fmt::arg("command", command.name),
                       fmt::arg("path", shown_path(path)));
  };
  throw UsageError(kind->code, filled(kind->refusal), filled(kind->instead));
}

}  // namespace pipesim::app
