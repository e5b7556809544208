#include "app/input/schedule_input.hpp"

#include <algorithm>
#include <filesystem>

#include "app/input/text_input.hpp"
#include "formats/scenario/schedule_csv.hpp"
#include "formats/scenario/schedule_reader.hpp"
#include "models/characters.hpp"
#include "models/schedules/schedule_lowering.hpp"

namespace pipesim::app {

using models::Diagnostics;
using models::Schedule;

bool is_schedule_path(const std::string& path) { return path.size() > 4 && path.ends_with(".csv"); }

std::string scenario_name_of(const std::string& path) {
  if (path == "-") return {};
  std::string name = std::filesystem::path(path).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !models::is_alphanumeric(c); }, '_');
  return name;
}

namespace {

/// Interpretation of a schedule file, and passes that add to it.
struct ScheduleReading {
  bool partial = false;  // the file has the last actions of a longer schedule, see models::Schedule
  bool lower = false;    // add sends and recvs as PyTorch does
  bool fsdp = false;     // add FSDP's actions, before sends and recvs
};

// Reads a schedule. Adds mistakes to `diagnostics`. A schedule to which sends and recvs cannot be
// added is a mistake, even without `reading.lower`.
std::optional<Schedule> read_schedule_file(const std::string& text, ScheduleReading reading,
                                           Diagnostics& diagnostics) {
  if (text.size() > formats::kMaxScheduleBytes) {
    diagnostics.error({}, models::Code::kLimit, "a schedule file can have at most 256 MiB");
    return std::nullopt;
  }
  auto schedule =
      formats::read_schedule(formats::schedule_rows(text), 1, diagnostics, reading.partial);
  if (!schedule || schedule->has_messages()) return schedule;
  if (reading.fsdp) {
    schedule = models::add_reduce_grad(models::add_unshard_reshard(*schedule));
  }
  auto lowered = models::add_send_recv(*schedule, diagnostics);
  if (!lowered) return std::nullopt;
  return reading.lower || reading.fsdp ? std::move(lowered) : std::move(schedule);
}

}  // namespace

std::optional<std::string> scenario_of_schedule(const std::string& text, const std::string& path,
                                                Diagnostics& diagnostics) {
  const auto schedule = read_schedule_file(text, {}, diagnostics);
  if (!schedule) return std::nullopt;
  return formats::pipeline_scenario(*schedule, scenario_name_of(path));
}

std::string import_schedule(const Arguments& arguments, const std::string& path,
                            const Console& console) {
  TextInput input = TextInput::read(path, formats::kMaxScheduleBytes, console);
  const ScheduleReading reading = {.partial = arguments.has("partial"),
                                   .lower = arguments.has("lower"),
                                   .fsdp = arguments.has("fsdp")};
  const Schedule schedule =
      input.require(read_schedule_file(input.text(), reading, input.diagnostics()));
  if (!arguments.has("csv")) return formats::pipeline_scenario(schedule, scenario_name_of(path));
  return formats::write_schedule(schedule);
}

}  // namespace pipesim::app
