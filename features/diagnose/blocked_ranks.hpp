// Jobs in which each rank waits for another one.
#pragma once

#include "features/diagnose/evidence.hpp"

namespace pipesim::models {

/// Adds to the stacks of hosts what facts about their processes say: a `work.wait()` has no frame
/// in Python, so the stack ends in the line that calls it. Call it when all evidence is there.
void add_hidden_waits(Evidence& evidence);

/// Whether each rank of the job waits for another rank, so that none is left that can go on: each
/// host waits in a send, a recv, or a collective that another rank has not called, and did not run
/// while it was looked at. This is a deadlock even if no evidence shows who waits for whom. It
/// rests on the network: nothing that was sent is lost.
bool all_ranks_wait(const Evidence& evidence);

}  // namespace pipesim::models
