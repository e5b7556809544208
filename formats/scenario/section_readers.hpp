// Readers for sections of a scenario: `sets`, `groups`, `model`, `faults`, `guards`, `expect`; and
// the limits on its size.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/document/map_reader.hpp"
#include "formats/document/value_reader.hpp"
#include "formats/document/yaml_document.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/graph/logical_graph.hpp"
#include "models/graph/task_graph.hpp"
#include "models/layers/pass_pipeline.hpp"
#include "models/schedules/rank_grid.hpp"

namespace pipesim::formats {

// Limits on the numbers of ranks and micro-batches of a job.
inline constexpr std::int64_t kMaxRanks = 1 << 20;
inline constexpr std::int64_t kMaxMicroBatches = 1 << 24;

/// Reads the values of `sets:` and `groups:`, which can name each other, into `scenario`. The ranks
/// must be known; the groups of `parallel:` can already exist.
void read_sets_and_groups(MapReader& map, const ValueReader& values, Scenario& scenario);

/// Reads the list `faults:` into `graph`, which already has actors, communicators and the cluster.
void read_faults(const YamlValue& value, const ValueReader& values, models::TaskGraph& graph);

/// Reads the map `guards:`.
void read_timeouts(const YamlValue& value, const ValueReader& values, models::TaskGraph& graph);

/// Returns the index of a host, named or numbered by `value`; models::kNoIndex after an error.
std::uint32_t read_host(const YamlValue& value, const ValueReader& values,
                        const models::Cluster& cluster);

/// Whether a key of the register `out` is a key of its actor.
constexpr bool is_key_of_actor(std::string_view key) {
  return key == "slots" || key == "bytes" || key == "carries";
}

/// Reads the value of `model:`, and `parallel:` and `train:` from `map`. Returns nullopt after an
/// error.
std::optional<models::LogicalGraph> read_model(const YamlValue& value, MapReader& map,
                                               const ValueReader& values);

/// Reads the value of `parallel:` for a job without a model. Returns nullopt after an error.
std::optional<models::RankGrid> read_rank_grid(const YamlValue& value, const ValueReader& values);

/// Returns the passes of `registry` that build tasks from a model, in order, with their options
/// from `value`, the value of `passes:`. Returns nullopt after an error.
std::optional<std::vector<models::PassCall>> read_passes(const std::optional<YamlValue>& value,
                                                         const models::PassRegistry& registry,
                                                         const ValueReader& values);

/// Appends the expectations in `value` (one, or a list) to `scenario`, which already has parameters
/// and ranks. Adds mistakes to the diagnostics of `values`.
void read_expectations(const YamlValue& value, const ValueReader& values, Scenario& scenario);

}  // namespace pipesim::formats
