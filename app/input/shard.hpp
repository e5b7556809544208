// Which part of a sweep a process runs: --shard.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "formats/files/sweep_file.hpp"

namespace pipesim::app {

/// A variable of the environment, or nullptr.
using Environment = std::function<const char*(const char* name)>;

/// Reads "3/64", which counts from 1, or "auto", which is what MPI or Slurm says in the
/// environment. If that fails, `problem` says why.
std::optional<formats::Shard> parse_shard(const std::string& text, const Environment& environment,
                                          std::string& problem);

}  // namespace pipesim::app
