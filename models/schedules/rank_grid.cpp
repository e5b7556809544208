#include "models/schedules/rank_grid.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace pipesim::models {
namespace {

constexpr std::array<const char*, kDimensions> kWords = {"tp", "cp", "ep", "dp", "pp"};

// A layout of the ranks as a grid.
class Axes {
 public:
  Axes(const std::array<Dimension, kDimensions>& order,
       const std::array<std::uint32_t, kDimensions>& sizes)
      : sizes_(sizes) {
    std::uint32_t stride = 1;
    for (const Dimension dimension : order) {
      strides_[at(dimension)] = stride;
      stride *= size(dimension);
    }
    ranks_ = stride;
  }

  std::uint32_t size(Dimension dimension) const { return sizes_[at(dimension)]; }
  std::uint32_t stride(Dimension dimension) const { return strides_[at(dimension)]; }
  std::uint32_t position(std::uint32_t rank, Dimension dimension) const {
    return rank / stride(dimension) % size(dimension);
  }

  /// Returns a group: ranks that differ only in `dimensions` share a list. Lists and their members
  /// are in ascending order.
  Group group(std::string name, std::initializer_list<Dimension> dimensions) const {
    Group result;
    result.name = std::move(name);
    std::vector<std::size_t> list_of_first(ranks_);
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      std::uint32_t first = rank;
      for (const Dimension dimension : dimensions) {
        first -= position(rank, dimension) * stride(dimension);
      }
      if (first == rank) {
        list_of_first[rank] = result.lists.size();
        result.lists.emplace_back();
      }
      result.lists[list_of_first[first]].push_back(rank);
    }
    result.index();
    return result;
  }

 private:
  static std::size_t at(Dimension dimension) { return static_cast<std::size_t>(dimension); }

  std::array<std::uint32_t, kDimensions> sizes_;
  std::array<std::uint32_t, kDimensions> strides_{};
  std::uint32_t ranks_ = 1;
};

}  // namespace

std::optional<std::array<Dimension, kDimensions>> find_dimension_order(std::string_view text) {
  std::vector<Dimension> order;
  const auto has = [&](Dimension dimension) {
    return std::find(order.begin(), order.end(), dimension) != order.end();
  };
  while (true) {
    const std::size_t end = std::min(text.find('-'), text.size());
    const auto word = std::find(kWords.begin(), kWords.end(), text.substr(0, end));
    const auto dimension = static_cast<Dimension>(word - kWords.begin());
    if (word == kWords.end() || has(dimension)) return std::nullopt;
    order.push_back(dimension);
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
  }
  std::array<Dimension, kDimensions> result{};
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const auto dimension = static_cast<Dimension>(i);
    if (!has(dimension)) order.push_back(dimension);
  }
  std::copy(order.begin(), order.end(), result.begin());
  return result;
}

std::string dimension_order_text(const std::array<Dimension, kDimensions>& order) {
  std::string text;
  for (const Dimension dimension : order) {
    if (!text.empty()) text += '-';
    text += kWords[static_cast<std::size_t>(dimension)];
  }
  return text;
}

std::optional<RankGrid> make_rank_grid(const ParallelSizes& sizes, std::string& problem) {
  const std::uint32_t replicas = sizes.tensor * sizes.context * sizes.data;
  const std::uint64_t per_expert = std::uint64_t{sizes.expert} * sizes.expert_tensor;
  if (replicas % per_expert != 0) {
    problem = std::to_string(replicas) + " ranks of a stage (tensor x context x data) cannot be " +
              "divided among " + std::to_string(per_expert) + " (expert x expert_tensor)";
    return std::nullopt;
  }
  const auto expert_data = static_cast<std::uint32_t>(replicas / per_expert);
  const Axes dense(sizes.order, {sizes.tensor, sizes.context, 1, sizes.data, sizes.pipeline});
  const Axes experts(sizes.order,
                     {sizes.expert_tensor, 1, sizes.expert, expert_data, sizes.pipeline});
  const bool alike = sizes.pipeline == 1 ||
                     dense.stride(Dimension::kPipeline) == experts.stride(Dimension::kPipeline);
  if (!alike) {
    problem =
        "in this order the stages of experts are not those of the other layers: end it with "
        "'pp'";
    return std::nullopt;
  }
  RankGrid grid;
  grid.pipeline_stride = dense.stride(Dimension::kPipeline);
  for (std::uint32_t rank = 0; rank < sizes.ranks(); ++rank) {
    grid.row_of_rank.push_back(dense.position(rank, Dimension::kPipeline));
  }
  grid.groups.push_back(dense.group("tensor", {Dimension::kTensor}));
  grid.groups.push_back(dense.group("context", {Dimension::kContext}));
  grid.groups.push_back(dense.group("data", {Dimension::kData}));
  grid.groups.push_back(dense.group("data_context", {Dimension::kData, Dimension::kContext}));
  grid.groups.push_back(experts.group("expert", {Dimension::kExpert}));
  grid.groups.push_back(experts.group("expert_data", {Dimension::kData}));
  grid.groups.push_back(dense.group("pipeline", {Dimension::kPipeline}));
  return grid;
}

}  // namespace pipesim::models
