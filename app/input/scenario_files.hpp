// Files for `pipesim test` and `pipesim lint`.
#pragma once

#include <string>
#include <vector>

namespace pipesim::app {

/// Returns the files of `paths` in the given order, without duplicates. For a folder, returns all
/// scenarios below it, sorted by path: files `*.yaml` and `*.yml` with a line that begins with
/// `schema:`. Skips hidden files and folders. The folder of a record is one scenario. Without
/// paths, uses the folder `scenarios` if it exists, else the current one. Throws FileError if a
/// folder cannot be read. Does not open the files in `paths`.
std::vector<std::string> scenario_paths(const std::vector<std::string>& paths);

}  // namespace pipesim::app
