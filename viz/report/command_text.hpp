// Commands to copy into a shell.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pipesim::viz {

/// Returns a command, quoted for a shell: "pipesim run FILE --set acc=2".
std::string command_text(const char* command, const std::string& path,
                         const std::vector<std::pair<std::string, std::string>>& settings);

/// Quotes a command and its words for a shell: "pipesim diff a.yaml 'my file.yaml'".
std::string command_line_text(const std::vector<std::string>& words);

}  // namespace pipesim::viz
