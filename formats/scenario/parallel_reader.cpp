#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "formats/scenario/keys.hpp"
#include "formats/scenario/section_readers.hpp"

namespace pipesim::formats {

std::optional<models::RankGrid> read_rank_grid(const YamlValue& value, const ValueReader& values) {
  models::Diagnostics& diagnostics = values.diagnostics();
  const std::size_t errors = diagnostics.error_count();
  MapReader map(value, keys::kParallel, diagnostics);
  const auto size = [&](const char* key, std::uint32_t otherwise) {
    const auto field = map.take(key);
    if (!field) return otherwise;
    const std::int64_t found = values.constant(*field, ValueType::kNumber).value_or(1);
    if (found >= 1 && found <= kMaxRanks) return static_cast<std::uint32_t>(found);
    diagnostics.error(
        field->place(), models::Code::kOutOfRange,
        fmt::format("'{}' must be between 1 and {}, found {}", key, kMaxRanks, found));
    return otherwise;
  };
  models::ParallelSizes sizes;
  sizes.tensor = size("tensor", 1);
  sizes.context = size("context", 1);
  sizes.data = size("data", 1);
  sizes.pipeline = size("pipeline", 1);
  sizes.expert = size("expert", 1);
  sizes.expert_tensor = size("expert_tensor", sizes.tensor);
  if (const auto order = map.take("order")) {
    const std::string text = values.word(*order).value_or("");
    const auto found = models::find_dimension_order(text);
    if (found) {
      sizes.order = *found;
    } else if (!text.empty()) {
      diagnostics
          .error(order->place(), models::Code::kGroupLayout,
                 fmt::format("'{}' is not an order of dimensions", text))
          .notes.push_back(
              fmt::format("name each of them at most once, fastest first: '{}'",
                          models::dimension_order_text(models::ParallelSizes().order)));
    }
  }
  map.finish();
  if (diagnostics.error_count() > errors) return std::nullopt;
  // Multiplies two factors at a time: four could overflow 64 bits.
  const std::uint64_t replicas = std::uint64_t{sizes.tensor} * sizes.context;
  const std::uint64_t stages = std::uint64_t{sizes.data} * sizes.pipeline;
  if (replicas > kMaxRanks || stages > kMaxRanks || replicas * stages > kMaxRanks) {
    diagnostics.error(
        value.place(), models::Code::kLimit,
        fmt::format("a job can have at most {} ranks, and {} x {} x {} x {} are more", kMaxRanks,
                    sizes.tensor, sizes.context, sizes.data, sizes.pipeline));
    return std::nullopt;
  }
  if (!values.keep(sizes.ranks(), value.place())) return std::nullopt;
  std::string problem;
  std::optional<models::RankGrid> grid = models::make_rank_grid(sizes, problem);
  if (!grid) {
    models::Diagnostic& error =
        diagnostics.error(value.place(), models::Code::kGroupLayout, problem);
    models::ParallelSizes whole = sizes;
    whole.expert_tensor = 1;
    if (!map.has("expert_tensor") && models::make_rank_grid(whole, problem)) {
      error.notes.push_back(
          fmt::format("each expert is shared by {} ranks, as 'tensor' says: for whole experts say "
                      "'expert_tensor: 1'",
                      sizes.tensor));
    }
    return std::nullopt;
  }
  for (models::Group& group : grid->groups) group.place = value.place();
  return grid;
}

}  // namespace pipesim::formats
