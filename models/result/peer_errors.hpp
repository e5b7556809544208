// The errors of ranks whose peers have ended, under gloo: a rank that waits for data of a process
// that has ended raises "Connection closed by peer". docs/explanation/models-faults.md has the
// rules.
#pragma once

#include <vector>

#include "models/result/explanation.hpp"

namespace pipesim::models {

/// Returns the ranks that raise or abort after the end of a quiescent run, in the order in which
/// they follow from each other. Empty if the run has no calls of gloo.
std::vector<PeerError> peer_errors(const TaskGraph& graph, const Lowered& lowered,
                                   const sim::State& state, const sim::WaitGraph& waits);

}  // namespace pipesim::models
