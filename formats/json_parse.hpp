// JSON for readers that look up values by their keys.
#pragma once

#include <optional>
#include <string_view>

#include "models/codes.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// What a text should be, for what is said of one that is not.
struct JsonKind {
  std::string_view name;  // with its article: "a state file"
  models::Code code;      // of mistakes in it
  const char* hint;       // goes with each of them; null for none
};

/// `text` parsed. Nothing where it is not JSON, or deeper than kMaxJsonDepth: `diagnostics` then
/// says what and where; `begin` is the place of the first byte. `Json` is nlohmann::ordered_json,
/// whose header is for sources only.
template <typename Json>
std::optional<Json> parse_json(std::string_view text, const JsonKind& kind,
                               models::Diagnostics& diagnostics, models::Place begin = {1, 1});

}  // namespace pipesim::formats
