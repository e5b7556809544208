// Scenarios to begin one's own from: small, with comments that say what to change.
#pragma once

#include <span>
#include <string_view>

namespace pipesim::app {

struct StartingScenario {
  std::string_view kind;  // how `pipesim new` calls it
  std::string_view about;
  std::string_view text;
};

/// All of them. The first is the one for who does not say which.
std::span<const StartingScenario> starting_scenarios();

}  // namespace pipesim::app
