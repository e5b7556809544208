// The layout of a job's ranks over its parallel dimensions, and the resulting groups.
//
// Ranks form a grid: the dimension named first in the order varies fastest. Experts have a separate
// grid over the same ranks. RankGenerator and initialize_model_parallel of Megatron-LM use the same
// layout (megatron/core/parallel_state.py); the device mesh of torchtitan is the same grid in the
// default order (torchtitan/distributed/parallel_dims.py).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {

enum class Dimension : std::uint8_t { kTensor, kContext, kExpert, kData, kPipeline };
inline constexpr std::size_t kDimensions = 5;

struct ParallelSizes {
  std::uint32_t tensor = 1;
  std::uint32_t context = 1;
  std::uint32_t data = 1;
  std::uint32_t pipeline = 1;
  // Number of parts into which the experts are divided, over the ranks of tensor x context x data.
  std::uint32_t expert = 1;
  std::uint32_t expert_tensor = 1;  // number of ranks that share each expert
  std::array<Dimension, kDimensions> order = {Dimension::kTensor, Dimension::kContext,
                                              Dimension::kExpert, Dimension::kData,
                                              Dimension::kPipeline};

  std::uint64_t ranks() const { return std::uint64_t{tensor} * context * data * pipeline; }
};

/// Parses "tp-cp-ep-dp-pp", Megatron-LM's notation. Omitted dimensions come last. Returns nullopt
/// if a word is unknown or repeated.
std::optional<std::array<Dimension, kDimensions>> find_dimension_order(std::string_view text);

/// Returns the notation that find_dimension_order() parses.
std::string dimension_order_text(const std::array<Dimension, kDimensions>& order);

struct RankGrid {
  std::uint32_t pipeline_stride = 1;       // distance from a rank to the next rank of its pipeline
  std::vector<std::uint32_t> row_of_rank;  // position of each rank in its pipeline
  std::vector<Group> groups;               // groups with their index by rank, without places
};

/// Returns the grid with the groups `tensor`, `context`, `data`, `data_context`, `expert`,
/// `expert_data` and `pipeline`. If the sizes do not fit, returns nullopt and sets `problem`. A
/// grid has at most 2^32 - 1 ranks.
std::optional<RankGrid> make_rank_grid(const ParallelSizes& sizes, std::string& problem);

}  // namespace pipesim::models
