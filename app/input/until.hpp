// Where a run stops: --until.
#pragma once

#include <optional>
#include <string>

#include "app/input/act_query.hpp"
#include "models/explain/simulation.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "sim/engine.hpp"
#include "sim/time.hpp"

namespace pipesim::app {

/// A time, or the moment when a host thread enters an op.
struct Until {
  std::string text;               // as the user wrote it
  std::optional<sim::Time> time;  // nothing: the text names an op, see read_act()
};

/// Reads "12ms", or takes the text for the name of an op. Nothing where it is a number without a
/// unit, or empty.
std::optional<Until> parse_until(const std::string& text);

/// models::simulate(), at most until `until`. `diagnostics` gets an error if there is no such op,
/// or if `options` ask for the sweep engine and it cannot run this; and a warning if the run ended
/// before it reached the op.
std::optional<models::Simulation> simulate_until(const models::TaskGraph& graph,
                                                 const std::optional<Until>& until,
                                                 sim::RunOptions options,
                                                 models::Diagnostics& diagnostics);

}  // namespace pipesim::app
