// How the ranks of a job are laid out over its parallel dimensions, and the groups that follow.
//
// Ranks are a grid: the dimension named first in the order varies fastest. Experts have a grid of
// their own over the same ranks. That is what RankGenerator and initialize_model_parallel of
// Megatron-LM do (megatron/core/parallel_state.py); the device mesh of torchtitan is the same grid
// in the default order (torchtitan/distributed/parallel_dims.py).
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
  std::uint32_t expert = 1;         // these ranks are taken from tensor x context x data
  std::uint32_t expert_tensor = 1;  // ranks that share each expert
  std::array<Dimension, kDimensions> order = {Dimension::kTensor, Dimension::kContext,
                                              Dimension::kExpert, Dimension::kData,
                                              Dimension::kPipeline};

  std::uint64_t ranks() const { return std::uint64_t{tensor} * context * data * pipeline; }
};

/// "tp-cp-ep-dp-pp", as Megatron writes it. Dimensions that it leaves out come last. Nothing where
/// a word is none of the five, or stands there twice.
std::optional<std::array<Dimension, kDimensions>> find_dimension_order(std::string_view text);

/// The reverse of find_dimension_order().
std::string dimension_order_text(const std::array<Dimension, kDimensions>& order);

struct RankGrid {
  std::uint32_t pipeline_stride = 1;       // from a rank to the same one of the next stage
  std::vector<std::uint32_t> row_of_rank;  // its place in its pipeline
  std::vector<Group> groups;               // indexed, without places
};

/// The grid with the groups `tensor`, `context`, `data`, `data_context`, `expert`, `expert_data`
/// and `pipeline`. Nothing where there is none; `problem` then says why. At most 2^32 - 1 ranks.
std::optional<RankGrid> make_rank_grid(const ParallelSizes& sizes, std::string& problem);

}  // namespace pipesim::models
