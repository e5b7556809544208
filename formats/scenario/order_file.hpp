// A file with one interleaving: `pipesim check` writes the file, `pipesim run --replay` reads it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/result/event_order.hpp"

namespace pipesim::formats {

/// Size limit of an order file.
inline constexpr std::size_t kMaxOrderBytes = std::size_t{256} << 20;

struct SavedOrder {
  std::string scenario;  // name of the scenario
  std::vector<Setting> settings;
  sim::DeviceReading reading;  // assumptions about devices
  std::vector<models::OrderStep> steps;
};

/// Writes `order` as JSON, with one line per step.
std::string write_order(const SavedOrder& order);

/// Reads the output of write_order(). Returns nullopt for other text; `diagnostics` gets the
/// reason.
std::optional<SavedOrder> read_order(const std::string& text, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
