// The part of a sweep that a process runs: --shard.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "features/sweep/sweep_file.hpp"

namespace pipesim::app {

/// Returns the value of the environment variable `name`, or nullptr if it is not set.
using Environment = std::function<const char*(const char* name)>;

/// Parses "3/64", shard 3 of 64, or "auto", which uses the environment of MPI or Slurm. On failure,
/// returns nullopt and sets `problem` to the reason.
std::optional<formats::Shard> parse_shard(const std::string& text, const Environment& environment,
                                          std::string& problem);

}  // namespace pipesim::app
