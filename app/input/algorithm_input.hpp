// Collective algorithms as commands take them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/command.hpp"

namespace pipesim::app {

/// Reads "64MiB". Throws UsageError.
std::uint64_t message_bytes(const std::string& text);

/// What --slots asks for. Throws UsageError.
std::optional<std::uint32_t> connection_slots(const Arguments& arguments);

/// Whether a file is a collective algorithm: its name ends in .xml, or in .json and the text is an
/// execution plan of MSCCL++. Throws FileError.
bool is_algorithm(const std::string& path);

}  // namespace pipesim::app
