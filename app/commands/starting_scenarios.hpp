// Scenarios to start from: small, with comments that suggest changes.
#pragma once

#include <span>
#include <string_view>

namespace pipesim::app {

struct StartingScenario {
  std::string_view kind;  // name in `pipesim new`
  std::string_view about;
  std::string_view text;
};

/// Returns all starting scenarios, the default first.
std::span<const StartingScenario> starting_scenarios();

}  // namespace pipesim::app
