// JSON for readers that look up values by key.
#pragma once

#include <optional>
#include <string_view>

#include "models/codes.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// The expected kind of file, for messages about other text.
struct JsonKind {
  std::string_view name;  // name with its article: "a report"
  models::Code code;      // code of mistakes in the file
  const char* hint;       // advice added to each mistake; null: none
};

/// Parses `text`. Returns nullopt if `text` is not JSON, or is deeper than kMaxJsonDepth;
/// `diagnostics` gets the reason and the place. `begin` is the place of the first byte. `Json` is
/// nlohmann::ordered_json; only source files include its header.
template <typename Json>
std::optional<Json> parse_json(std::string_view text, const JsonKind& kind,
                               models::Diagnostics& diagnostics, models::Place begin = {1, 1});

}  // namespace pipesim::formats
