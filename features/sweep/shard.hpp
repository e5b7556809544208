// The part of a sweep that a process runs: --shard.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "features/sweep/sweep_file.hpp"

namespace pipesim::app {

/// Returns the value of an environment variable, or nullptr.
using Environment = std::function<const char*(const char* name)>;

/// Reads "3/64", which counts from 1, or "auto", which uses the environment of MPI or Slurm. On
/// failure, `problem` gets the reason.
std::optional<formats::Shard> parse_shard(const std::string& text, const Environment& environment,
                                          std::string& problem);

}  // namespace pipesim::app
