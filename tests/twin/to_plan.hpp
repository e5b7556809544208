// From the twin's description of a plan to the engine's, and back.
#pragma once

#include "sim/plan.hpp"
#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// The same plan, made with a sim::PlanBuilder. Threads, streams, actors, collectives,
/// communicators, devices, events and locks keep their numbers. The streams of a device must have
/// its hardware queues in turn, as the builder gives them.
sim::Plan to_plan(const Spec& spec);

/// The same plan in the twin's words: for plans that the random generator did not make.
Spec from_plan(const sim::Plan& plan);

}  // namespace pipesim::twin
