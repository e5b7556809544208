// The task graph itself, for passes of your own: what it holds, what helps to change it, and the
// registry that knows passes by name. docs/passes.md goes through a pass line by line.
//
// This header shows the inside: it changes with pipesim, where the others of this folder do not.
#pragma once

#include "models/diagnostics.hpp"
#include "models/graph_edit.hpp"
#include "models/passes/pass.hpp"
#include "models/task_graph.hpp"
