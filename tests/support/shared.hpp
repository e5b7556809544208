// Access to real files next to the repository. Tests read the files in place, and are skipped if
// the folder is absent.
#pragma once

#include <filesystem>
#include <iostream>
#include <string>

namespace pipesim::testing {

/// Returns the path of a file or folder in ../shared/data, or an empty string if ../shared is
/// absent. The test then returns at once; the printed line makes it count as skipped
/// (cmake/pipesim_tests.cmake).
inline std::string shared_data(const std::string& path) {
  if (std::filesystem::exists("../shared")) return "../shared/data/" + path;
  std::cout << "SKIPPED: ../shared is not here\n";
  return {};
}

}  // namespace pipesim::testing
