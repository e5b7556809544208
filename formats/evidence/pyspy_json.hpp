// `py-spy dump --json`: an array of threads for each process, one after the other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/postmortem/stack_evidence.hpp"

namespace pipesim::formats {

struct PySpyThread {
  std::string pid;
  std::string command;  // of the process
  std::string name;     // or its id
  bool active = false;
  std::vector<models::StackFrame> frames;  // the innermost first
};

/// The threads of each array. Nothing: the text is something else.
std::optional<std::vector<std::vector<PySpyThread>>> read_pyspy_json(const std::string& text);

/// The part of a path that says which file it is: what follows the packages' folder, or the file
/// and its folder.
std::string short_file(std::string_view path);

}  // namespace pipesim::formats
