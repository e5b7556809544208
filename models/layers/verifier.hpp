// Rules that every task graph keeps, whether from a reader, a pass or a program.
#pragma once

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Whether every index in `graph` refers to an existing item, and every rank belongs to the job.
/// Reports violations in `diagnostics`. If the result is false, no other function accepts the
/// graph.
bool verify_references(const TaskGraph& graph, Diagnostics& diagnostics);

/// Whether `graph` keeps all rules. Reports violations in `diagnostics`, with the places of both
/// ends of an edge. After a violation, rules with a higher number are not checked:
///
/// 1. verify_references() is true.
/// 2. Names are unique: of actors (for steps of host programs: on each rank), of an actor's
///    registers, of everything else.
/// 3. An actor's first register is its output `out`; a step of a host program has no registers and
///    no reads. An actor has everything that its kind requires. A program has only steps, or only
///    actors.
/// 4. An edge names exactly the tensors that its register carries. Control registers carry none.
/// 5. The graph can be lowered: producers exist on every rank, rates balance, numbers are in range,
///    and control registers have no size.
bool verify(const TaskGraph& graph, Diagnostics& diagnostics);

}  // namespace pipesim::models
