#include "formats/scenario/order_file.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "formats/document/json_parse.hpp"

namespace pipesim::formats {
namespace {

using Json = nlohmann::ordered_json;
using models::Diagnostics;

// Version of order files, incremented when a key changes its meaning or is removed; new keys need
// no increment.
constexpr int kOrderSchema = 1;

constexpr std::uint64_t kMaxQueue = 1 << 20;

constexpr JsonKind kOrderKind = {"an order file", models::Code::kOwnFile,
                                 "order files are what 'pipesim check --order' writes"};

// Names of events, in the order of sim::EventKind.
constexpr std::array kEvents = {"op ends",   "collective ends", "round ends", "pair ends",
                                "call ends", "thread goes on",  "op starts",  "source taken"};

std::optional<sim::Event> event_of(const Json& step) {
  if (!step.is_object() || !step.contains("event") || !step.contains("id")) return std::nullopt;
  const Json& name = step["event"];
  const Json& id = step["id"];
  if (!name.is_string() || !id.is_number_unsigned()) return std::nullopt;
  const auto* const kind =
      std::find(kEvents.begin(), kEvents.end(), name.get_ref<const std::string&>());
  if (kind == kEvents.end() ||
      id.get<std::uint64_t>() >= std::numeric_limits<std::uint32_t>::max()) {
    return std::nullopt;
  }
  return sim::Event{static_cast<sim::EventKind>(kind - kEvents.begin()), id.get<std::uint32_t>()};
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Reads the order's assumptions about devices. Returns false if the assumptions are invalid.
bool read_reading(const Json& json, sim::DeviceReading& reading) {
  reading.serial_collectives = text_of(json, "collectives") == "one at a time";
  reading.shared_launches = text_of(json, "launch_queues") == "of devices";
  const auto queues = json.find("hardware_queues");
  if (queues == json.end()) return true;
  if (!queues->is_array()) return false;
  for (const Json& queue : *queues) {
    if (!queue.is_number_unsigned() || queue.get<std::uint64_t>() > kMaxQueue) return false;
    reading.queues.push_back(queue.get<std::uint32_t>());
  }
  return true;
}

// Quotes a name from a file, which can contain any bytes.
std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

std::string write_order(const SavedOrder& order) {
  std::string text = fmt::format("{{\n  \"pipesim_order\": {},\n  \"scenario\": {},\n",
                                 kOrderSchema, quoted(order.scenario));
  text += "  \"settings\": [";
  const char* separator = "";
  for (const auto& [name, value] : order.settings) {
    text +=
        fmt::format("{}{{\"name\": {}, \"value\": {}}}", separator, quoted(name), quoted(value));
    separator = ", ";
  }
  text += "],\n";
  if (order.reading.serial_collectives) text += "  \"collectives\": \"one at a time\",\n";
  if (order.reading.shared_launches) text += "  \"launch_queues\": \"of devices\",\n";
  if (!order.reading.queues.empty()) {
    text += fmt::format("  \"hardware_queues\": [{}],\n", fmt::join(order.reading.queues, ", "));
  }
  text += fmt::format("  \"count\": {},\n  \"steps\": [", order.steps.size());
  separator = "\n    ";
  for (const models::OrderStep& step : order.steps) {
    text += fmt::format("{}{{\"event\": \"{}\", \"id\": {}, \"what\": {}}}", separator,
                        kEvents[static_cast<std::size_t>(step.event.kind)], step.event.target,
                        quoted(step.what));
    separator = ",\n    ";
  }
  return text + "\n  ]\n}\n";
}

std::optional<SavedOrder> read_order(const std::string& text, Diagnostics& diagnostics) {
  const auto refuse = [&](models::Place place, models::Code code, const std::string& message) {
    diagnostics.error(place, code, message).notes.emplace_back(kOrderKind.hint);
    return std::nullopt;
  };
  if (text.size() > kMaxOrderBytes) {
    return refuse({}, models::Code::kLimit,
                  fmt::format("an order file can have at most {} MiB", kMaxOrderBytes >> 20));
  }
  const std::optional<Json> parsed = parse_json<Json>(text, kOrderKind, diagnostics);
  if (!parsed) return std::nullopt;
  const Json& json = *parsed;
  if (!json.is_object() || !json.contains("pipesim_order")) {
    return refuse({1, 1}, models::Code::kOwnFile, "not an order file: it has no 'pipesim_order'");
  }
  if (json["pipesim_order"] != kOrderSchema) {
    return refuse({1, 1}, models::Code::kSchema,
                  fmt::format("this pipesim reads order files of schema {}, found {}", kOrderSchema,
                              json["pipesim_order"].dump()));
  }
  if (!json.contains("steps") || !json["steps"].is_array()) {
    return refuse({1, 1}, models::Code::kOwnFile, "this order file has no list of 'steps'");
  }
  if (!json.contains("count") || json["count"] != json["steps"].size()) {
    return refuse({1, 1}, models::Code::kOwnFile,
                  "truncated order file: it has fewer steps than its 'count' says");
  }
  SavedOrder order;
  order.scenario = text_of(json, "scenario");
  if (json.contains("settings") && json["settings"].is_array()) {
    for (const Json& setting : json["settings"]) {
      if (!setting.is_object()) continue;
      order.settings.emplace_back(text_of(setting, "name"), text_of(setting, "value"));
    }
  }
  if (!read_reading(json, order.reading)) {
    return refuse({1, 1}, models::Code::kOwnFile,
                  "invalid order file: 'hardware_queues' must be a list of numbers");
  }
  for (const Json& step : json["steps"]) {
    const std::optional<sim::Event> event = event_of(step);
    if (!event) {
      return refuse({1, 1}, models::Code::kOwnFile,
                    fmt::format("step {} is not a valid event", order.steps.size() + 1));
    }
    order.steps.push_back({*event, text_of(step, "what")});
  }
  return order;
}

}  // namespace pipesim::formats
