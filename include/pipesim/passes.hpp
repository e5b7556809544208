// Scheduler passes, which turn a graph into a changed graph (docs/how-to/passes.md).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "pipesim/graph.hpp"

namespace pipesim::models {
class Diagnostics;
class PassRegistry;
}  // namespace pipesim::models

namespace pipesim {

/// Returns the graph after `passes`, a list as for `pipesim opt --passes`:
/// "move-to-stream=buffer:stream=backward". Verifies the rules of a task graph before and after
/// each pass. Throws Error if a pass does not exist, reports an error or breaks a rule; what()
/// names the pass.
Graph run_passes(const Graph& graph, std::string_view passes);

/// Returns the graph after `passes`, a list as for `pipesim opt --passes`. The passes come from
/// `registry`, which can contain your own passes: see pipesim/task_graph.hpp. Verifies and throws
/// like run_passes(graph, passes).
Graph run_passes(const Graph& graph, std::string_view passes, const models::PassRegistry& registry);

/// A function that changes a task graph, or reports why it cannot.
using PassFunction = std::function<void(models::TaskGraph&, models::Diagnostics&)>;

/// Returns the graph after the pass `pass`; messages call it `name`. Verifies and throws like
/// run_passes().
Graph run_pass(const Graph& graph, const std::string& name, const PassFunction& pass);

}  // namespace pipesim
