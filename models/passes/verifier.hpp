// The rules that every task graph keeps, whoever made it: a reader, a pass, a program.
#pragma once

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Whether every index in `graph` is one of something that is there, and every rank one of the job.
/// `diagnostics` has what is not. Nothing else may be done with a graph for which this is false.
bool verify_references(const TaskGraph& graph, Diagnostics& diagnostics);

/// Whether `graph` keeps all rules; `diagnostics` has all that it breaks, with the places of both
/// ends. Where it breaks a rule of an earlier group, later ones are not looked at:
///
/// 1. verify_references().
/// 2. Names are unique: of actors on each rank, of an actor's registers, of everything else.
/// 3. An actor's first register is its output `out`; a step of a host program has none and reads
///    nothing. What a kind asks for is there. A program is one of steps, or one of actors.
/// 4. An edge names exactly the tensors that its register carries. Control registers carry none.
/// 5. It can be lowered: what is read is there on every rank, rates balance, numbers are in range,
///    and a control register has no size.
bool verify(const TaskGraph& graph, Diagnostics& diagnostics);

}  // namespace pipesim::models
