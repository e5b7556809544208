// Real files beside the repository, which tests read where they are, and are skipped where not.
#pragma once

#include <filesystem>
#include <iostream>
#include <string>

namespace pipesim::testing {

/// The path of a file or folder of ../shared/data, or an empty string where that folder is not: the
/// test then says so, which counts as skipped (cmake/pipesim_tests.cmake), and returns.
inline std::string shared_data(const std::string& path) {
  if (std::filesystem::exists("../shared")) return "../shared/data/" + path;
  std::cout << "SKIPPED: ../shared is not here\n";
  return {};
}

}  // namespace pipesim::testing
