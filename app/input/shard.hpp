// Which part of a sweep a process does: --shard.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "formats/files/sweep_file.hpp"

namespace pipesim::app {

/// A variable of the environment, or nullptr.
using Environment = std::function<const char*(const char* name)>;

/// "3/64", from 1; or "auto": the number that MPI or Slurm has given this process. Nothing where it
/// is neither, or nobody has given a number; `problem` then says so.
std::optional<formats::Shard> parse_shard(const std::string& text, const Environment& environment,
                                          std::string& problem);

}  // namespace pipesim::app
