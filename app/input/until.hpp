// The time or op at which a run stops: --until.
#pragma once

#include <optional>
#include <string>

#include "app/input/op_query.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "models/result/simulation.hpp"
#include "sim/engine.hpp"
#include "sim/time.hpp"

namespace pipesim::app {

/// A time, or the moment at which a host thread enters an op.
struct Until {
  std::string text;               // as the user wrote it
  std::optional<sim::Time> time;  // nullopt: the text names an op, see read_op()
};

/// Reads a time such as "12ms"; any other text names an op. Returns nullopt for an empty text or a
/// number without a unit.
std::optional<Until> parse_until(const std::string& text);

/// Runs models::simulate(), at most until `until`. Adds an error to `diagnostics` if `graph` has no
/// such op, or if this run cannot use the fixed order that `options` require. Adds a warning if the
/// run ends before it reaches the op.
std::optional<models::Simulation> simulate_until(const models::TaskGraph& graph,
                                                 const std::optional<Until>& until,
                                                 sim::RunOptions options,
                                                 models::Diagnostics& diagnostics);

}  // namespace pipesim::app
