#include "features/sweep/shard.hpp"

#include <array>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "models/graph/whole_number.hpp"

namespace pipesim::app {
namespace {

std::optional<std::uint32_t> number(std::string_view text) {
  const auto value = models::whole_number<std::uint32_t>(text);
  return value && *value <= formats::kMaxShards ? value : std::nullopt;
}

// Environment variables in which a launcher numbers its processes, from 0.
struct Launcher {
  const char* rank;
  const char* size;
};

constexpr std::array<Launcher, 3> kLaunchers = {{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},  // MPICH, Intel MPI
    {"SLURM_PROCID", "SLURM_NTASKS"},
}};

}  // namespace

std::optional<formats::Shard> parse_shard(const std::string& text, const Environment& environment,
                                          std::string& problem) {
  if (text != "auto") {
    const std::size_t slash = text.find('/');
    const auto index = number(text.substr(0, slash));
    const auto count = slash == std::string::npos ? std::nullopt : number(text.substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count) return formats::Shard{*index, *count};
    problem = fmt::format(
        "invalid value '{}' for '--shard': expected I/N with I from 1 to N, or auto", text);
    return std::nullopt;
  }
  for (const Launcher& launcher : kLaunchers) {
    const char* rank = environment(launcher.rank);
    const char* size = environment(launcher.size);
    if (rank == nullptr || size == nullptr) continue;
    const auto index = number(rank);
    const auto count = number(size);
    if (!index || !count || *index >= *count) {
      problem = fmt::format("--shard auto: {}={} and {}={} contradict each other", launcher.rank,
                            rank, launcher.size, size);
      return std::nullopt;
    }
    // Each job of an array is task 0 of 1, so all jobs would run the same shard.
    if (*count == 1 && environment("SLURM_ARRAY_TASK_ID") != nullptr) {
      problem =
          "--shard auto does not know the size of a Slurm job array: use --shard "
          "$SLURM_ARRAY_TASK_ID/N";
      return std::nullopt;
    }
    return formats::Shard{*index + 1, *count};
  }
  problem = "--shard auto: not started by MPI or Slurm; use --shard I/N";
  return std::nullopt;
}

}  // namespace pipesim::app
