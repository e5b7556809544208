// What changes a scenario from outside: values of parameters, and patches.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace pipesim::formats {

/// Larger files are refused, scenarios as well as patches.
inline constexpr std::size_t kMaxScenarioBytes = std::size_t{128} << 20;

/// A parameter that is set from outside: name and value, as text.
using Setting = std::pair<std::string, std::string>;

/// Changes to a scenario, see formats/yaml/patch.hpp.
struct PatchText {
  std::string path;  // of its file, for messages
  std::string text;

  friend bool operator==(const PatchText&, const PatchText&) = default;
};

}  // namespace pipesim::formats
