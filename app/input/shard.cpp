#include "app/input/shard.hpp"

#include <array>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "models/graph/whole_number.hpp"

namespace pipesim::app {
namespace {

constexpr std::uint32_t kMostShards = 1'000'000;

std::optional<std::uint32_t> number(std::string_view text) {
  const auto value = models::whole_number<std::uint32_t>(text);
  return value && *value <= kMostShards ? value : std::nullopt;
}

// What starts processes tells each which it is, from 0, and of how many.
struct Starter {
  const char* rank;
  const char* size;
};

constexpr std::array<Starter, 3> kStarters = {{
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
    problem = fmt::format("--shard is I/N with I from 1 to N, or auto, found '{}'", text);
    return std::nullopt;
  }
  for (const Starter& starter : kStarters) {
    const char* rank = environment(starter.rank);
    const char* size = environment(starter.size);
    if (rank == nullptr || size == nullptr) continue;
    const auto index = number(rank);
    const auto count = number(size);
    if (!index || !count || *index >= *count) {
      problem = fmt::format("--shard auto: {}={} and {}={} make no sense", starter.rank, rank,
                            starter.size, size);
      return std::nullopt;
    }
    // Each job of an array is task 0 of 1, and all would do the same.
    if (*count == 1 && environment("SLURM_ARRAY_TASK_ID") != nullptr) {
      problem = "--shard auto: for an array of Slurm jobs give --shard $SLURM_ARRAY_TASK_ID/N";
      return std::nullopt;
    }
    return formats::Shard{*index + 1, *count};
  }
  problem = "--shard auto: neither MPI nor Slurm says which part this process is to do";
  return std::nullopt;
}

}  // namespace pipesim::app
