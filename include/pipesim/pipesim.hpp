// pipesim as a library: get a graph, change it by passes, run it, look at the result.
//
//   pipesim::Graph graph = pipesim::load_scenario("step.yaml", {{"acc", "2"}});
//   pipesim::Result result = pipesim::run(run_passes(graph, "set-slots=Repeat:slots=3"));
//   if (!result.completed()) std::cerr << result;
//
// A mistake of the user's is thrown as pipesim::Error. Nothing is global, so threads may run graphs
// side by side. For tests there is pipesim/catch2.hpp, for passes of your own
// pipesim/task_graph.hpp.
#pragma once

#include "pipesim/builder.hpp"
#include "pipesim/check.hpp"
#include "pipesim/graph.hpp"
#include "pipesim/passes.hpp"
#include "pipesim/run.hpp"
#include "pipesim/scenario.hpp"
#include "pipesim/verify.hpp"
