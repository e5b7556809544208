// Scenarios as text, and graphs of actors made from them.
#pragma once

#include <cstdint>
#include <string>

#include "models/graph/task_graph.hpp"

namespace pipesim::bench {

/// Returns a scenario with a chain of `length` actors per rank, from a source with `ops` ops. The
/// first actor of each rank reads from the last one of the previous rank. If `ring`, rank 0 reads
/// from the last rank, so no actor ever starts.
std::string actor_text(std::uint32_t ranks, std::uint32_t length, std::uint32_t ops, bool ring);

/// Returns a scenario with a program of `steps` steps on all ranks: computes, collective calls and
/// synchronization in turn, like PyTorch. Each step names its line in the user's program.
std::string program_text(std::uint32_t ranks, std::uint32_t steps);

/// Returns the graph of `text`, which must have no mistakes.
models::TaskGraph graph_of(const std::string& text);

}  // namespace pipesim::bench
