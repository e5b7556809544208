// Scheduler passes: a graph goes in, a changed one comes out. docs/how-to/passes.md.
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

/// The graph after `passes`, as after `pipesim opt --passes`:
/// "move-to-stream=buffer:stream=backward". The rules of a task graph are checked before and after
/// each. Throws Error where there is no such pass, a pass refuses, or one breaks a rule; what()
/// names it.
Graph run_passes(const Graph& graph, std::string_view passes);

/// The same with the passes of `registry`, which may be your own: see pipesim/task_graph.hpp.
Graph run_passes(const Graph& graph, std::string_view passes, const models::PassRegistry& registry);

/// What changes a task graph, or reports why it cannot.
using PassFunction = std::function<void(models::TaskGraph&, models::Diagnostics&)>;

/// The graph after a pass that is a function. `name` is for messages. Checks and throws as
/// run_passes() does.
Graph run_pass(const Graph& graph, const std::string& name, const PassFunction& pass);

}  // namespace pipesim
