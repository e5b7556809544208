// Where a run is to stop: --until.
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

/// At a time, or when a host thread enters an act.
struct Until {
  std::string text;  // as it was given
  std::optional<sim::Time> time;
  std::optional<ActQuery> act;  // where there is no time
};

/// "12ms", "rank0:all_gather#3", or, as reports write it, "rank 0 all_gather#3". Nothing where
/// `text` is none of them.
std::optional<Until> parse_until(const std::string& text);

/// models::simulate(), at most until `until`, if that is given. `diagnostics` has an error where
/// there is no such act, or where `options` ask for the sweep and it cannot, and a warning where
/// the run ended before it came to that act.
std::optional<models::Simulation> simulate_until(const models::TaskGraph& graph,
                                                 const std::optional<Until>& until,
                                                 sim::RunOptions options,
                                                 models::Diagnostics& diagnostics);

}  // namespace pipesim::app
