// The task graph itself, for passes of your own: what it holds, what helps to change it, and the
// registry that knows passes by name. docs/how-to/passes.md goes through a pass line by line.
//
// This header shows the inside: it changes with pipesim, where the others of this folder do not.
#pragma once

#include "models/graph/diagnostics.hpp"
#include "models/graph/graph_edit.hpp"
#include "models/graph/task_graph.hpp"
#include "models/passes/pass.hpp"
