#include "app/input/schedule_input.hpp"

#include <algorithm>
#include <filesystem>

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

std::optional<std::string> scenario_of_schedule(const std::string& text, const std::string& path,
                                                Diagnostics& diagnostics) {
  const auto schedule = read_schedule_file(text, {}, diagnostics);
  if (!schedule) return std::nullopt;
  return formats::pipeline_scenario(*schedule, scenario_name_of(path));
}

}  // namespace pipesim::app
