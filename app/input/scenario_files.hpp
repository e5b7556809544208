// The files that `pipesim test` and `pipesim lint` read.
#pragma once

#include <string>
#include <vector>

namespace pipesim::app {

/// The files of `paths`, in that order and each once. A folder stands for all scenarios below it,
/// in the order of their paths: files `*.yaml` and `*.yml` with a line that begins with `schema:`.
/// Hidden files and folders are skipped. The folder of a record is one scenario. Without paths,
/// that is the folder `scenarios` if it exists, else the current one. Throws FileError if a folder
/// cannot be read; files are not opened.
std::vector<std::string> scenario_paths(const std::vector<std::string>& paths);

}  // namespace pipesim::app
