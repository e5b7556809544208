// The task graph itself, for your own passes: its contents, helpers to change it, and the registry
// of passes. docs/how-to/passes.md explains a pass line by line.
//
// This header exposes internals: unlike the other headers of this folder, it changes between
// versions.
#pragma once

#include "models/graph/diagnostics.hpp"
#include "models/graph/graph_edit.hpp"
#include "models/graph/task_graph.hpp"
#include "models/layers/pass.hpp"
