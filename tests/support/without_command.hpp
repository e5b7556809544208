// Removes the command from a report, to compare reports of different commands.
#pragma once

#include <cstddef>
#include <string>

namespace pipesim::testing {

/// Returns `report` without its last line or, for JSON, without `made_by`.
inline std::string without_command(std::string report) {
  if (const std::size_t key = report.find("  \"made_by\": "); key != std::string::npos) {
    return report.erase(key, report.find('\n', key) + 1 - key);
  }
  const std::size_t line = report.rfind("\npipesim ");
  const std::size_t comment = report.rfind("\n# pipesim ");
  const std::size_t last = line == std::string::npos ? comment : line;
  return last == std::string::npos ? report : report.erase(last + 1);
}

}  // namespace pipesim::testing
