// An order of events as a file: what 'pipesim check' found, for 'pipesim run --replay'.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/search/check.hpp"

namespace pipesim::formats {

/// Larger files are refused.
inline constexpr std::size_t kMaxOrderBytes = std::size_t{256} << 20;

struct SavedOrder {
  std::string scenario;  // its name
  std::vector<Setting> settings;
  sim::DeviceReading reading;  // what it assumes of devices
  std::vector<models::OrderStep> steps;
};

/// `order` as JSON, a line for each step.
std::string write_order(const SavedOrder& order);

/// What write_order() wrote. Nothing where `text` is something else; `diagnostics` says why.
std::optional<SavedOrder> read_order(const std::string& text, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
