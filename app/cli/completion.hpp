// pipesim completion: scripts with which a shell completes our command lines.
#pragma once

#include <string>
#include <vector>

#include "app/cli/command_text.hpp"

namespace pipesim::app {

/// For `source` in bash, from version 4, or for bash-completion to load.
std::string bash_completion(const std::vector<CommandText>& commands);

/// For a file _pipesim in a folder of zsh's fpath.
std::string zsh_completion(const std::vector<CommandText>& commands);

/// What can follow --set for the scenario in this file: NAME=VALUE for each value of a word or a
/// switch, else NAME=, a line each. Who completes cannot be told of mistakes: what is no scenario,
/// no regular file, or larger than 1 MiB has no parameters.
std::string parameter_words(const std::string& path);

}  // namespace pipesim::app
