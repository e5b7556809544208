// Reads the output of `py-spy dump --json`: one array of threads per process, one after the other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "features/diagnose/stack_evidence.hpp"

namespace pipesim::formats {

struct PySpyThread {
  std::string pid;
  std::string command;  // command line of the process
  std::string name;     // name or id of the thread
  bool active = false;
  std::vector<models::StackFrame> frames;  // innermost first
};

/// Returns the threads of each array; nullopt for any other text.
std::optional<std::vector<std::vector<PySpyThread>>> read_pyspy_json(const std::string& text);

/// Returns the part of a path that identifies the file: the part after the packages folder, or the
/// file and its folder.
std::string short_file(std::string_view path);

}  // namespace pipesim::formats
