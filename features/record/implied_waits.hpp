// Drops waits that other waits imply, for the scenario of a record that people read and edit.
#pragma once

#include "features/record/host_steps.hpp"

namespace pipesim::models {

/// Drops the waits for a stream's earlier works where the same line waits for a later one, and the
/// events that nothing waits for then. A stream runs in order, so no rank waits shorter or longer.
/// The remaining events are numbered anew: iterations of a loop that leave sends pending then have
/// equal steps, and fold.
void drop_implied_waits(HostPrograms& programs);

}  // namespace pipesim::models
