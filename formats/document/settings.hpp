// Changes to a scenario from outside: values of parameters, and patches.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace pipesim::formats {

/// Size limit for scenarios and patches.
inline constexpr std::size_t kMaxScenarioBytes = std::size_t{128} << 20;

/// A setting of a parameter: name and value, as text.
using Setting = std::pair<std::string, std::string>;

/// The text of a patch, see formats/document/patch.hpp.
struct PatchText {
  std::string path;  // path of the file, for messages
  std::string text;

  friend bool operator==(const PatchText&, const PatchText&) = default;
};

}  // namespace pipesim::formats
