// Scenarios as text: what is read, and graphs of actors for what comes after reading.
#pragma once

#include <cstdint>
#include <string>

#include "models/graph/task_graph.hpp"

namespace pipesim::bench {

/// On each rank a chain of `length` actors from a source with `acts` acts; the first of each rank
/// reads from the last of the rank before. With `ring` that of rank 0 reads from the last rank, and
/// nobody ever begins.
std::string actor_text(std::uint32_t ranks, std::uint32_t length, std::uint32_t acts, bool ring);

/// A program of `steps` steps, in turn computes, collective calls and synchronization, as PyTorch
/// does them; each says where it stands in the user's program. All ranks do it.
std::string program_text(std::uint32_t ranks, std::uint32_t steps);

/// The graph of `text`, which has no mistakes.
models::TaskGraph graph_of(const std::string& text);

}  // namespace pipesim::bench
