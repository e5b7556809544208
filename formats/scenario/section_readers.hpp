// The readers of sections of a scenario: `sets`, `groups`, `model`, `faults`, `guards`, `expect`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "formats/yaml/map_reader.hpp"
#include "formats/yaml/value_reader.hpp"
#include "formats/yaml/yaml_document.hpp"
#include "models/graph/logical_graph.hpp"
#include "models/graph/task_graph.hpp"
#include "models/passes/pass_pipeline.hpp"
#include "models/schedules/rank_grid.hpp"

namespace pipesim::formats {

inline constexpr std::int64_t kMaxPort = 65'535;

/// Reads the values of `sets:` and `groups:`, which may name each other, into `scenario`, whose
/// ranks are known. It may have groups already, those of `parallel:`.
void read_sets_and_groups(MapReader& map, const ValueReader& values, Scenario& scenario);

/// Reads the list `faults:` into `graph`, whose actors, communicators and cluster are there.
void read_faults(const YamlValue& value, const ValueReader& values, models::TaskGraph& graph);

/// Reads the map `guards:`.
void read_guards(const YamlValue& value, const ValueReader& values, models::TaskGraph& graph);

/// The index of the host that `value` names, by name or number; models::kNoIndex after a message.
std::uint32_t read_host(const YamlValue& value, const ValueReader& values,
                        const models::Cluster& cluster);

/// Reads the value of `model:`, and beside it in `map` those of `parallel:` and `train:`. Nothing
/// where there are mistakes, which are reported.
std::optional<models::LogicalGraph> read_model(const YamlValue& value, MapReader& map,
                                               const ValueReader& values);

/// Reads the value of `parallel:` of a job without a model. Nothing where there are mistakes, which
/// are reported.
std::optional<models::RankGrid> read_rank_grid(const YamlValue& value, const ValueReader& values);

/// The passes that make tasks of a model, in their order, with the options that `value`, that of
/// `passes:`, gives them. The passes are those of `registry`. Nothing where there are mistakes.
std::optional<std::vector<models::PassCall>> read_passes(const std::optional<YamlValue>& value,
                                                         const models::PassRegistry& registry,
                                                         const ValueReader& values);

/// Appends the expectations of `value` (one, or a list) to those of `scenario`, whose parameters
/// and ranks are known. Mistakes go to the diagnostics of `values`.
void read_expectations(const YamlValue& value, const ValueReader& values, Scenario& scenario);

}  // namespace pipesim::formats
