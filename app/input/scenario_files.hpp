// Which files `pipesim test` looks at.
#pragma once

#include <string>
#include <vector>

namespace pipesim::app {

/// The files of `paths`, in that order and each once. A folder stands for the scenarios in it and
/// below it, in the order of their paths: files `*.yaml` and `*.yml` with a line that begins with
/// `schema:`. Hidden files and folders are left out. Without paths: the folder `scenarios` if it is
/// there, else the current one. Throws FileError where a folder cannot be read; whether a file can
/// be is not asked.
std::vector<std::string> scenario_files(const std::vector<std::string>& paths);

}  // namespace pipesim::app
