// pipesim as a library: load a graph, change it with passes, run it, and inspect the result.
//
//   pipesim::Graph graph = pipesim::load_scenario("step.yaml", {{"acc", "2"}});
//   pipesim::Result result = pipesim::run(run_passes(graph, "set-slots=Repeat:slots=3"));
//   if (!result.completed()) std::cerr << result;
//
// A mistake in the user's input throws pipesim::Error. The library has no global state, so threads
// can run graphs in parallel. See also pipesim/catch2.hpp for tests and pipesim/task_graph.hpp for
// your own passes.
#pragma once

#include "pipesim/builder.hpp"
#include "pipesim/check.hpp"
#include "pipesim/graph.hpp"
#include "pipesim/passes.hpp"
#include "pipesim/run.hpp"
#include "pipesim/scenario.hpp"
#include "pipesim/verify.hpp"
