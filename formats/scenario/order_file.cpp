#include "formats/scenario/order_file.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "formats/document/json_reader.hpp"

namespace pipesim::formats {
namespace {

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

std::optional<sim::Event> event_of(const YamlValue& step) {
  const auto name = step.find("event");
  const auto id = step.find("id");
  if (!name || !name->is_text() || !id) return std::nullopt;
  const auto* const kind = std::find(kEvents.begin(), kEvents.end(), name->text());
  const auto target = id->integer<std::uint32_t>();
  if (kind == kEvents.end() || !target || target == std::numeric_limits<std::uint32_t>::max()) {
    return std::nullopt;
  }
  return sim::Event{static_cast<sim::EventKind>(kind - kEvents.begin()), *target};
}

std::string text_of(const YamlValue& map, const char* key) {
  const auto found = map.find(key);
  return found && found->is_text() ? std::string(found->text()) : std::string();
}

// Reads the order's assumptions about devices. Returns false if the assumptions are invalid.
bool read_reading(const YamlValue& root, sim::DeviceReading& reading) {
  reading.serial_collectives = text_of(root, "collectives") == "one at a time";
  reading.shared_launches = text_of(root, "launch_queues") == "of devices";
  const auto queues = root.find("hardware_queues");
  if (!queues) return true;
  bool valid = queues->is_list();
  queues->for_each_item([&](const YamlValue& queue) {
    const auto number = queue.integer<std::uint32_t>();
    valid = valid && number && *number <= kMaxQueue;
    reading.queues.push_back(number.value_or(0));
  });
  return valid;
}

// Quotes a name from a file, which can contain any bytes.
std::string quoted(const std::string& text) {
  using Json = nlohmann::json;
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
  const std::optional<YamlDocument> document = read_json(text, kOrderKind, diagnostics);
  if (!document) return std::nullopt;
  const YamlValue root = document->root();
  const auto schema = root.find("pipesim_order");
  if (!schema) {
    return refuse({1, 1}, models::Code::kOwnFile, "not an order file: it has no 'pipesim_order'");
  }
  if (schema->integer<int>() != kOrderSchema) {
    return refuse(schema->place(), models::Code::kSchema,
                  fmt::format("this pipesim reads order files of schema {}, found {}", kOrderSchema,
                              schema->is_scalar() ? schema->text() : schema->described()));
  }
  const auto steps = root.find("steps");
  if (!steps || !steps->is_list()) {
    return refuse({1, 1}, models::Code::kOwnFile, "this order file has no list of 'steps'");
  }
  const auto count = root.find("count");
  if (!count || count->integer<std::size_t>() != steps->size()) {
    return refuse({1, 1}, models::Code::kOwnFile,
                  "truncated order file: it has fewer steps than its 'count' says");
  }
  SavedOrder order;
  order.scenario = text_of(root, "scenario");
  if (const auto settings = root.find("settings")) {
    settings->for_each_item([&](const YamlValue& setting) {
      if (!setting.is_map()) return;
      order.settings.emplace_back(text_of(setting, "name"), text_of(setting, "value"));
    });
  }
  if (!read_reading(root, order.reading)) {
    return refuse(root.find("hardware_queues")->place(), models::Code::kOwnFile,
                  "invalid order file: 'hardware_queues' must be a list of numbers");
  }
  for (const YamlValue& step : steps->items()) {
    const std::optional<sim::Event> event = event_of(step);
    if (!event) {
      return refuse(step.place(), models::Code::kOwnFile,
                    fmt::format("step {} is not a valid event", order.steps.size() + 1));
    }
    order.steps.push_back({*event, text_of(step, "what")});
  }
  return order;
}

}  // namespace pipesim::formats
