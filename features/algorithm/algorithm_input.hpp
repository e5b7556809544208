// Arguments of commands about collective algorithms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/command.hpp"

namespace pipesim::app {

/// Reads a size such as "64MiB". Throws UsageError.
std::uint64_t message_bytes(const std::string& text);

/// Returns the value of --slots. Throws UsageError.
std::optional<std::uint32_t> connection_slots(const Arguments& arguments);

/// Whether a file is a collective algorithm: a .xml file, or a .json file with an execution plan of
/// MSCCL++. Throws FileError.
bool is_algorithm(const std::string& path);

}  // namespace pipesim::app
